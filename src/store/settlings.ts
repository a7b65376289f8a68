import { and, asc, eq, gt, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { MAIN_HOME } from "../homes.ts";
import { type Author, auditOf, CHANGED, ONE_ROW } from "./audit.ts";
import { newestSessionId } from "./home/claim.ts";
import { each, field } from "./json-rows.ts";
import type { Floors, RememberedFloors } from "./kv-floors.ts";
import { events, homeSites, settlings, sites } from "./schema.ts";

/** One settling of a restored home. */
export interface Settling {
  id: string;
  home: string;
  /** How many chat ids and event counts each site skips. */
  lift: number;
}

/** How many floors one statement takes: as JSON they stay far below the 2 MB that D1 binds. */
const FLOORS_AT_ONCE = 10_000;
const PAGE = 5_000;
/** How many ids of sites the settling of `main` skips: KV may not have heard of the last ones. */
const SKIPPED_SITES = 100;
const newestSite = sql`coalesce((SELECT max(${sites.id}) FROM ${sites}), 0)`;

/**
 * Lifts every site of a home above all ids and event counts that it may have given, so that none is given twice. A settling lifts
 * once: the same id again only raises floors to what is remembered.
 *
 * @param remembered floors that the restore did not undo
 * @returns whether this call lifted; how many sites the home has; when the settling first lifted, in Unix seconds
 */
export async function liftHome(
  db: D1Database,
  { id, home, lift }: Settling,
  { floors, highestSite }: RememberedFloors,
  author: Author,
): Promise<{ lifted: boolean; sites: number; at: number }> {
  const store = drizzle(db);
  const isThis = and(eq(settlings.id, id), eq(settlings.home, home));
  const highest = sql`max(${homeSites.chatIdFloor}, ${newestSessionId(homeSites.siteId)})`;
  const newestSeq = sql`coalesce((SELECT max(${events.seq}) FROM ${events} WHERE ${events.siteId} = ${homeSites.siteId}), 0)`;
  const batch = [
    ...tablesOf(floors).map((table) =>
      store
        .update(homeSites)
        .set({
          chatIdFloor: sql`max(${homeSites.chatIdFloor}, ${field("chatId")})`,
          eventSeqFloor: sql`max(${homeSites.eventSeqFloor}, ${field("eventSeq")})`,
        })
        .from(table)
        .where(sql`${homeSites.siteId} = ${field("siteId")}`),
    ),
    store.insert(settlings).values({ id, home, at: author.now, siteIdFloor: null }).onConflictDoNothing(),
    auditOf(db, author, restored({ id, home, lift }), ONE_ROW, CHANGED),
    store
      .update(homeSites)
      .set({
        chatIdFloor: sql`${highest} + ${lift}`,
        eventSeqFloor: sql`max(${homeSites.eventSeqFloor}, ${newestSeq}) + ${lift}`,
      })
      .where(CHANGED),
    // Ids of sites are the directory's. In another home nobody reads it.
    store
      .update(settlings)
      .set({ siteIdFloor: sql`max(${highestSite}, ${newestSite} + ${SKIPPED_SITES})` })
      .where(isThis),
  ] as const;
  const isLifting = batch.length - 4;
  const [found, ...results] = await store.batch([
    store.select({ at: settlings.at }).from(settlings).where(isThis),
    ...batch,
    store.select({ sites: sql<number>`count(*)` }).from(homeSites),
  ]);
  const counted = results.at(-1) as { sites: number }[];
  const inserted = results[isLifting] as D1Result;
  return { lifted: inserted.meta.changes === 1, sites: counted[0]?.sites ?? 0, at: found[0]?.at ?? author.now };
}

/** A table for FROM, one row for each of these floors; several when they do not fit one. */
function tablesOf(floors: Floors[]): SQL[] {
  const tables: SQL[] = [];
  for (let at = 0; at < floors.length; at += FLOORS_AT_ONCE) {
    tables.push(each(floors.slice(at, at + FLOORS_AT_ONCE)));
  }
  return tables;
}

const restored = ({ id, home, lift }: Settling) => ({
  siteId: sql`NULL`,
  action: "home.restored" as const,
  subject: sql`${home}`,
  details: sql`${JSON.stringify({ lifted_by: lift, settling_id: id })}`,
});

/** When a home was settled under this id, in Unix seconds; undefined when it was not. */
export async function settledAt(db: D1Database, { id, home }: Settling): Promise<number | undefined> {
  const isThis = and(eq(settlings.id, id), eq(settlings.home, home));
  return (await drizzle(db).select({ at: settlings.at }).from(settlings).where(isThis).get())?.at;
}

/** Keeps in the directory what a further home was lifted to, because the next restore of that home undoes it there. */
export async function keepInDirectory(
  directory: D1Database,
  settling: Settling,
  floors: Floors[],
  author: Author,
): Promise<void> {
  const store = drizzle(directory);
  const { id, home } = settling;
  await store.batch([
    store.insert(settlings).values({ id, home, at: author.now, siteIdFloor: null }).onConflictDoNothing(),
    auditOf(directory, author, restored(settling), ONE_ROW, CHANGED),
    ...tablesOf(floors).map((table) =>
      store
        .update(sites)
        .set({
          firstChatId: sql`max(${sites.firstChatId}, ${field("chatId")} + 1)`,
          eventSeqFloor: sql`max(${sites.eventSeqFloor}, ${field("eventSeq")})`,
        })
        .from(table)
        .where(sql`${sites.id} = ${field("siteId")} AND ${sites.home} = ${home}`),
    ),
  ]);
}

/** How `settlings` names a home that the settling of `main` has copied into the directory. */
const copied = (home: string) => `${MAIN_HOME}:${home}`;

/** Notes that the directory has got back what a home knows. The same settling need not copy it again. */
export async function noteCopied(directory: D1Database, id: string, home: string, now: number): Promise<void> {
  const row = { id, home: copied(home), at: now, siteIdFloor: null };
  await drizzle(directory).insert(settlings).values(row).onConflictDoNothing().run();
}

/** Of these homes, those that the directory has not copied for this settling. */
export async function notCopied<Home extends readonly [string, D1Database]>(
  directory: D1Database,
  id: string,
  homes: Home[],
): Promise<Home[]> {
  const rows = await drizzle(directory)
    .select({ home: settlings.home })
    .from(settlings)
    .where(eq(settlings.id, id))
    .all();
  return homes.filter(([name]) => !rows.some(({ home }) => home === copied(name)));
}

/** The floors of every site of a home. */
export async function selectFloors(db: D1Database): Promise<Floors[]> {
  const all: Floors[] = [];
  const page = (after: number) =>
    drizzle(db)
      .select({ siteId: homeSites.siteId, chatId: homeSites.chatIdFloor, eventSeq: homeSites.eventSeqFloor })
      .from(homeSites)
      .where(gt(homeSites.siteId, after))
      .orderBy(asc(homeSites.siteId))
      .limit(PAGE)
      .all();
  for (let rows = await page(0); rows.length > 0; rows = await page(rows.at(-1)?.siteId ?? 0)) all.push(...rows);
  return all;
}
