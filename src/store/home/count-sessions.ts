import { sql } from "drizzle-orm";
import { SESSION_STATUSES, sessions } from "../schema.ts";
import { statement } from "../statement.ts";
import type { SessionStatus } from "./sessions.ts";

/** A count stops here: it reads one index row a session, in a database that signed calls are waiting for. */
export const COUNT_LIMIT = 10_000;

/**
 * Ids are given in order of time, so a binary search finds the first session of a day, and the index by site and status, which
 * holds ids in order, counts from there: no index on time, no row written for it.
 */
const count = statement<{ siteId: number; status: SessionStatus; since: number }>((v) => {
  const middle = sql`(low + high) / 2`;
  const early = sql`(SELECT ${sessions.createdAt} FROM ${sessions} WHERE ${sessions.id} >= ${middle}
    ORDER BY ${sessions.id} LIMIT 1) < ${v.since}`;
  return sql`WITH RECURSIVE search(low, high) AS (
      SELECT 1, (SELECT coalesce(max(${sessions.id}), 0) + 1 FROM ${sessions})
      UNION ALL
      SELECT CASE WHEN ${early} THEN ${middle} + 1 ELSE low END, CASE WHEN ${early} THEN high ELSE ${middle} END
      FROM search WHERE low < high)
    SELECT count(*) AS "sessions" FROM (SELECT 1 FROM ${sessions}
      WHERE ${sessions.siteId} = ${v.siteId} AND ${sessions.status} = ${v.status}
        AND ${sessions.id} >= (SELECT max(low) FROM search) LIMIT ${sql.raw(String(COUNT_LIMIT))})`;
});

/**
 * How many of a site's sessions were created at or after each time, by status, in one trip. No count goes beyond {@link COUNT_LIMIT}.
 *
 * @param since Unix seconds
 */
export async function countSessions(
  db: D1Database,
  siteId: number,
  since: readonly number[],
): Promise<Record<SessionStatus, number>[]> {
  const asked = since.flatMap((time) => SESSION_STATUSES.map((status) => ({ siteId, status, since: time })));
  const results = await db.batch<{ sessions: number }>(asked.map((values) => count(db, values)));
  const counts = results.map((result) => result.results[0]?.sessions ?? 0);
  return since.map((_, i) => {
    const of = (status: number) => counts[i * SESSION_STATUSES.length + status] ?? 0;
    return { waiting: of(0), replied: of(1) };
  });
}
