import { and, asc, type Column, eq, gt, inArray, notExists, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { appRoutes, homeSites, sites } from "../../core/store/schema.ts";
import { type Route, selectAppsAfter } from "./divergent-apps.ts";
import { keptEndIn } from "./home/site-deletions.ts";
import { eachRow, rowField } from "./json-rows.ts";

/**
 * This file copies between a directory and its homes, after D1's Time Travel restored one of them. Each function changes one database and
 * may be repeated; floors only rise.
 */

/** How many rows one statement reads or writes. */
const CHUNK = 5_000;

const excludedColumn = (column: string) => sql`excluded.${sql.identifier(column)}`;
/** In an upsert: the new row's value, or the stored value when the new row is older. */
const newerValue = (revision: Column, column: Column) =>
  sql`CASE WHEN ${excludedColumn("revision")} >= ${revision} THEN ${excludedColumn(column.name)} ELSE ${column} END`;

/**
 * Gives a restored home the sites that it lost. The sites that it still has get newer values from the directory's copy.
 *
 * @param skip how many ids a lost site skips
 */
export async function copySitesToHome(
  directory: D1Database,
  home: string,
  db: D1Database,
  skip: number,
): Promise<void> {
  const sitesOfHome = and(eq(sites.home, home), inArray(sites.status, ["open", "closed"]));
  const page = (after: number) =>
    drizzle(directory)
      .select()
      .from(sites)
      .where(and(sitesOfHome, gt(sites.id, after)))
      .orderBy(asc(sites.id))
      .limit(CHUNK)
      .all();
  for (let rows = await page(0); rows.length > 0; rows = rows.length < CHUNK ? [] : await page(rows.at(-1)?.id ?? 0)) {
    await drizzle(db)
      .insert(homeSites)
      .select((query) =>
        query
          .select({
            siteId: rowField("id").as("site_id"),
            name: rowField("name").as("name"),
            status: rowField("status").as("status"),
            chatIdFloor: sql`${rowField("firstChatId")} - 1 + ${skip}`.as("chat_id_floor"),
            revision: rowField("revision").as("revision"),
            createdAt: rowField("createdAt").as("created_at"),
            // Only the home knew whether events were on. Its webhooks are lost too.
            events: sql`0`.as("events"),
            eventSeqFloor: sql`${rowField("eventSeqFloor")} + ${skip}`.as("event_seq_floor"),
            retentionDays: rowField("retentionDays").as("retention_days"),
          })
          .from(eachRow(rows))
          .where(sql`true`),
      )
      .onConflictDoUpdate({
        target: homeSites.siteId,
        set: {
          name: newerValue(homeSites.revision, homeSites.name),
          status: newerValue(homeSites.revision, homeSites.status),
          retentionDays: newerValue(homeSites.revision, homeSites.retentionDays),
          revision: sql`max(${homeSites.revision}, ${excludedColumn("revision")})`,
          // The directory's first_chat_id may have been set after the time of the restore. Then ids from it on were already given.
          chatIdFloor: sql`max(${homeSites.chatIdFloor}, ${excludedColumn("chat_id_floor")} - ${skip})`,
          eventSeqFloor: sql`max(${homeSites.eventSeqFloor}, ${excludedColumn("event_seq_floor")} - ${skip})`,
        },
      })
      .run();
  }
}

/**
 * Gives the directory the lost sites of a home, newer names and statuses, and higher floors. A lost site is not copied when another home's
 * site has got its id meanwhile, or when the site is deleted.
 */
export async function copySitesToDirectory(directory: D1Database, home: string, db: D1Database): Promise<void> {
  const siteRows = (after: number) =>
    drizzle(db)
      .select()
      .from(homeSites)
      .where(and(gt(homeSites.siteId, after), notExists(keptEndIn(db, home))))
      .orderBy(asc(homeSites.siteId))
      .limit(CHUNK)
      .all();
  for (let rows = await siteRows(0); rows.length > 0; rows = await siteRows(rows.at(-1)?.siteId ?? 0)) {
    await drizzle(directory)
      .insert(sites)
      .select((query) =>
        query
          .select({
            id: rowField("siteId").as("id"),
            name: rowField("name").as("name"),
            home: sql`${home}`.as("home"),
            firstChatId: sql`${rowField("chatIdFloor")} + 1`.as("first_chat_id"),
            status: rowField("status").as("status"),
            revision: rowField("revision").as("revision"),
            createdAt: rowField("createdAt").as("created_at"),
            eventSeqFloor: rowField("eventSeqFloor").as("event_seq_floor"),
            retentionDays: rowField("retentionDays").as("retention_days"),
          })
          .from(eachRow(rows))
          .where(sql`true`),
      )
      .onConflictDoUpdate({
        target: sites.id,
        set: {
          name: newerValue(sites.revision, sites.name),
          home: excludedColumn("home"),
          status: newerValue(sites.revision, sites.status),
          retentionDays: newerValue(sites.revision, sites.retentionDays),
          revision: sql`max(${sites.revision}, ${excludedColumn("revision")})`,
          firstChatId: sql`max(${sites.firstChatId}, ${excludedColumn("first_chat_id")})`,
          eventSeqFloor: sql`max(${sites.eventSeqFloor}, ${excludedColumn("event_seq_floor")})`,
        },
        // A site that was begun in another home and never finished loses its row: this home's site has the same id.
        setWhere: sql`${sites.home} = ${home} OR ${sites.status} = 'creating'`,
      })
      .run();
  }
}

/** Gives the directory the lost routes of a home, except those of sites that were not copied: their apps are listed as `unrouted`. */
export async function copyRoutesToDirectory(directory: D1Database, home: string, db: D1Database): Promise<void> {
  for await (const rows of routesOf(db)) {
    await drizzle(directory)
      .insert(appRoutes)
      .select((query) =>
        query
          .select({
            appid: rowField("appid").as("appid"),
            siteId: rowField("siteId").as("site_id"),
            reservation: sql`NULL`.as("claim"),
          })
          .from(eachRow(rows))
          .innerJoin(sites, and(eq(sites.id, rowField("siteId")), eq(sites.home, home))),
      )
      // The appid of a deleted site may have been freed, and may belong to another site now.
      .onConflictDoUpdate({
        target: appRoutes.appid,
        set: { siteId: excludedColumn("site_id"), reservation: null },
        setWhere: sql`(SELECT ${sites.status} FROM ${sites} WHERE ${sites.id} = ${appRoutes.siteId}) = 'deleted'`,
      })
      .run();
  }
}

/** The routes of a home's apps, page by page. */
async function* routesOf(db: D1Database): AsyncGenerator<Route[]> {
  for (let last: Route | undefined = { siteId: 0, appid: "" }; last !== undefined; ) {
    const rows: Route[] = await selectAppsAfter(db, last, CHUNK);
    yield rows;
    last = rows.at(-1);
  }
}
