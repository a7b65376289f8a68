import { and, asc, eq, gt, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { MAIN_HOME } from "../../core/homes.ts";
import { inOneBatch } from "../../core/store/batch.ts";
import { newestSessionId } from "../../core/store/claim.ts";
import { events } from "../../core/store/event-schema.ts";
import { homeSites, sites } from "../../core/store/schema.ts";
import { type Author, auditOf, CHANGED, ONE_ROW } from "./audit.ts";
import { eachRow, rowField } from "./json-rows.ts";
import type { Floors, FloorsPlace, RememberedFloors } from "./kv-floors.ts";
import { jobs, reconciliations } from "./operator-schema.ts";

/** One reconciliation of a restored home, stored in the table `settlings`. */
interface Reconciliation {
  id: string;
  home: string;
  /** How many chat ids and event seqs each site skips. */
  skip: number;
}

/** How many floors one statement has: their JSON stays far below the 2 MB that D1 binds. */
const FLOORS_AT_ONCE = 10_000;
const ROWS_PER_PAGE = 5_000;
/** How many site ids the reconciliation of `main` skips, because KV may not know the newest ones. */
const SITE_IDS_TO_SKIP = 100;
const newestSite = sql`coalesce((SELECT max(${sites.id}) FROM ${sites}), 0)`;

/**
 * Skips all ids and event seqs that the sites of a home may have given before its restore, so that none is given twice. A reconciliation
 * skips once: when it is repeated with the same id, it only raises floors to the remembered ones.
 *
 * @param remembered floors that the restore did not undo
 * @returns whether this call skipped ids; the number of the home's sites; when the reconciliation first skipped, in Unix seconds; the
 *   highest site id that counts as given, if the home is the directory
 */
export async function skipIds(
  db: D1Database,
  { id, home, skip }: Reconciliation,
  { floors, highestSite }: RememberedFloors,
  author: Author,
): Promise<{ skipped: boolean; sites: number; at: number; siteIdFloor: number }> {
  const store = drizzle(db);
  const isReconciliation = and(eq(reconciliations.id, id), eq(reconciliations.home, home));
  const highest = sql`max(${homeSites.chatIdFloor}, ${newestSessionId(homeSites.siteId)})`;
  const newestSeq = sql`coalesce((SELECT max(${events.seq}) FROM ${events} WHERE ${events.siteId} = ${homeSites.siteId}), 0)`;
  const {
    found: [earlierRun],
    inserted,
    raised: [raised],
    counted: [counted],
  } = await inOneBatch(db, {
    found: store.select({ at: reconciliations.at }).from(reconciliations).where(isReconciliation),
    remembered: raiseFloors(db, floors),
    inserted: store
      .insert(reconciliations)
      .values({ id, home, at: author.now, siteIdFloor: null })
      .onConflictDoNothing(),
    audited: auditOf(db, author, auditRowOfRestore({ id, home, skip }), ONE_ROW, CHANGED),
    skipped: store
      .update(homeSites)
      .set({
        chatIdFloor: sql`${highest} + ${skip}`,
        eventSeqFloor: sql`max(${homeSites.eventSeqFloor}, ${newestSeq}) + ${skip}`,
      })
      .where(CHANGED),
    // Only the directory gives site ids, so this floor has no effect in another home. At a second call KV has the floor of the first.
    raised: store
      .update(reconciliations)
      .set({
        siteIdFloor: sql`max(coalesce(site_id_floor, ${highestSite + SITE_IDS_TO_SKIP}), ${newestSite} + ${SITE_IDS_TO_SKIP})`,
      })
      .where(isReconciliation)
      .returning({ siteIdFloor: reconciliations.siteIdFloor }),
    counted: store.select({ sites: sql<number>`count(*)` }).from(homeSites),
    readAll: store.delete(jobs).where(eq(jobs.name, nameOfReading(id))),
  });
  return {
    skipped: inserted.meta.changes === 1,
    sites: counted?.sites ?? 0,
    at: earlierRun?.at ?? author.now,
    siteIdFloor: raised?.siteIdFloor ?? 0,
  };
}

/** Statements that raise the floors of a home's sites to these floors, where they are lower. */
const raiseFloors = (db: D1Database, floors: Floors[]) =>
  tablesOf(floors).map((table) =>
    drizzle(db)
      .update(homeSites)
      .set({
        chatIdFloor: sql`max(${homeSites.chatIdFloor}, ${rowField("chatId")})`,
        eventSeqFloor: sql`max(${homeSites.eventSeqFloor}, ${rowField("eventSeq")})`,
      })
      .from(table)
      .where(sql`${homeSites.siteId} = ${rowField("siteId")}`),
  );

/** The name of the job in `jobs` that holds how far a reconciliation has read KV's floors. */
const nameOfReading = (id: string) => `settling ${id}`;

/** Where the reading of a reconciliation stopped; undefined when it never stopped, or stopped before `since`. @param since Unix seconds */
export async function readingStopped(db: D1Database, id: string, since: number): Promise<FloorsPlace | undefined> {
  const row = await drizzle(db)
    .select({ place: jobs.place })
    .from(jobs)
    .where(eq(jobs.name, nameOfReading(id)))
    .get();
  const { at = 0, ...place } = JSON.parse(row?.place ?? "{}") as Partial<FloorsPlace> & { at?: number };
  return at > since ? (place as FloorsPlace) : undefined;
}

/** Stores where the reading of a reconciliation stopped, and raises the home's floors to those that it has read. A restore undoes both. */
export async function stopReading(
  db: D1Database,
  id: string,
  { floors, rest, now }: { floors: Floors[]; rest: FloorsPlace; now: number },
): Promise<void> {
  const place = JSON.stringify({ ...rest, at: now });
  await inOneBatch(db, {
    raised: raiseFloors(db, floors),
    stopped: drizzle(db)
      .insert(jobs)
      .values({ name: nameOfReading(id), place })
      .onConflictDoUpdate({ target: jobs.name, set: { place } }),
  });
}

/** These floors as tables for FROM, one row for each floor; several tables when one would be too large. */
function tablesOf(floors: Floors[]): SQL[] {
  const tables: SQL[] = [];
  for (let at = 0; at < floors.length; at += FLOORS_AT_ONCE) {
    tables.push(eachRow(floors.slice(at, at + FLOORS_AT_ONCE)));
  }
  return tables;
}

const auditRowOfRestore = ({ id, home, skip }: Reconciliation) => ({
  siteId: sql`NULL`,
  action: "home.restored" as const,
  subject: sql`${home}`,
  details: sql`${JSON.stringify({ lifted_by: skip, settling_id: id })}`,
});

/** When a home was reconciled under this id, in Unix seconds; undefined when it was not. */
export async function reconciledAt(db: D1Database, { id, home }: Reconciliation): Promise<number | undefined> {
  const isReconciliation = and(eq(reconciliations.id, id), eq(reconciliations.home, home));
  return (await drizzle(db).select({ at: reconciliations.at }).from(reconciliations).where(isReconciliation).get())?.at;
}

/** Stores a further home's floors in the directory, because the next restore of that home would undo them in the home. */
export async function keepInDirectory(
  directory: D1Database,
  reconciliation: Reconciliation,
  floors: Floors[],
  author: Author,
): Promise<void> {
  const store = drizzle(directory);
  const { id, home } = reconciliation;
  await inOneBatch(directory, {
    inserted: store
      .insert(reconciliations)
      .values({ id, home, at: author.now, siteIdFloor: null })
      .onConflictDoNothing(),
    audited: auditOf(directory, author, auditRowOfRestore(reconciliation), ONE_ROW, CHANGED),
    raised: tablesOf(floors).map((table) =>
      store
        .update(sites)
        .set({
          firstChatId: sql`max(${sites.firstChatId}, ${rowField("chatId")} + 1)`,
          eventSeqFloor: sql`max(${sites.eventSeqFloor}, ${rowField("eventSeq")})`,
        })
        .from(table)
        .where(sql`${sites.id} = ${rowField("siteId")} AND ${sites.home} = ${home}`),
    ),
  });
}

/** The name in `settlings` for a home that the reconciliation of `main` has copied into the directory. */
const nameOfCopy = (home: string) => `${MAIN_HOME}:${home}`;

/** Records that the directory has got back a home's sites and routes, so that the same reconciliation does not copy them again. */
export async function noteCopied(directory: D1Database, id: string, home: string, now: number): Promise<void> {
  const row = { id, home: nameOfCopy(home), at: now, siteIdFloor: null };
  await drizzle(directory).insert(reconciliations).values(row).onConflictDoNothing().run();
}

/** The homes among `homes` that this reconciliation has not copied into the directory yet. */
export async function notCopied<Home extends readonly [string, D1Database]>(
  directory: D1Database,
  id: string,
  homes: Home[],
): Promise<Home[]> {
  const rows = await drizzle(directory)
    .select({ home: reconciliations.home })
    .from(reconciliations)
    .where(eq(reconciliations.id, id))
    .all();
  return homes.filter(([name]) => !rows.some(({ home }) => home === nameOfCopy(name)));
}

/** The floors of all sites of a home. */
export async function selectFloors(db: D1Database): Promise<Floors[]> {
  const allFloors: Floors[] = [];
  const page = (after: number) =>
    drizzle(db)
      .select({ siteId: homeSites.siteId, chatId: homeSites.chatIdFloor, eventSeq: homeSites.eventSeqFloor })
      .from(homeSites)
      .where(gt(homeSites.siteId, after))
      .orderBy(asc(homeSites.siteId))
      .limit(ROWS_PER_PAGE)
      .all();
  for (let rows = await page(0); rows.length > 0; ) {
    allFloors.push(...rows);
    rows = rows.length < ROWS_PER_PAGE ? [] : await page(rows.at(-1)?.siteId ?? 0);
  }
  return allFloors;
}
