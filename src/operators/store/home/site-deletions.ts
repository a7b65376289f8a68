import { and, count, eq, exists, isNotNull, isNull, ne, notExists, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../../core/runtime.ts";
import { inOneBatch } from "../../../core/store/batch.ts";
import { webhooks } from "../../../core/store/event-schema.ts";
import { withRetries } from "../../../core/store/run-batch.ts";
import { apps, homeSites } from "../../../core/store/schema.ts";
import { type Author, auditOf, CHANGED, ONE_ROW } from "../audit.ts";
import { siteDeletions } from "../erasure-schema.ts";
import { eachRow, rowField } from "../json-rows.ts";
import { SITE_TABLES } from "../site-tables.ts";

/** This file begins the deletion of a site in its home, and deletes the last row. prune-deleted-sites.ts deletes the rest. */

export type SiteDeletion = typeof siteDeletions.$inferSelect;

/** The key of a site's deletion. The database of `main` is also the directory, which has other homes' deletions too. */
export type SiteKey = Pick<SiteDeletion, "siteId" | "home">;

const isOf = ({ siteId, home }: SiteKey) => and(eq(siteDeletions.siteId, siteId), eq(siteDeletions.home, home));

/** A subquery: the deletion of a site. While there is none, the site may be changed. */
export const endOf = (db: D1Database, key: SiteKey) => drizzle(db).select().from(siteDeletions).where(isOf(key));

/** A subquery, for conditions on `home_sites`: the deletion of the site, when other databases have stored it too. */
export const keptEndIn = (db: D1Database, home: string) =>
  drizzle(db)
    .select()
    .from(siteDeletions)
    .where(
      and(eq(siteDeletions.siteId, homeSites.siteId), eq(siteDeletions.home, home), isNotNull(siteDeletions.keptAt)),
    );

/**
 * Begins the deletion of a closed site with this name, unless it has begun. From then on no call can open the site or give it an app.
 *
 * @param deletion with the id that a new deletion gets
 * @returns the deletion; undefined when the site is open, has another name, or is not in this home. Any name fits when the row is deleted
 */
export async function beginDeletion(
  runtime: Runtime,
  db: D1Database,
  { siteId, id, home, name }: Pick<SiteDeletion, "siteId" | "id" | "home"> & { name: string },
  author: Author,
  answerBy: number,
): Promise<SiteDeletion | undefined> {
  const store = drizzle(db);
  const audited = {
    siteId: sql`${siteId}`,
    action: "site.deletion_begun" as const,
    subject: sql`${String(siteId)}`,
    details: sql`json_object('name', ${name}, 'deletion_id', ${id})`,
  };
  const isOther = store
    .select()
    .from(homeSites)
    .where(and(eq(homeSites.siteId, siteId), ne(homeSites.name, name)));
  const isClosed = and(eq(homeSites.siteId, siteId), eq(homeSites.name, name), eq(homeSites.status, "closed"));
  const batch = () =>
    inOneBatch(db, {
      begun: store
        .insert(siteDeletions)
        .select((query) =>
          query
            .select({
              siteId: homeSites.siteId,
              id: sql`${id}`.as("id"),
              home: sql`${home}`.as("home"),
              begunAt: sql`${author.now}`.as("begun_at"),
              keptAt: sql`NULL`.as("kept_at"),
              doneAt: sql`NULL`.as("done_at"),
            })
            .from(homeSites)
            .where(isClosed),
        )
        .onConflictDoNothing(),
      audited: auditOf(db, author, audited, ONE_ROW, CHANGED),
      // The new revision stops changes and new apps that have read the revision before. CHANGED is about the last insert, the audit row.
      revised: store
        .update(homeSites)
        .set({ revision: sql`${homeSites.revision} + 1` })
        .where(and(eq(homeSites.siteId, siteId), CHANGED)),
      deletion: store
        .select()
        .from(siteDeletions)
        .where(and(isOf({ siteId, home }), notExists(isOther))),
    });
  const {
    deletion: [deletion],
  } = await withRetries(runtime, batch, answerBy);
  return deletion;
}

/**
 * Notes that the directory and KV have stored the deletion, and deletes the site's apps and webhooks. From then on no call is accepted and
 * nothing is delivered. In a restored home the apps and webhooks are back, so it is called again, and leaves a row in the audit log.
 *
 * @param deletion in a restored home it may be unknown
 */
export async function stopSite(
  runtime: Runtime,
  db: D1Database,
  { siteId, id, home, begunAt }: Pick<SiteDeletion, "siteId" | "id" | "home" | "begunAt">,
  author: Author,
  answerBy?: number,
): Promise<void> {
  const store = drizzle(db);
  const row = { siteId, id, home, begunAt, keptAt: null, doneAt: null };
  const audited = {
    siteId: homeSites.siteId,
    action: "site.deletion_begun" as const,
    subject: sql`CAST(${homeSites.siteId} AS TEXT)`,
    details: sql`json_object('name', ${homeSites.name}, 'deletion_id', ${id})`,
  };
  const isNew = and(eq(homeSites.siteId, siteId), CHANGED);
  const hasDeletion = exists(store.select().from(siteDeletions).where(isOf({ siteId, home })));
  const batch = () =>
    inOneBatch(db, {
      noted: store.insert(siteDeletions).values(row).onConflictDoNothing(),
      audited: auditOf(db, author, audited, homeSites, isNew),
      kept: store
        .update(siteDeletions)
        .set({ keptAt: sql`coalesce(${siteDeletions.keptAt}, ${author.now})`, doneAt: null })
        .where(isOf({ siteId, home })),
      apps: store.delete(apps).where(and(eq(apps.siteId, siteId), hasDeletion)),
      webhooks: store.delete(webhooks).where(and(eq(webhooks.siteId, siteId), hasDeletion)),
      closed: store
        .update(homeSites)
        .set({ status: "closed" })
        .where(and(eq(homeSites.siteId, siteId), hasDeletion)),
    });
  await withRetries(runtime, batch, answerBy);
}

/** The deletion of a site, as this database has it. */
export const selectDeletion = (db: D1Database, { id: siteId, home }: { id: number; home: string }) =>
  drizzle(db).select().from(siteDeletions).where(isOf({ siteId, home })).get();

/** The deletions of a home's own sites that other databases have stored too. */
export const selectKeptDeletions = (db: D1Database, home: string): Promise<SiteDeletion[]> =>
  drizzle(db)
    .select()
    .from(siteDeletions)
    .where(and(eq(siteDeletions.home, home), isNotNull(siteDeletions.keptAt)))
    .all();

/** The sites that the home has and does not know as deleted: a restore has brought them back. */
export async function selectBack(db: D1Database, home: string, siteIds: number[]): Promise<Set<number>> {
  const rows = await drizzle(db)
    .select({ siteId: homeSites.siteId })
    .from(homeSites)
    .where(and(sql`${homeSites.siteId} IN (SELECT value FROM ${eachRow(siteIds)})`, notExists(keptEndIn(db, home))))
    .all();
  return new Set(rows.map(({ siteId }) => siteId));
}

/** Gives a restored home its lost deletions, except those of sites that are back. */
export async function rememberDeletions(db: D1Database, deletions: SiteDeletion[]): Promise<void> {
  const columns = ["siteId", "id", "home", "begunAt", "keptAt", "doneAt"].map(rowField);
  const isHere = sql`EXISTS (SELECT 1 FROM ${homeSites} WHERE ${homeSites.siteId} = ${rowField("siteId")})`;
  await drizzle(db)
    .insert(siteDeletions)
    .select(sql`SELECT ${sql.join(columns, sql`, `)} FROM ${eachRow(deletions)} WHERE NOT ${isHere}`)
    .onConflictDoNothing()
    .run();
}

/** The highest count of a table. */
export const LEFT_LIMIT = 1_000;

/** How many rows of a site its home has, by table. No count exceeds {@link LEFT_LIMIT}. */
export async function countLeft(db: D1Database, siteId: number): Promise<Record<string, number>> {
  const counts = Object.entries(SITE_TABLES).map(([name, { table }]) => {
    const rowOfSite = sql`(SELECT 1 FROM ${table} WHERE ${table.siteId} = ${siteId} LIMIT ${LEFT_LIMIT})`;
    return sql`(SELECT count(*) FROM ${rowOfSite}) AS ${sql.identifier(name)}`;
  });
  const [row] = await drizzle(db).all<Record<string, number>>(sql`SELECT ${sql.join(counts, sql`, `)}`);
  return row ?? {};
}

/** The tables in which a site has rows. */
export async function selectTablesLeft(db: D1Database, siteId: number): Promise<Set<string>> {
  const rowsOfTables = Object.entries(SITE_TABLES).map(
    ([name, { table }]) =>
      sql`EXISTS (SELECT 1 FROM ${table} WHERE ${table.siteId} = ${siteId}) AS ${sql.identifier(name)}`,
  );
  const [row] = await drizzle(db).all<Record<string, number>>(sql`SELECT ${sql.join(rowsOfTables, sql`, `)}`);
  return new Set(Object.entries(row ?? {}).flatMap(([name, isThere]) => (isThere === 1 ? [name] : [])));
}

/**
 * Deletes the row of a site, unless the home has other rows of the site: another run may have counted its calls or events meanwhile.
 *
 * @returns whether the home no longer has the site
 */
export async function deleteHomeSite(db: D1Database, key: SiteKey, author: Author): Promise<boolean> {
  const store = drizzle(db);
  const { siteId } = key;
  const isHere = eq(homeSites.siteId, siteId);
  const deletionOfSite = store
    .select({ id: siteDeletions.id })
    .from(siteDeletions)
    .where(and(isOf(key), isNotNull(siteDeletions.keptAt)));
  const isEmpty = Object.values(SITE_TABLES).map(({ table }) =>
    notExists(store.select({ siteId: table.siteId }).from(table).where(eq(table.siteId, siteId))),
  );
  const audited = {
    siteId: siteDeletions.siteId,
    action: "site.deleted" as const,
    subject: sql`CAST(${siteDeletions.siteId} AS TEXT)`,
    details: sql`json_object('deletion_id', ${siteDeletions.id})`,
  };
  const {
    left: [tablesLeft],
  } = await inOneBatch(db, {
    deleted: store.delete(homeSites).where(and(isHere, exists(deletionOfSite), ...isEmpty)),
    audited: auditOf(db, author, audited, siteDeletions, and(isOf(key), CHANGED)),
    left: store.select({ sites: count() }).from(homeSites).where(isHere),
  });
  return tablesLeft?.sites === 0;
}

/** Notes that nothing is left of a site. The directory must know it before. */
export async function noteDone(db: D1Database, key: SiteKey, now: number): Promise<void> {
  await drizzle(db)
    .update(siteDeletions)
    .set({ doneAt: now })
    .where(and(isOf(key), isNull(siteDeletions.doneAt)))
    .run();
}
