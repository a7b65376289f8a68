import { and, asc, type Column, eq, gt, inArray, isNull, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { type Author, auditedBy } from "./audit-log.ts";
import { newestSessionId } from "./home/claim.ts";
import { appRoutes, apps, auditLog, events, homeSites, sites } from "./schema.ts";

/**
 * What makes a directory and its homes fit together again after D1's Time Travel took one of them back. Each function changes one
 * database and may be repeated.
 */

/** How many rows are read and written at a time. */
const CHUNK = 1_000;

type Route = Pick<typeof appRoutes.$inferSelect, "appid" | "siteId">;

/** A list as a table for FROM, one row for each element. */
const each = (list: unknown[]) => sql`json_each(${JSON.stringify(list)}) AS each_row`;
const excluded = (column: string) => sql`excluded.${sql.identifier(column)}`;
/** The value of the row that could not be inserted, when that row is not older. */
const newer = (revision: Column, column: Column) =>
  sql`CASE WHEN ${excluded("revision")} >= ${revision} THEN ${excluded(column.name)} ELSE ${column} END`;
const field = (name: string) => sql`each_row.value ->> ${name}`;

/** Gives a restored home the sites that it lost, and the directory's copy of a site where that is newer than the restored row. */
export async function copySitesToHome(directory: D1Database, home: string, db: D1Database): Promise<void> {
  const mine = and(eq(sites.home, home), inArray(sites.status, ["open", "closed"]));
  const page = (after: number) =>
    drizzle(directory)
      .select()
      .from(sites)
      .where(and(mine, gt(sites.id, after)))
      .orderBy(asc(sites.id))
      .limit(CHUNK)
      .all();
  for (let rows = await page(0); rows.length > 0; rows = await page(rows.at(-1)?.id ?? 0)) {
    await drizzle(db)
      .insert(homeSites)
      .select((query) =>
        query
          .select({
            siteId: field("id").as("site_id"),
            name: field("name").as("name"),
            status: field("status").as("status"),
            chatIdFloor: sql`${field("firstChatId")} - 1`.as("chat_id_floor"),
            revision: field("revision").as("revision"),
            createdAt: field("createdAt").as("created_at"),
            // Only the home knew, as it knew the webhooks.
            events: sql`0`.as("events"),
            eventSeqFloor: sql`0`.as("event_seq_floor"),
          })
          .from(each(rows))
          .where(sql`true`),
      )
      .onConflictDoUpdate({
        target: homeSites.siteId,
        set: {
          name: newer(homeSites.revision, homeSites.name),
          status: newer(homeSites.revision, homeSites.status),
          revision: sql`max(${homeSites.revision}, ${excluded("revision")})`,
          // A first_chat_id that was set after the time of the restore: ids from there on were given.
          chatIdFloor: sql`max(${homeSites.chatIdFloor}, ${excluded("chat_id_floor")})`,
        },
      })
      .run();
  }
}

/**
 * Gives a restored directory the sites and routes of a home that it lost, and newer names and statuses. A site whose id another home's
 * site has meanwhile stays lost, and so do its routes: {@link unroutedApps}.
 */
export async function copyHomeToDirectory(directory: D1Database, home: string, db: D1Database): Promise<void> {
  const siteRows = (after: number) =>
    drizzle(db)
      .select()
      .from(homeSites)
      .where(gt(homeSites.siteId, after))
      .orderBy(asc(homeSites.siteId))
      .limit(CHUNK)
      .all();
  for (let rows = await siteRows(0); rows.length > 0; rows = await siteRows(rows.at(-1)?.siteId ?? 0)) {
    await drizzle(directory)
      .insert(sites)
      .select((query) =>
        query
          .select({
            id: field("siteId").as("id"),
            name: field("name").as("name"),
            home: sql`${home}`.as("home"),
            firstChatId: sql`${field("chatIdFloor")} + 1`.as("first_chat_id"),
            status: field("status").as("status"),
            revision: field("revision").as("revision"),
            createdAt: field("createdAt").as("created_at"),
            eventSeqFloor: field("eventSeqFloor").as("event_seq_floor"),
          })
          .from(each(rows))
          .where(sql`true`),
      )
      .onConflictDoUpdate({
        target: sites.id,
        set: {
          name: newer(sites.revision, sites.name),
          home: excluded("home"),
          status: newer(sites.revision, sites.status),
          revision: sql`max(${sites.revision}, ${excluded("revision")})`,
          firstChatId: sql`max(${sites.firstChatId}, ${excluded("first_chat_id")})`,
        },
        // A site that was begun in another home, and never finished, gives way to the one that has its id.
        setWhere: sql`${sites.home} = ${home} OR ${sites.status} = 'creating'`,
      })
      .run();
  }
  for await (const rows of routesOf(db)) {
    await drizzle(directory)
      .insert(appRoutes)
      .select((query) =>
        query
          .select({
            appid: field("appid").as("appid"),
            siteId: field("siteId").as("site_id"),
            claim: sql`NULL`.as("claim"),
          })
          .from(each(rows))
          .innerJoin(sites, and(eq(sites.id, field("siteId")), eq(sites.home, home))),
      )
      .onConflictDoNothing()
      .run();
  }
}

/** The apps of a home that the directory does not lead to, in pages. */
export async function* unroutedApps(directory: D1Database, home: string, db: D1Database): AsyncGenerator<Route[]> {
  for await (const rows of routesOf(db)) {
    const route = and(eq(appRoutes.appid, field("appid")), eq(appRoutes.siteId, field("siteId")));
    yield await drizzle(directory)
      .select({ appid: sql<string>`${field("appid")}`, siteId: sql<number>`${field("siteId")}` })
      .from(each(rows))
      .leftJoin(appRoutes, route)
      .leftJoin(sites, and(eq(sites.id, appRoutes.siteId), eq(sites.home, home)))
      .where(isNull(sites.id))
      .all();
  }
}

/** The routes that a home's apps need, in pages. */
async function* routesOf(db: D1Database): AsyncGenerator<Route[]> {
  for (let last: Route | undefined = { siteId: 0, appid: "" }; last !== undefined; ) {
    const { siteId, appid }: Route = last;
    const rows: Route[] = await drizzle(db)
      .select({ siteId: apps.siteId, appid: apps.appid })
      .from(apps)
      .where(sql`(${apps.siteId}, ${apps.appid}) > (${siteId}, ${appid})`)
      .orderBy(asc(apps.siteId), asc(apps.appid))
      .limit(CHUNK)
      .all();
    yield rows;
    last = rows.at(-1);
  }
}

/** An app as a home has it after it was restored; null where the home does not have an app that the directory knows. */
export interface RestoredApp extends Route {
  version: string | null;
  revokedAt: number | null;
}

/** The apps of a home by the directory's routes, in pages. */
export async function* restoredApps(
  directory: D1Database,
  home: string,
  db: D1Database,
): AsyncGenerator<RestoredApp[]> {
  const page = (after: string) =>
    drizzle(directory)
      .select({ appid: appRoutes.appid, siteId: appRoutes.siteId })
      .from(appRoutes)
      .innerJoin(sites, eq(sites.id, appRoutes.siteId))
      .where(and(eq(sites.home, home), gt(appRoutes.appid, after)))
      .orderBy(asc(appRoutes.appid))
      .limit(CHUNK)
      .all();
  for (let routes = await page(""); routes.length > 0; routes = await page(routes.at(-1)?.appid ?? "")) {
    const isIt = and(eq(apps.siteId, field("siteId")), eq(apps.appid, field("appid")));
    yield await drizzle(db)
      .select({
        appid: sql<string>`${field("appid")}`,
        siteId: sql<number>`${field("siteId")}`,
        version: apps.version,
        revokedAt: apps.revokedAt,
      })
      .from(each(routes))
      .leftJoin(apps, isIt)
      .all();
  }
}

/**
 * Lifts every site of a home above all chat ids and event counts that it may have given, so that none is given twice.
 *
 * @param by how many of either each site may have given since the time that the home was restored to
 * @returns how many sites were lifted
 */
export async function liftFloors(db: D1Database, by: number): Promise<number> {
  const highest = sql`max(${homeSites.chatIdFloor}, ${newestSessionId(homeSites.siteId)})`;
  const newestSeq = sql`coalesce((SELECT max(${events.seq}) FROM ${events} WHERE ${events.siteId} = ${homeSites.siteId}), 0)`;
  const { meta } = await drizzle(db)
    .update(homeSites)
    .set({
      chatIdFloor: sql`${highest} + ${by}`,
      eventSeqFloor: sql`max(${homeSites.eventSeqFloor}, ${newestSeq}) + ${by}`,
    })
    .run();
  return meta.changes;
}

/** Notes a restore in the directory's audit log, because the next restore of the home would undo a row in the home. */
export async function auditRestore(directory: D1Database, home: string, by: number, author: Author): Promise<void> {
  const details = JSON.stringify({ lifted_by: by });
  const row = { ...auditedBy(author), action: "home.restored" as const, subject: home, details };
  await drizzle(directory).insert(auditLog).values(row).run();
}
