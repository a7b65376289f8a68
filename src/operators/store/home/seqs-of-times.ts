import { type SQL, sql } from "drizzle-orm";
import { events } from "../../../core/store/event-schema.ts";
import { type Placeholders, type Statement, statement } from "../../../core/store/statement.ts";

/** This file finds the seq at which the events of a time begin in a site's log: a binary search, because `seq` rises with time. */

/** The seq where the events of each time begin, as `at` and `seq`. `times` is a JSON array of Unix seconds. */
export const placesOfTimes = (v: Placeholders<{ siteId: number; times: string }>): SQL =>
  sql`WITH RECURSIVE search(at, low, high) AS (
      SELECT value, (SELECT min(seq) FROM ${events} WHERE ${events.siteId} = ${v.siteId}), (SELECT max(seq) + 1 FROM ${events} WHERE ${events.siteId} = ${v.siteId})
      FROM json_each(${v.times})
      UNION ALL
      SELECT at, iif(probe.created_at < at, (low + high) / 2 + 1, low), iif(probe.created_at < at, high, (low + high) / 2)
      FROM search LEFT JOIN ${events} AS probe ON probe.site_id = ${v.siteId} AND probe.seq = (SELECT next.seq FROM ${events} AS next
        WHERE next.site_id = ${v.siteId} AND next.seq >= (low + high) / 2 ORDER BY next.seq LIMIT 1)
      WHERE low < high)
    SELECT at, max(low) AS seq FROM search GROUP BY at`;

const selectPlaces: Statement<{ siteId: number; times: string }> = statement(placesOfTimes);

/** The seq where the events of each time begin. */
export async function placesOf(db: D1Database, siteId: number, times: number[]): Promise<Map<number, number>> {
  const selectPlacesOfTimes = selectPlaces(db, { siteId, times: JSON.stringify([...new Set(times)]) });
  const { results } = await selectPlacesOfTimes.all<{ at: number; seq: number }>();
  return new Map(results.map(({ at, seq }) => [at, seq]));
}

/** A time span: `from` is part of it, `to` is not. */
export type TimeSpan = [from: number, to: number];

/** Joins overlapping spans into one, so that no event is read twice. */
export function joinSpans(spans: TimeSpan[]): TimeSpan[] {
  const separateSpans: TimeSpan[] = [];
  for (const [from, to] of spans.toSorted(([a], [b]) => a - b)) {
    const lastSpan = separateSpans.at(-1);
    if (lastSpan !== undefined && from <= lastSpan[1]) lastSpan[1] = Math.max(lastSpan[1], to);
    else separateSpans.push([from, to]);
  }
  return separateSpans;
}

/** The stretches of seq of some spans. */
export async function stretchesOf(db: D1Database, siteId: number, spans: TimeSpan[]): Promise<TimeSpan[]> {
  const places = await placesOf(db, siteId, spans.flat());
  return spans.map(([from, to]) => [places.get(from) ?? 0, places.get(to) ?? 0]);
}
