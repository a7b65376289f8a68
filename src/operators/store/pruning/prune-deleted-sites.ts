import { and, eq, isNull, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { isOutOfCalls } from "../../../core/store/run-batch.ts";
import { byWorker } from "../audit.ts";
import { forgetSites, freeAppids, hasEndedSites, noteSiteGone } from "../directory/site-deletions.ts";
import { selectSite } from "../directory/sites.ts";
import { siteDeletions } from "../erasure-schema.ts";
import { deleteHomeSite, noteDone, type SiteDeletion, selectTablesLeft, stopSite } from "../home/site-deletions.ts";
import { SITE_TABLES, type SiteTable } from "../site-tables.ts";
import { removeOldest } from "./prune-sessions.ts";
import { countedCall, inChunks, type PrunedPlace, type PruneRun } from "./pruner.ts";

/** How long the appids of a deleted site stay reserved: a day longer than Time Travel reaches back. */
const APPIDS_KEPT_SECONDS = 31 * 86_400;

const ROWS_PER_STATEMENT = 1_000;

/**
 * Deletes all data of the sites whose deletion has begun: table by table, then the site itself. Then tells the directory. Yields the number
 * of rows that each statement removed, or of sessions that a batch removed.
 */
export async function* pruneDeletedSites(
  run: PruneRun,
  db: D1Database,
  { home, directory }: PrunedPlace,
): AsyncGenerator<number, void> {
  let fault: unknown;
  for (const deletion of await countedCall(run, 1, () => selectUnderWay(home, db))) {
    try {
      if (deletion.keptAt === null && !(await continueDeletion(run, db, directory, deletion))) continue;
      yield* emptyTables(run, db, deletion);
      if (directory !== undefined) await endDeletion(run, db, directory, deletion);
    } catch (error) {
      if (isOutOfCalls(error)) throw error;
      // One site must not stop the others.
      fault = error;
    }
  }
  if (fault !== undefined) throw fault;
}

/** The home's deletions that are under way. The directory has other homes' deletions too. */
const selectUnderWay = (home: string, db: D1Database): Promise<SiteDeletion[]> =>
  drizzle(db)
    .select()
    .from(siteDeletions)
    .where(and(eq(siteDeletions.home, home), isNull(siteDeletions.doneAt)))
    .all();

/**
 * Continues a deletion that a fault stopped before the home noted that the directory and KV have stored it. @returns false when they have
 * not stored it: then an operator must send the call again
 */
async function continueDeletion(
  run: PruneRun,
  db: D1Database,
  directory: D1Database | undefined,
  deletion: SiteDeletion,
) {
  if (directory === undefined) return false;
  const site = await countedCall(run, 1, () => selectSite(directory, deletion.siteId));
  if (site?.home !== deletion.home || site.status !== "deleting") return false;
  // The batch has six statements.
  run.statementsLeft -= 6;
  await stopSite(run.runtime, db, deletion, byWorker(run.now));
  return true;
}

/**
 * Tables without rows are skipped at once: a run of Workers Free must reach the other tables before it is cut off. Ends early when another
 * run works on the same site: the next run deletes the rest.
 */
async function* emptyTables(
  run: PruneRun,
  db: D1Database,
  { siteId, home }: SiteDeletion,
): AsyncGenerator<number, void> {
  const tablesLeft = await countedCall(run, 1, () => selectTablesLeft(db, siteId));
  let areSessionsGone = false;
  for (const [name, { isOfSessions, ...each }] of Object.entries(SITE_TABLES)) {
    if (!tablesLeft.has(name)) continue;
    if (isOfSessions === undefined) yield* inChunks(run, () => deleteSome(db, siteId, each), ROWS_PER_STATEMENT);
    else if (!areSessionsGone) {
      const allSessions = { siteId, home, retentionDays: null, createdUntil: Number.MAX_SAFE_INTEGER };
      for (let hasMore = true; hasMore; ) {
        const removal = await removeOldest(run, db, allSessions);
        yield removal.removed;
        if (removal.hasMore && removal.removed === 0) return;
        hasMore = removal.hasMore;
      }
      areSessionsGone = true;
    }
  }
}

function deleteSome(db: D1Database, siteId: number, { table, key }: SiteTable): Promise<D1Result> {
  const columns = sql.join(key.length === 0 ? [table.siteId] : key, sql`, `);
  const rowsOfChunk = sql`(SELECT ${columns} FROM ${table} WHERE ${table.siteId} = ${siteId} LIMIT ${ROWS_PER_STATEMENT})`;
  return drizzle(db)
    .delete(table)
    .where(and(eq(table.siteId, siteId), sql`(${columns}) IN ${rowsOfChunk}`))
    .run();
}

async function endDeletion(
  run: PruneRun,
  db: D1Database,
  directory: D1Database,
  deletion: SiteDeletion,
): Promise<void> {
  if (!(await countedCall(run, 3, () => deleteHomeSite(db, deletion, byWorker(run.now))))) return;
  await countedCall(run, 10, () => noteSiteGone(directory, deletion, run.now));
  await countedCall(run, 1, () => noteDone(db, deletion, run.now));
}

/** In the directory: frees the appids of sites that were deleted long enough ago, and deletes the rows of these sites. */
export async function* pruneEndedSites(run: PruneRun, directory: D1Database): AsyncGenerator<number, void> {
  const doneUntil = run.now - APPIDS_KEPT_SECONDS;
  // Mostly there is none. Then one statement is enough: a run on Workers Free has few.
  if (!(await countedCall(run, 1, () => hasEndedSites(directory, doneUntil)))) return;
  yield* inChunks(run, () => freeAppids(directory, doneUntil, run.chunkRows));
  yield* inChunks(run, () => forgetSites(directory, doneUntil));
}
