import { type SQL, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import { deliveries, events, webhooks } from "../../core/store/event-schema.ts";
import { insertInto, type Statement, statement } from "../../core/store/statement.ts";
import { counters, WHOLE_HOME } from "../../operators/store/usage-schema.ts";

/**
 * Leases of deliveries, and the results of their attempts. A lease reserves deliveries for one invocation for a limited time. After that
 * time their attempts count as lost, and the deliveries are due again. Each statement may run twice.
 */

/** The length of a lease. It is longer than the timeouts of leasing, posting and recording together. */
export const LEASE_SECONDS = 60;

/**
 * The due time of a ping. It is before all other due times, because a ping asks whether the receiver works now. No other delivery has
 * this time. Operators see the time when the delivery was made.
 */
export const FIRST_IN_LINE = 0;

/** The most attempts in flight to one webhook, over all invocations. The limit is lower while the webhook fails. */
export const MOST_IN_FLIGHT = 20;
export const MOST_IN_FLIGHT_FAILING = 3;

const numberLiteral = (value: number) => sql.raw(String(value));

/** Whether a webhook has had neither a success nor a failure yet. */
const IS_NEW = sql`(${webhooks.failingSince} IS NULL AND ${webhooks.slow} IS NULL)`;

/** Whether a webhook fails, is slow, or has had no success yet. Such webhooks share places: see budget.ts. */
const IS_SUSPECT = sql`(${webhooks.failingSince} IS NOT NULL OR ${webhooks.slow} IS NOT 0)`;

type Delivery = typeof deliveries.$inferSelect;

/** The result of an attempt, as columns of its delivery's row. */
export type AttemptResult = Pick<Delivery, "siteId" | "webhookId" | "seq" | "status" | "nextAttemptAt"> &
  Pick<Delivery, "lease" | "lastStatus" | "lastError" | "durationMs"> & {
    /** The number of the delivery's attempts when this attempt began. */
    attempts: number;
    /** When the next attempt is due if the delivery was sent again while this attempt was in flight; null for never. */
    againAt: number | null;
  };

/**
 * Whether a failure belongs to a delivery that was sent again meanwhile, which sets `attempts` to 0. The attempt has 0 too when the
 * delivery was sent again between two tries of its lease.
 */
const SENT_AGAIN = sql`(${deliveries.attempts} < max(1, each.value ->> 'attempts') AND each.value ->> 'againAt' IS NOT NULL
  AND each.value ->> 'status' IN ('pending', 'failed'))`;

/** Whether a result counts, see {@link recordResults}. */
const COUNTS = sql`${deliveries.siteId} = each.value ->> 'siteId' AND ${deliveries.webhookId} = each.value ->> 'webhookId'
  AND ${deliveries.seq} = each.value ->> 'seq'
  AND (${deliveries.lease} = each.value ->> 'lease'
    OR (each.value ->> 'status' = 'delivered' AND ${deliveries.status} <> 'delivered'))`;

/** Whether the event of a delivery still has its data: it was neither erased nor pruned. */
const HAS_DATA = sql`EXISTS (SELECT 1 FROM ${events}
  WHERE ${events.siteId} = ${deliveries.siteId} AND ${events.seq} = ${deliveries.seq} AND ${events.data} IS NOT NULL)`;

/**
 * Records the results of attempts. A success always counts, because the receiver has the event. Any other result counts only while
 * the delivery still has this attempt's lease. When the delivery was sent again since the attempt began, its next attempt is the
 * first of a new series. The receiver's words are stored only while the event has its data: without it, no erasure would find them.
 */
export const recordResults: Statement<{ results: string }> = statement(
  (v) => sql`UPDATE ${deliveries} SET status = CASE WHEN ${SENT_AGAIN} THEN 'pending' ELSE each.value ->> 'status' END,
      next_attempt_at = each.value ->> CASE WHEN ${SENT_AGAIN} THEN 'againAt' ELSE 'nextAttemptAt' END,
      claim = NULL, last_status = each.value ->> 'lastStatus', last_error = iif(${HAS_DATA}, each.value ->> 'lastError', NULL),
      duration_ms = each.value ->> 'durationMs'
    FROM json_each(${v.results}) AS each
    WHERE ${COUNTS}`,
);

/**
 * Counts the results that {@link recordResults} will record, by their outcomes. Must come before it in the batch: so a second try finds
 * the results recorded, and counts none.
 */
export const countResults: Statement<{ results: string }> = statement(
  (
    v,
  ) => sql`${insertInto(counters, counters.siteId, counters.name, counters.appid, counters.kind, counters.outcome, counters.count, counters.roseIn)}
    SELECT ${numberLiteral(WHOLE_HOME)}, 'attempts', '', '',
      CASE each.value ->> 'status' WHEN 'pending' THEN 'failed' ELSE each.value ->> 'status' END AS ended, count(*), 0
    FROM json_each(${v.results}) AS each CROSS JOIN ${deliveries} WHERE ${COUNTS} GROUP BY ended
    ON CONFLICT DO UPDATE SET count = count + excluded.count`,
);

/** The values that {@link leaseDue} binds. */
type LeaseValues = {
  siteId: number;
  webhookId: string;
  /** Unix seconds. */
  now: number;
  /** When the lease ends. */
  until: number;
  /** A random id. */
  lease: string;
  wanted: number;
  /** How many attempts may begin for deliveries other than pings when the webhook is suspect. */
  whenSuspect: number;
};

const dueDelivery = alias(deliveries, "due");
const leased = alias(deliveries, "leased");
const newest = alias(deliveries, "newest");

/** How many of a failing webhook's newest deliveries are searched for a delivery that was never tried. */
const NEWEST = sql.raw("100");

/**
 * Begins attempts of due deliveries, the longest due first: up to `wanted`, up to the webhook's limit in flight, and none for a disabled
 * webhook. A ping ignores the limit. A failing webhook always keeps one place for a delivery that was never tried: otherwise new events
 * would wait behind all retries. Attempts with another lease, or of an earlier try of this lease, count as in flight. Another holder's
 * clock may be ahead, so leases up to twice LEASE_SECONDS from now count. This bound keeps the index scan short.
 */
export const leaseDue: Statement<LeaseValues> = statement(
  (v) => sql`WITH health AS MATERIALIZED (
      SELECT ${webhooks.failingSince} IS NOT NULL AS failing, ${IS_SUSPECT} AS suspect FROM ${webhooks}
      WHERE ${webhooks.siteId} = ${v.siteId} AND ${webhooks.id} = ${v.webhookId} AND ${webhooks.status} = 'enabled'),
    in_flight AS MATERIALIZED (
      SELECT count(*) AS attempts, count(CASE WHEN ${leased.lease} = ${v.lease} THEN 1 END) AS own,
        count(CASE WHEN ${leased.attempts} <= 1 THEN 1 END) AS new
      FROM ${deliveries} AS ${leased}
      WHERE ${leased.siteId} = ${v.siteId} AND ${leased.webhookId} = ${v.webhookId} AND ${leased.status} = 'pending'
        AND ${leased.nextAttemptAt} > ${v.now} AND ${leased.nextAttemptAt} <= ${v.until} + ${numberLiteral(LEASE_SECONDS)} AND ${leased.lease} IS NOT NULL),
    longest AS MATERIALIZED (
      SELECT ${dueDelivery.seq} AS seq, ${dueDelivery.nextAttemptAt} AS at FROM ${deliveries} AS ${dueDelivery}
      WHERE ${dueDelivery.siteId} = ${v.siteId} AND ${dueDelivery.webhookId} = ${v.webhookId}
        AND ${dueDelivery.status} = 'pending' AND ${dueDelivery.nextAttemptAt} <= ${v.now} AND EXISTS (SELECT 1 FROM health)
      ORDER BY ${dueDelivery.nextAttemptAt}, ${dueDelivery.seq} LIMIT ${v.wanted}),
    never_tried AS MATERIALIZED (
      SELECT seq, at FROM (
        SELECT ${newest.seq} AS seq, ${newest.nextAttemptAt} AS at, ${newest.attempts} AS attempts, ${newest.status} AS status
        FROM ${deliveries} AS ${newest}
        WHERE ${newest.siteId} = ${v.siteId} AND ${newest.webhookId} = ${v.webhookId}
        ORDER BY ${newest.seq} DESC LIMIT (SELECT CASE WHEN failing AND new = 0 THEN ${NEWEST} ELSE 0 END FROM in_flight LEFT JOIN health))
      WHERE status = 'pending' AND attempts = 0 AND at > ${numberLiteral(FIRST_IN_LINE)} AND at <= ${v.now} ORDER BY seq LIMIT 1)
    UPDATE ${deliveries} SET attempts = attempts + 1, next_attempt_at = ${v.until}, claim = ${v.lease},
      last_attempt_at = ${v.now}, duration_ms = NULL
    WHERE ${deliveries.siteId} = ${v.siteId} AND ${deliveries.webhookId} = ${v.webhookId} AND ${deliveries.seq} IN (
      SELECT seq FROM (
        SELECT seq, at, at > ${numberLiteral(FIRST_IN_LINE)} AS rank FROM longest
        UNION ALL SELECT seq, at, 0.5 FROM never_tried)
      GROUP BY seq ORDER BY min(rank), at, seq
      LIMIT coalesce((
        SELECT max(0,
          min(CASE WHEN suspect THEN ${v.whenSuspect} ELSE ${v.wanted} END - own,
            CASE WHEN failing THEN ${numberLiteral(MOST_IN_FLIGHT_FAILING)} - (new = 0 AND NOT EXISTS (SELECT 1 FROM never_tried))
              ELSE ${numberLiteral(MOST_IN_FLIGHT)} END - attempts),
          min(${v.wanted} - own, (SELECT count(*) FROM longest WHERE at = ${numberLiteral(FIRST_IN_LINE)})))
        FROM health CROSS JOIN in_flight), 0))`,
);

type Webhook = typeof webhooks.$inferSelect;

/** The row of a webhook that the batch asks for. */
export type AskedRow = Pick<Webhook, "siteId" | "url" | "version" | "secret" | "failingSince"> &
  Pick<Webhook, "previousVersion" | "previousSecret" | "previousExpiresAt"> & {
    webhookId: string;
    isSuspect: number;
    isNew: number;
    /** When the next attempt without a lease is due. Null when there is none, or the webhook is disabled. */
    nextDue: number | null;
  };

/**
 * An attempt that the lease has begun. `wasTried` is 1 when an earlier attempt of the delivery failed, even if it was sent again since.
 * `eventId` is null when the event was pruned; `data` is null when the event was pruned or erased.
 */
export type Attempt = AskedRow & { seq: number; lease: string; attempts: number; wasTried: number } & (
    | { eventId: null; type: null; at: null; data: null }
    | { eventId: string; type: string; at: number; data: string | null }
  );

/** A webhook with one attempt of the lease, or with none. */
export type LeasedRow = Attempt | (AskedRow & { seq: null });

const leasedDelivery = alias(deliveries, "held");
const later = alias(deliveries, "later");

/** See {@link AskedRow.nextDue}. */
const nextDue = (now: SQL) => sql`(SELECT ${later.nextAttemptAt} FROM ${deliveries} AS ${later}
  WHERE ${later.siteId} = ${webhooks.siteId} AND ${later.webhookId} = ${webhooks.id} AND ${later.status} = 'pending'
    AND (${later.lease} IS NULL OR ${later.nextAttemptAt} <= ${now}) AND ${webhooks.status} = 'enabled'
  ORDER BY ${later.nextAttemptAt} LIMIT 1)`;

const askedWebhooks = (asked: SQL) => sql`json_each(${asked}) AS asked
  CROSS JOIN ${webhooks} ON ${webhooks.siteId} = asked.value ->> 'siteId' AND ${webhooks.id} = asked.value ->> 'id'`;

/** Reads which webhooks have something due, before they share places. */
export const selectDue: Statement<{ asked: string; now: number }> = statement(
  (
    v,
  ) => sql`SELECT ${webhooks.siteId} AS siteId, ${webhooks.id} AS webhookId, ${IS_SUSPECT} AS isSuspect, ${IS_NEW} AS isNew,
    ${nextDue(v.now)} AS nextDue FROM ${askedWebhooks(v.asked)}`,
);

export type DueRow = Pick<AskedRow, "siteId" | "webhookId" | "isSuspect" | "isNew" | "nextDue">;

/**
 * Reads webhooks and the attempts of a lease, as {@link LeasedRow}s. INDEXED BY is needed, because otherwise SQLite scans all deliveries
 * of a webhook.
 */
export const selectLeased: Statement<{ asked: string; lease: string; until: number; now: number }, LeasedRow> =
  statement(
    (
      v,
    ) => sql`SELECT ${webhooks.siteId} AS siteId, ${webhooks.id} AS webhookId, ${webhooks.url} AS url, ${webhooks.version} AS version,
      ${webhooks.secret} AS secret, ${webhooks.previousVersion} AS previousVersion, ${webhooks.previousSecret} AS previousSecret,
      ${webhooks.previousExpiresAt} AS previousExpiresAt, ${webhooks.failingSince} AS failingSince,
      ${IS_SUSPECT} AS isSuspect, ${IS_NEW} AS isNew, ${nextDue(v.now)} AS nextDue,
      ${leasedDelivery.seq} AS seq, ${leasedDelivery.lease} AS lease, ${leasedDelivery.attempts} AS attempts,
      ${leasedDelivery.attempts} > 1 OR ${leasedDelivery.lastError} IS NOT NULL AS wasTried, ${events.id} AS eventId, ${events.type} AS type, ${events.createdAt} AS at,
      ${events.data} AS data
    FROM ${askedWebhooks(v.asked)}
    LEFT JOIN ${deliveries} AS ${leasedDelivery} INDEXED BY deliveries_due ON ${leasedDelivery.siteId} = ${webhooks.siteId} AND ${leasedDelivery.webhookId} = ${webhooks.id}
      AND ${leasedDelivery.status} = 'pending' AND ${leasedDelivery.nextAttemptAt} = ${v.until} AND ${leasedDelivery.lease} = ${v.lease}
    LEFT JOIN ${events} ON ${events.siteId} = ${leasedDelivery.siteId} AND ${events.seq} = ${leasedDelivery.seq}
    ORDER BY ${leasedDelivery.seq}`,
  );
