import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { inOneBatch } from "../../../core/store/batch.ts";
import { deliveries, webhooks } from "../../../core/store/event-schema.ts";
import { homeSites, type SITE_STATUSES } from "../../../core/store/schema.ts";
import { type Statement, statement } from "../../../core/store/statement.ts";
import { ALL_NAMES } from "../home/probe.ts";
import { counters, folds, WHOLE_HOME } from "../usage-schema.ts";
import { FOLDS_ID } from "./folds.ts";

/** This file reads the metrics of a home. */

/** The most deliveries that a gauge counts. */
export const MOST_COUNTED = 10_000;

/** A counter without its site. */
export type Counter = Pick<typeof counters.$inferSelect, "name" | "appid" | "kind" | "outcome" | "count">;

/** Times are Unix seconds. */
export interface Gauges {
  /** Bytes of the database; null when D1 does not say. */
  size: number | null;
  openSites: number;
  closedSites: number;
  /** Counts up to {@link MOST_COUNTED}. */
  pending: number;
  failed: number;
  /** When the oldest of the counted pending deliveries was made; null without any. */
  oldestPendingAt: number | null;
  /** Enabled webhooks that fail. */
  failing: number;
  disabled: number;
  /** How long pruning of nonces is behind, in seconds; null before the first run. */
  pruneLag: number | null;
  /** Usage is complete up to this time; null before the first run. */
  completeUntil: number | null;
}

export interface HomeMetrics {
  copy: number;
  gauges: Gauges;
  counters: Counter[];
  /** The counters of the sites with a counter that has risen since the copy that the directory has. */
  sites: Map<number, Counter[]>;
}

/** How many statements {@link readMetrics} has. */
export const STATEMENTS_PER_READING = 4;

const numberLiteral = (value: number) => sql.raw(String(value));

type CounterRow = Counter & { siteId: number };

/** The counters of the whole home, and of the sites whose counters have risen since a copy. */
const selectCounters: Statement<{ knownCopy: number }, CounterRow> = statement(
  (
    v,
  ) => sql`SELECT ${counters.siteId} AS siteId, ${counters.name} AS name, ${counters.appid} AS appid, ${counters.kind} AS kind,
      ${counters.outcome} AS outcome, ${counters.count} AS count
    FROM ${counters} WHERE ${counters.siteId} = ${numberLiteral(WHOLE_HOME)}
      OR ${counters.siteId} IN (SELECT site_id FROM ${counters} AS risen WHERE risen.rose_in >= ${v.knownCopy})`,
);

/** In a restored home all counters are copied again, also by the second try of a reading. */
const riseAfterRestore: Statement<{ knownCopy: number }> = statement(
  (v) => sql`UPDATE ${counters} SET rose_in = ${v.knownCopy}
    WHERE rose_in < ${v.knownCopy} AND coalesce((SELECT ${folds.copies} FROM ${folds}), 0) < ${v.knownCopy}`,
);

const firstOf = (
  status: "pending" | "failed",
  index: string,
) => sql`(SELECT ${deliveries.createdAt} AS at FROM ${deliveries}
  INDEXED BY ${sql.raw(index)} WHERE ${deliveries.status} = ${sql.raw(`'${status}'`)} LIMIT ${numberLiteral(MOST_COUNTED)})`;

const sitesThatAre = (status: (typeof SITE_STATUSES)[number]) =>
  sql`(SELECT count(*) FROM ${homeSites} WHERE ${homeSites.status} = ${sql.raw(`'${status}'`)})`;

/** A home that is not migrated returns an error here, so that it counts as silent. */
const selectGauges: Statement<{ prunedUntil: number }, Omit<Gauges, "size">> = statement(
  (v) => sql`SELECT ${sitesThatAre("open")} AS openSites, ${sitesThatAre("closed")} AS closedSites,
      pending.deliveries AS pending, pending.oldest AS oldestPendingAt,
      (SELECT count(*) FROM ${firstOf("failed", "deliveries_failed")}) AS failed,
      (SELECT count(*) FROM ${webhooks} WHERE ${webhooks.status} = 'enabled' AND ${webhooks.failingSince} IS NOT NULL) AS failing,
      (SELECT count(*) FROM ${webhooks} WHERE ${webhooks.status} = 'disabled') AS disabled,
      (SELECT max(0, ${v.prunedUntil} - ${folds.noncesUntil}) FROM ${folds}) AS pruneLag, (SELECT ${folds.refusalsUntil} FROM ${folds}) AS completeUntil
    FROM (SELECT count(*) AS deliveries, min(at) AS oldest FROM ${firstOf("pending", "deliveries_due")}) AS pending, (${ALL_NAMES})`,
);

/** Not compiled, because the result must include the size of the database. */
const countCopy = (db: D1Database, knownCopy: number) =>
  drizzle(db).run(sql`INSERT INTO ${folds} (id, copies) VALUES (${numberLiteral(FOLDS_ID)}, ${knownCopy} + 1)
    ON CONFLICT DO UPDATE SET copies = max(copies, ${knownCopy}) + 1 RETURNING copies`);

/**
 * Reads the metrics of a home, and gives this reading a higher number than each earlier one has.
 *
 * @param knownCopy the newest copy that the directory has. It may be higher than any number of a restored home: then all sites are read
 * @param prunedUntil calls up to this time (Unix seconds) could be counted by now
 */
export async function readMetrics(db: D1Database, knownCopy: number, prunedUntil: number): Promise<HomeMetrics> {
  // In one transaction, so that a counter that rises later has a later number of copies.
  const {
    counted,
    gauges: [gauges],
    bumped,
  } = await inOneBatch(db, {
    risen: riseAfterRestore(db, { knownCopy }),
    counted: selectCounters(db, { knownCopy }),
    gauges: selectGauges(db, { prunedUntil }),
    bumped: countCopy(db, knownCopy),
  });
  const sites = new Map<number, Counter[]>();
  for (const { siteId, ...counter } of counted) {
    const siteCounters = sites.get(siteId) ?? [];
    siteCounters.push(counter);
    sites.set(siteId, siteCounters);
  }
  const whole = sites.get(WHOLE_HOME) ?? [];
  sites.delete(WHOLE_HOME);
  const [copy] = bumped.results as { copies: number }[];
  if (copy === undefined || gauges === undefined) throw new Error("the home gave no metrics");
  const size = bumped.meta.size_after ?? null;
  return { copy: copy.copies, gauges: { size, ...gauges }, counters: whole, sites };
}
