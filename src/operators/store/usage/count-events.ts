import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { events } from "../../../core/store/event-schema.ts";
import { homeSites } from "../../../core/store/schema.ts";
import { eachRow, rowField } from "../json-rows.ts";
import { countedEvents, WHOLE_HOME } from "../usage-schema.ts";
import { addToCounters, copiesNow } from "./count-calls.ts";

const EVENTS_PER_SITE = 1_000;

/** Events of a site that are not counted: those after `from`, up to `to`. */
export interface UncountedEvents {
  siteId: number;
  from: number;
  to: number;
  /** 1 when there are more after `to`, otherwise 0. */
  hasMore: number;
}

/** The first sites above the id `after` that have new events. */
export function selectUncounted(db: D1Database, after: number, limit: number): Promise<UncountedEvents[]> {
  const from = sql`coalesce((SELECT ${countedEvents.seq} FROM ${countedEvents} WHERE ${countedEvents.siteId} = ${homeSites.siteId}), 0)`;
  const next = sql`SELECT seq FROM ${events} AS next WHERE next.site_id = ${homeSites.siteId} AND next.seq > ${from} ORDER BY seq`;
  return drizzle(db).all(sql`SELECT ${homeSites.siteId} AS "siteId", ${from} AS "from",
      (SELECT max(seq) FROM (${next} LIMIT ${EVENTS_PER_SITE})) AS "to",
      EXISTS (${next} LIMIT 1 OFFSET ${EVENTS_PER_SITE}) AS "hasMore"
    FROM ${homeSites} WHERE ${homeSites.siteId} > ${after} AND EXISTS (${next}) ORDER BY ${homeSites.siteId} LIMIT ${limit}`);
}

/** Counts events by their types, and notes that they are counted. Leaves out sites whose events another run has counted meanwhile. */
export function countEvents(db: D1Database, uncounted: readonly UncountedEvents[]) {
  const [siteId, from, to] = ["$.siteId", "$.from", "$.to"].map(rowField);
  const isStillThere = sql`coalesce((SELECT ${countedEvents.seq} FROM ${countedEvents} WHERE ${countedEvents.siteId} = ${siteId}), 0) = ${from}`;
  const isWhole = sql`of.whole = 1`;
  const byType = sql`SELECT CASE WHEN ${isWhole} THEN ${WHOLE_HOME} ELSE ${events.siteId} END AS site, 'events', '', ${events.type} AS kind,
      '', count(*), ${copiesNow}
    FROM ${eachRow([...uncounted])} CROSS JOIN ${events} CROSS JOIN (SELECT 0 AS whole UNION ALL SELECT 1) AS of
    WHERE ${isStillThere} AND ${events.siteId} = ${siteId} AND ${events.seq} > ${from} AND ${events.seq} <= ${to}
    GROUP BY site, kind`;
  const places = sql`SELECT ${siteId}, ${to} FROM ${eachRow([...uncounted])} WHERE ${isStillThere}
    AND EXISTS (SELECT 1 FROM ${homeSites} WHERE ${homeSites.siteId} = ${siteId})`;
  return [
    addToCounters(db, byType),
    drizzle(db)
      .insert(countedEvents)
      .select(places)
      .onConflictDoUpdate({ target: countedEvents.siteId, set: { seq: sql`excluded.seq` } }),
  ] as const;
}
