import { and, asc, count, eq, gt, inArray, lt, ne, notExists, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../../core/runtime.ts";
import { notEndedCondition } from "../../../core/store/app-routes.ts";
import { inOneBatch } from "../../../core/store/batch.ts";
import { withRetries } from "../../../core/store/run-batch.ts";
import { sites } from "../../../core/store/schema.ts";
import { type Author, auditOf, CHANGED, ONE_ROW } from "../audit.ts";
import { siteDeletions } from "../erasure-schema.ts";
import { eachRow } from "../json-rows.ts";
import { reconciliations } from "../operator-schema.ts";

/** A site as the directory knows it. `createdAt` in Unix seconds. */
export type Site = typeof sites.$inferSelect;

/** The data of a site that the directory copies from its home. */
type SiteCopy = Pick<Site, "name" | "status" | "revision" | "firstChatId" | "retentionDays">;

/** The next id of a site. It is above all stored ids, the ids of deleted sites, and all ids that a restore of the directory has undone. */
const nextSiteId = sql`max(
  coalesce((SELECT max(${sites.id}) FROM ${sites}), 0),
  coalesce((SELECT max(${siteDeletions.siteId}) FROM ${siteDeletions}), 0),
  coalesce((SELECT max(${reconciliations.siteIdFloor}) FROM ${reconciliations}), 0)
) + 1`;

/** Inserts a site with the status `creating`, or finds the one that an earlier, unfinished call inserted with the same values. */
export async function insertSite(
  runtime: Runtime,
  db: D1Database,
  { name, home, firstChatId }: Pick<Site, "name" | "home" | "firstChatId">,
  author: Author,
): Promise<Site> {
  const store = drizzle(db);
  const isSameBegunSite = and(
    eq(sites.status, "creating"),
    eq(sites.name, name),
    eq(sites.home, home),
    eq(sites.firstChatId, firstChatId),
  );
  const audited = {
    siteId: sql`last_insert_rowid()`,
    action: "site.begun" as const,
    subject: sql`CAST(last_insert_rowid() AS TEXT)`,
    details: sql`${JSON.stringify({ name, home, first_chat_id: firstChatId })}`,
  };
  const batch = () =>
    inOneBatch(db, {
      inserted: store.insert(sites).select((query) =>
        query
          .select({
            id: sql`${nextSiteId}`.as("id"),
            name: sql`${name}`.as("name"),
            home: sql`${home}`.as("home"),
            firstChatId: sql`${firstChatId}`.as("first_chat_id"),
            status: sql`'creating'`.as("status"),
            revision: sql`0`.as("revision"),
            createdAt: sql`${author.now}`.as("created_at"),
            eventSeqFloor: sql`0`.as("event_seq_floor"),
            retentionDays: sql`NULL`.as("retention_days"),
          })
          .from(sql`(SELECT 1)`)
          .where(notExists(store.select({ id: sites.id }).from(sites).where(isSameBegunSite))),
      ),
      audited: auditOf(db, author, audited, ONE_ROW, CHANGED),
      site: store.select().from(sites).where(isSameBegunSite).orderBy(asc(sites.id)).limit(1),
    });
  const {
    site: [site],
  } = await withRetries(runtime, batch);
  if (site === undefined) throw new Error("the site that was begun did not come back");
  return site;
}

/**
 * Opens a site after its home has stored it. @returns false when another call has opened it. After a lost answer this call counts as the
 * opener
 */
export async function updateSiteOpen(runtime: Runtime, db: D1Database, id: number): Promise<boolean> {
  const isBeingCreated = and(eq(sites.id, id), eq(sites.status, "creating"));
  return withRetries(runtime, async (attempt) => {
    const { meta } = await drizzle(db).update(sites).set({ status: "open" }).where(isBeingCreated).run();
    return meta.changes === 1 || attempt > 1;
  });
}

/** Stores a site's copy if it is newer than the stored one. firstChatId never falls, because a reconciliation may have raised it. */
export async function updateSiteCopy(runtime: Runtime, db: D1Database, id: number, copy: SiteCopy): Promise<void> {
  const older = and(eq(sites.id, id), lt(sites.revision, copy.revision), notEndedCondition);
  const newerCopy = { ...copy, firstChatId: sql`max(${sites.firstChatId}, ${copy.firstChatId})` };
  await withRetries(runtime, () => drizzle(db).update(sites).set(newerCopy).where(older).run());
}

export function selectSite(db: D1Database, id: number): Promise<Site | undefined> {
  return drizzle(db).select().from(sites).where(eq(sites.id, id)).get();
}

/** The homes of these sites, as far as the directory knows them. */
export async function selectHomesOf(db: D1Database, ids: number[]): Promise<Map<number, string>> {
  const rows = await drizzle(db)
    .select({ id: sites.id, home: sites.home })
    .from(sites)
    .where(sql`${sites.id} IN (SELECT value FROM ${eachRow(ids)})`)
    .all();
  return new Map(rows.map(({ id, home }) => [id, home]));
}

/** The sites with these ids, also deleted ones. */
export function selectSitesOf(db: D1Database, ids: number[]): Promise<Site[]> {
  return drizzle(db)
    .select()
    .from(sites)
    .where(sql`${sites.id} IN (SELECT value FROM ${eachRow(ids)})`)
    .all();
}

/** Which sites a list has. */
export interface SiteFilter {
  /** The id of the site, or a part of its name. Capitals of ASCII count as small letters. */
  text?: string;
  statuses?: readonly Site["status"][];
}

/**
 * Sites with an id above `after`, in the order of their ids, without sites whose deletion is done.
 *
 * @param only the one site to list, if any
 */
export function selectSites(
  db: D1Database,
  after: number,
  limit: number,
  only?: number,
  { text = "", statuses }: SiteFilter = {},
): Promise<Site[]> {
  const isNamed = sql`(CAST(${sites.id} AS TEXT) = ${text} OR instr(lower(${sites.name}), lower(${text})) > 0)`;
  return drizzle(db)
    .select()
    .from(sites)
    .where(
      and(
        gt(sites.id, after),
        isNotDeleted,
        only === undefined ? undefined : eq(sites.id, only),
        text === "" ? undefined : isNamed,
        statuses && inArray(sites.status, [...statuses]),
      ),
    )
    .orderBy(asc(sites.id))
    .limit(limit)
    .all();
}

const isNotDeleted = ne(sites.status, "deleted");

/** The number of sites of each home, without homes that have none. */
export async function countSitesByHome(db: D1Database): Promise<Map<string, number>> {
  const rows = await drizzle(db)
    .select({ home: sites.home, sites: count() })
    .from(sites)
    .where(isNotDeleted)
    .groupBy(sites.home)
    .all();
  return new Map(rows.map(({ home, sites }) => [home, sites]));
}
