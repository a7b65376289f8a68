import { and, eq, exists, inArray, isNotNull, isNull, lt, lte, ne, notExists, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../../core/runtime.ts";
import { inOneBatch } from "../../../core/store/batch.ts";
import { withRetries } from "../../../core/store/run-batch.ts";
import { appRoutes, SITE_STATUSES, sites } from "../../../core/store/schema.ts";
import { auditOf, byWorker } from "../audit.ts";
import { erasureReceipts, siteDeletions } from "../erasure-schema.ts";
import type { SiteDeletion } from "../home/site-deletions.ts";
import { eachRow, rowField } from "../json-rows.ts";
import { adminTokens, consoleSessions, people } from "../operator-schema.ts";
import { siteMetrics } from "../usage-schema.ts";
import { endSessionsOf } from "./console-sessions.ts";
import { auditOfGrant } from "./grants.ts";

/** This file stores the deletions of sites in the directory. */

/**
 * Stores the deletion of a site in the directory, where a restore of the site's home does not change it. From then on the site's apps are
 * unknown, and their appids stay reserved.
 */
export async function keepDeletion(
  runtime: Runtime,
  directory: D1Database,
  { siteId, id, home, begunAt, doneAt }: Omit<SiteDeletion, "keptAt">,
  now: number,
  answerBy: number,
): Promise<void> {
  const store = drizzle(directory);
  const isServed = and(eq(sites.id, siteId), eq(sites.home, home), inArray(sites.status, SITE_STATUSES));
  const batch = () =>
    inOneBatch(directory, {
      stored: store
        .insert(siteDeletions)
        .values({ siteId, id, home, begunAt, keptAt: now, doneAt })
        .onConflictDoNothing(),
      ended: store.update(sites).set({ status: "deleting" }).where(isServed),
    });
  await withRetries(runtime, batch, answerBy);
}

/** Copies the deletions that a home knows to a restored directory. May be repeated. */
export async function keepDeletions(
  directory: D1Database,
  home: string,
  deletions: SiteDeletion[],
  now: number,
): Promise<void> {
  if (deletions.length === 0) return;
  const store = drizzle(directory);
  const columns = ["siteId", "id", "home", "begunAt", "keptAt", "doneAt"].map(rowField);
  const hasDeletion = (isDone: boolean) =>
    exists(
      store
        .select()
        .from(siteDeletions)
        .where(
          and(
            eq(siteDeletions.siteId, sites.id),
            eq(siteDeletions.home, home),
            isDone ? isNotNull(siteDeletions.doneAt) : isNull(siteDeletions.doneAt),
          ),
        ),
    );
  const isOfHome = eq(sites.home, home);
  await inOneBatch(directory, {
    stored: store
      .insert(siteDeletions)
      .select(sql`SELECT ${sql.join(columns, sql`, `)} FROM ${eachRow(deletions)} WHERE true`)
      .onConflictDoUpdate({
        target: siteDeletions.siteId,
        set: { doneAt: sql`coalesce(${siteDeletions.doneAt}, excluded.done_at)` },
        setWhere: sql`${siteDeletions.home} = excluded.home`,
      }),
    ended: store
      .update(sites)
      .set({ status: "deleting" })
      .where(and(isOfHome, inArray(sites.status, SITE_STATUSES), hasDeletion(false))),
    gone: store
      .update(sites)
      .set({ status: "deleted", name: "" })
      .where(and(isOfHome, ne(sites.status, "deleted"), hasDeletion(true))),
    grants: endGrants(directory, isOfHome, now),
    forgotten: forgetEnded(directory, home),
  });
}

/** Deletes what the directory has of a home's deleted sites, or of one of them, except the sites themselves and their tokens and people. */
const forgetEnded = (directory: D1Database, home: string, siteId?: number) => {
  const store = drizzle(directory);
  const endedSites = store
    .select({ siteId: siteDeletions.siteId })
    .from(siteDeletions)
    .where(
      and(
        eq(siteDeletions.home, home),
        siteId === undefined ? undefined : eq(siteDeletions.siteId, siteId),
        isNotNull(siteDeletions.doneAt),
      ),
    );
  return [
    store
      .delete(erasureReceipts)
      .where(and(eq(erasureReceipts.home, home), inArray(erasureReceipts.siteId, endedSites))),
    store.delete(siteMetrics).where(inArray(siteMetrics.siteId, endedSites)),
  ] as const;
};

/** Deletes the tokens of deleted sites, and ends the access of the people who see such a site alone, with their open sessions. */
const endGrants = (directory: D1Database, isOfSites: SQL | undefined, now: number) => {
  const store = drizzle(directory);
  const deletedSites = store
    .select({ id: sites.id })
    .from(sites)
    .where(and(isOfSites, eq(sites.status, "deleted")));
  const endsNow = (table: typeof adminTokens | typeof people) =>
    and(isNull(table.deletedAt), inArray(table.siteId, deletedSites));
  const names = store
    .select({ name: sql`coalesce(${people.email}, ${people.id})` })
    .from(people)
    .where(endsNow(people));
  return [
    // Otherwise an assertion of Access would open its old session when its address is let in again.
    endSessionsOf(directory, byWorker(now), inArray(consoleSessions.whoId, names)),
    auditOf(directory, byWorker(now), auditOfGrant("person.ended", people), people, endsNow(people)),
    auditOf(directory, byWorker(now), auditOfGrant("token.deleted", adminTokens), adminTokens, endsNow(adminTokens)),
    ...[adminTokens, people].map((table) => store.update(table).set({ deletedAt: now }).where(endsNow(table))),
  ];
};

/** Notes that a site's home has nothing left of it. Deletes its name, its tokens, its people and the receipts of its erasures. */
export async function noteSiteGone(
  directory: D1Database,
  { siteId, id, home, begunAt, keptAt }: SiteDeletion,
  now: number,
): Promise<void> {
  const store = drizzle(directory);
  const isSite = and(eq(sites.id, siteId), eq(sites.home, home));
  await inOneBatch(directory, {
    stored: store
      .insert(siteDeletions)
      .values({ siteId, id, home, begunAt, keptAt, doneAt: now })
      .onConflictDoUpdate({
        target: siteDeletions.siteId,
        set: { doneAt: sql`coalesce(${siteDeletions.doneAt}, ${now})` },
        setWhere: sql`${siteDeletions.home} = excluded.home`,
      }),
    gone: store.update(sites).set({ status: "deleted", name: "" }).where(isSite),
    grants: endGrants(directory, isSite, now),
    forgotten: forgetEnded(directory, home, siteId),
  });
}

export const selectDeletionsOf = (directory: D1Database, home: string): Promise<SiteDeletion[]> =>
  drizzle(directory).select().from(siteDeletions).where(eq(siteDeletions.home, home)).all();

/** Sites whose deletion was done at `doneUntil` (Unix seconds) or earlier. */
const endedUntil = (directory: D1Database, doneUntil: number) =>
  drizzle(directory)
    .select({ siteId: siteDeletions.siteId })
    .from(siteDeletions)
    .innerJoin(sites, and(eq(sites.id, siteDeletions.siteId), eq(sites.status, "deleted")))
    .where(lte(siteDeletions.doneAt, doneUntil));

/** Whether a site was deleted at `doneUntil` (Unix seconds) or earlier, and still has its row. */
export const hasEndedSites = async (directory: D1Database, doneUntil: number): Promise<boolean> =>
  (await endedUntil(directory, doneUntil).limit(1).get()) !== undefined;

/** Frees appids of sites that were deleted long ago. */
export function freeAppids(directory: D1Database, doneUntil: number, limit: number): Promise<D1Result> {
  const store = drizzle(directory);
  const routesOfSite = store
    .select({ appid: appRoutes.appid })
    .from(appRoutes)
    .where(inArray(appRoutes.siteId, endedUntil(directory, doneUntil)))
    .limit(limit);
  return store.delete(appRoutes).where(inArray(appRoutes.appid, routesOfSite)).run();
}

/**
 * Deletes the rows of sites that were deleted long ago and have no appid left. The newest site stays: the last release takes the next id
 * from this table alone.
 */
export function forgetSites(directory: D1Database, doneUntil: number): Promise<D1Result> {
  const store = drizzle(directory);
  const isNotNewest = lt(sites.id, sql`(SELECT max(id) FROM ${sites})`);
  const routes = store.select({ one: sql`1` }).from(appRoutes).where(eq(appRoutes.siteId, sites.id));
  return store
    .delete(sites)
    .where(and(inArray(sites.id, endedUntil(directory, doneUntil)), notExists(routes), isNotNewest))
    .run();
}
