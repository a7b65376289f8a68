import { and, eq, lt, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { inOneBatch } from "../../../core/store/batch.ts";
import { apps, homeSites } from "../../../core/store/schema.ts";
import { countRefusals } from "../usage/count-calls.ts";
import { countEvents, selectUncounted } from "../usage/count-events.ts";
import { type DueCounting, selectDue, skipHoursWithoutCalls } from "../usage/folds.ts";
import { usage, usageDays } from "../usage-schema.ts";
import { copyMetrics } from "./copy-metrics.ts";
import { countedCall, inChunks, type PrunedPlace, type PruneRun } from "./pruner.ts";

const DAY = 86_400;

/** How long the usage by hours is kept: fourteen whole days of UTC before today. */
export const HOURS_KEPT_DAYS = 14;

/** How long the usage by days is kept. */
export const DAYS_KEPT = 400;

/** How much of the journal is counted at a time, in seconds. It doubles after a time without refused calls. */
const SECONDS_PER_CHUNK = 3_600;

/** How many sites one statement counts events of, up to 1,000 events of each. */
const SITES_PER_CHUNK = 10;

/** The start of the stored hours, in Unix seconds. */
export const hoursKeptSince = (now: number): number => now - (now % DAY) - HOURS_KEPT_DAYS * DAY;

/** The start of the stored days, in Unix seconds. */
export const daysKeptSince = (now: number): number => now - (now % DAY) - DAYS_KEPT * DAY;

/**
 * Counts refused calls and new events, adds old hours to their days, deletes old days, and tells the directory. A refused call is counted
 * only when all nonces of its time are counted. Yields the number of deleted rows.
 */
export async function* foldUsage(run: PruneRun, db: D1Database, where: PrunedPlace): AsyncGenerator<number, void> {
  // One query shows what is due: most homes have little to do, and a run must reach many homes.
  const due = await countedCall(run, 1, () => selectDue(db, hoursKeptSince(run.now), daysKeptSince(run.now)));
  try {
    yield* foldRefusals(run, db, due);
    if (due.hasEvents === 1) yield* foldEvents(run, db);
    if (due.hasOldHours === 1) yield* foldHours(run, db);
    if (due.hasOldDays === 1) yield* inChunks(run, () => drizzle(db).delete(usageDays).where(oldDays(run, db)).run());
  } finally {
    // A home that cannot count still reports its size.
    await copyMetrics(run, db, where);
  }
}

async function* foldRefusals(
  run: PruneRun,
  db: D1Database,
  { noncesUntil, refusalsUntil, hasRefusals }: DueCounting,
): AsyncGenerator<number, void> {
  if (noncesUntil === null || refusalsUntil === null || noncesUntil <= refusalsUntil) return;
  if (hasRefusals === 0) {
    await countedCall(run, 1, () => skipHoursWithoutCalls(db, refusalsUntil, noncesUntil).run());
    return;
  }
  let seconds = SECONDS_PER_CHUNK;
  for (let from = refusalsUntil; from < noncesUntil; ) {
    const to = Math.min(noncesUntil, from + seconds);
    const { hours } = await countedCall(run, 3, () => inOneBatch(db, countRefusals(db, from, to, run.callRules)));
    seconds = hours.meta.changes === 0 ? 2 * seconds : SECONDS_PER_CHUNK;
    if (to < noncesUntil) yield 0;
    from = to;
  }
}

async function* foldEvents(run: PruneRun, db: D1Database): AsyncGenerator<number, void> {
  for (let after = 0; ; ) {
    const uncounted = await countedCall(run, 1, () => selectUncounted(db, after, SITES_PER_CHUNK));
    const lastUncounted = uncounted.at(-1);
    if (lastUncounted === undefined) return;
    await countedCall(run, 2, () => inOneBatch(db, { counted: countEvents(db, uncounted) }));
    // When a site has more events, its next chunk comes first: otherwise a busy site would fall further behind with each run.
    after = (uncounted.find(({ hasMore }) => hasMore === 1)?.siteId ?? lastUncounted.siteId + 1) - 1;
    yield 0;
  }
}

const oldDays = (run: PruneRun, db: D1Database) =>
  startsBefore(run, db, usageDays, usageDays.day, daysKeptSince(run.now));

async function* foldHours(run: PruneRun, db: D1Database): AsyncGenerator<number, void> {
  const store = drizzle(db);
  const isOldUsage = startsBefore(run, db, usage, usage.hour, hoursKeptSince(run.now));
  const days = sql`SELECT site_id, appid, operation, outcome, secret, sum(count), max(last_at), hour - hour % ${DAY} AS day
    FROM ${usage} WHERE ${isOldUsage} GROUP BY site_id, appid, operation, outcome, secret, day`;
  yield* inChunks(run, async () => {
    // The batch has one statement more than `inChunks` counts.
    run.statementsLeft -= 1;
    // Both statements of the batch select the same rows, because only the last one deletes them.
    const { removed } = await inOneBatch(db, {
      added: store
        .insert(usageDays)
        .select(days)
        .onConflictDoUpdate({
          target: [
            usageDays.siteId,
            usageDays.appid,
            usageDays.day,
            usageDays.operation,
            usageDays.outcome,
            usageDays.secret,
          ],
          set: {
            count: sql`${usageDays.count} + excluded.count`,
            lastAt: sql`max(${usageDays.lastAt}, excluded.last_at)`,
          },
        }),
      removed: store.delete(usage).where(isOldUsage),
    });
    return removed;
  });
}

type UsageTable = typeof usage | typeof usageDays;
type UsageStart = typeof usage.hour | typeof usageDays.day;

const rowOf = ({ siteId, appid, operation, outcome, secret }: UsageTable, start: UsageStart) =>
  sql`(${siteId}, ${appid}, ${start}, ${operation}, ${outcome}, ${secret})`;

/** Condition: the row begins before this time. Fits at most one chunk of rows. The rows of one app are in the order of time. */
function startsBefore(run: PruneRun, db: D1Database, table: UsageTable, start: UsageStart, before: number) {
  const { siteId, appid, operation, outcome, secret } = table;
  const keysOfChunk = drizzle(db)
    .select({ siteId, appid, start, operation, outcome, secret })
    .from(homeSites)
    .crossJoin(apps)
    .crossJoin(table)
    .where(and(eq(apps.siteId, homeSites.siteId), eq(siteId, apps.siteId), eq(appid, apps.appid), lt(start, before)))
    .limit(run.chunkRows);
  return sql`${rowOf(table, start)} IN ${keysOfChunk}`;
}
