import { and, count, eq, gte, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { SESSION_STATUSES, sessions } from "../schema.ts";
import type { SessionStatus } from "./sessions.ts";

/** A count stops here. It reads one index row for each session, and signed calls wait for the same database. */
export const COUNT_LIMIT = 10_000;

/**
 * The id of the first session of a site created at or after `since`. Ids grow with time, so a binary search finds it, and the index by site
 * and status, which is sorted by id, counts from there. An index on time would cost every create a written row.
 */
function firstSince(siteId: number, since: number) {
  const ofSite = sql`${sessions.siteId} = ${siteId}`;
  const middle = sql`(low + high) / 2`;
  const early = sql`(SELECT ${sessions.createdAt} FROM ${sessions} WHERE ${ofSite} AND ${sessions.id} >= ${middle}
    ORDER BY ${sessions.id} LIMIT 1) < ${since}`;
  return sql`(WITH RECURSIVE search(low, high) AS (
      SELECT 1, (SELECT coalesce(max(${sessions.id}), 0) + 1 FROM ${sessions} WHERE ${ofSite})
      UNION ALL
      SELECT CASE WHEN ${early} THEN ${middle} + 1 ELSE low END, CASE WHEN ${early} THEN high ELSE ${middle} END
      FROM search WHERE low < high)
    SELECT max(low) FROM search)`;
}

/**
 * Counts a site's sessions created at or after each time, by status, in one round trip. No count exceeds {@link COUNT_LIMIT}.
 *
 * @param since Unix seconds
 */
export async function selectSessionCounts(
  db: D1Database,
  siteId: number,
  since: readonly number[],
): Promise<Record<SessionStatus, number>[]> {
  const store = drizzle(db);
  const counted = (status: SessionStatus, time: number) => {
    const wanted = and(
      eq(sessions.siteId, siteId),
      eq(sessions.status, status),
      gte(sessions.id, firstSince(siteId, time)),
    );
    const found = store.select({ id: sessions.id }).from(sessions).where(wanted).limit(COUNT_LIMIT).as("found");
    return store.select({ sessions: count() }).from(found);
  };
  const [first, ...others] = since.flatMap((time) => SESSION_STATUSES.map((status) => counted(status, time)));
  if (first === undefined) return [];
  const results = await store.batch([first, ...others]);
  const counts = results.map(([row]) => row?.sessions ?? 0);
  return since.map((_, i) => byStatus((place) => counts[i * SESSION_STATUSES.length + place] ?? 0));
}

function byStatus(countAt: (place: number) => number): Record<SessionStatus, number> {
  return Object.fromEntries(SESSION_STATUSES.map((status, place) => [status, countAt(place)])) as Record<
    SessionStatus,
    number
  >;
}
