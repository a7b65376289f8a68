import { and, asc, isNotNull, not, notExists, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { isOutOfCalls } from "../../../core/store/run-batch.ts";
import { homeSites, sessions } from "../../../core/store/schema.ts";
import {
  findOldSessions,
  type OldSessions,
  removeOldSessions,
  STATEMENTS_OF_REMOVAL_BATCH,
} from "../home/old-sessions.ts";
import { keptEndIn } from "../home/site-deletions.ts";
import { eachRow } from "../json-rows.ts";
import { countedCall, type PrunedPlace, type PruneRun } from "./pruner.ts";

const DAY = 86_400;

/** How many sites of a home take turns. Further sites follow when one of these is done. */
const SITES_AT_ONCE = 50;

/**
 * Deletes the sessions that are older than their site's retention, the oldest first. The sites take turns, those with the oldest sessions
 * first, so that a site with millions of them delays no other. Yields the number of sessions that each batch removed.
 */
export async function* pruneSessions(
  run: PruneRun,
  db: D1Database,
  { home }: Pick<PrunedPlace, "home">,
): AsyncGenerator<number, void> {
  const passed = new Map<number, unknown>();
  for (;;) {
    let due = await selectDue(run, home, db, [...passed.keys()]);
    if (due.length === 0) break;
    // Finding due sites reads all sites of the home, so it is repeated only when one of the found sites is done.
    for (const atOnce = due.length; due.length === atOnce; due = due.filter(({ siteId }) => !passed.has(siteId))) {
      for (const { siteId, retentionDays } of due) {
        const oldSessions = { siteId, home, retentionDays, createdUntil: run.now - retentionDays * DAY };
        try {
          const { removed, hasMore } = await removeOldest(run, db, oldSessions);
          yield removed;
          // Otherwise a site would be found again and again when its oldest session is kept because the retention has changed.
          if (!hasMore || removed === 0) passed.set(siteId, undefined);
        } catch (error) {
          if (isOutOfCalls(error)) throw error;
          // One site must not stop the others.
          passed.set(siteId, error);
        }
      }
    }
  }
  for (const error of passed.values()) if (error !== undefined) throw error;
}

/**
 * Deletes one batch of the oldest sessions of a site.
 *
 * @returns how many, and whether there may be more
 */
export async function removeOldest(
  run: PruneRun,
  db: D1Database,
  oldSessions: OldSessions,
): Promise<{ removed: number; hasMore: boolean }> {
  const { foundSessions, hasMore, statements } = await countedCall(run, 0, () =>
    findOldSessions(db, oldSessions, run.sessionEventTypes),
  );
  run.statementsLeft -= statements;
  if (foundSessions === undefined) return { removed: 0, hasMore };
  return {
    removed: await countedCall(run, STATEMENTS_OF_REMOVAL_BATCH, () => removeOldSessions(db, foundSessions)),
    hasMore,
  };
}

/** When the oldest session of a site was created, in Unix seconds; null when it has none. */
const oldestAt = sql`(SELECT ${sessions.createdAt} FROM ${sessions} WHERE ${sessions.siteId} = ${homeSites.siteId} ORDER BY ${sessions.id} LIMIT 1)`;

async function selectDue(
  run: PruneRun,
  home: string,
  db: D1Database,
  passed: number[],
): Promise<{ siteId: number; retentionDays: number }[]> {
  const store = drizzle(db);
  const keptUntil = sql`${oldestAt} + ${homeSites.retentionDays} * ${DAY}`;
  const keptEnd = keptEndIn(db, home);
  const isPassedSite = sql`${homeSites.siteId} IN (SELECT value FROM ${eachRow(passed)})`;
  const select = () =>
    store
      .select({ siteId: homeSites.siteId, retentionDays: sql<number>`${homeSites.retentionDays}` })
      .from(homeSites)
      .where(
        and(isNotNull(homeSites.retentionDays), sql`${keptUntil} <= ${run.now}`, not(isPassedSite), notExists(keptEnd)),
      )
      .orderBy(asc(keptUntil))
      .limit(SITES_AT_ONCE)
      .all();
  return countedCall(run, 1, select);
}
