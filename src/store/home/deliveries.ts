import { sql } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import { deliveries, events, webhooks } from "../schema.ts";
import { type Statement, statement } from "../statement.ts";

/**
 * Leases of deliveries, and the results of their attempts. A lease reserves the attempts that it begins for a limited time. When
 * that time is over, they count as lost and are due again. Each statement may run twice.
 */

/** The length of a lease: longer than the timeouts of leasing, posting and recording together. */
export const LEASE_SECONDS = 60;

/** The most attempts in flight to one webhook, over all invocations. Lower while the webhook fails. */
export const MOST_IN_FLIGHT = 20;
export const MOST_IN_FLIGHT_FAILING = 3;

type Delivery = typeof deliveries.$inferSelect;

/** The result of an attempt, as columns of its delivery's row. */
export type AttemptResult = Pick<Delivery, "siteId" | "webhookId" | "seq" | "status" | "nextAttemptAt"> &
  Pick<Delivery, "lease" | "lastStatus" | "lastError">;

/**
 * Records the results of attempts. A success always counts, because the receiver has the event. Any other result counts only while
 * the delivery still has this attempt's lease.
 */
export const recordResults: Statement<{ results: string }> = statement(
  (
    v,
  ) => sql`UPDATE ${deliveries} SET status = each.value ->> 'status', next_attempt_at = each.value ->> 'nextAttemptAt',
      claim = NULL, last_status = each.value ->> 'lastStatus', last_error = each.value ->> 'lastError'
    FROM json_each(${v.results}) AS each
    WHERE ${deliveries.siteId} = each.value ->> 'siteId' AND ${deliveries.webhookId} = each.value ->> 'webhookId'
      AND ${deliveries.seq} = each.value ->> 'seq'
      AND (${deliveries.lease} = each.value ->> 'lease'
        OR (each.value ->> 'status' = 'delivered' AND ${deliveries.status} <> 'delivered'))`,
);

/** The values that {@link leaseDue} binds. */
type Lease = {
  siteId: number;
  webhookId: string;
  /** Unix seconds. */
  now: number;
  /** When the lease ends. */
  until: number;
  /** A random id. */
  lease: string;
  /** How many attempts may begin. */
  wanted: number;
};

const due = alias(deliveries, "due");
const leased = alias(deliveries, "leased");

/**
 * Begins attempts of deliveries that are due, the longest due first: as many as are wanted, up to the webhook's limit in flight,
 * and none while the webhook is disabled. Attempts with another lease, or of an earlier try of this lease, are in flight. Another
 * holder's clock may be ahead, so leases that end up to twice LEASE_SECONDS from now count; the limit keeps the index scan short.
 */
export const leaseDue: Statement<Lease> = statement(
  (v) => sql`UPDATE ${deliveries} SET attempts = attempts + 1, next_attempt_at = ${v.until}, claim = ${v.lease}
    WHERE ${deliveries.siteId} = ${v.siteId} AND ${deliveries.webhookId} = ${v.webhookId} AND ${deliveries.seq} IN (
      SELECT ${due.seq} FROM ${deliveries} AS ${due}
      WHERE ${due.siteId} = ${v.siteId} AND ${due.webhookId} = ${v.webhookId}
        AND ${due.status} = 'pending' AND ${due.nextAttemptAt} <= ${v.now}
      ORDER BY ${due.nextAttemptAt}, ${due.seq}
      LIMIT coalesce((
        SELECT max(0, min(${v.wanted} - in_flight.own, CASE WHEN ${webhooks.failingSince} IS NULL
          THEN ${sql.raw(String(MOST_IN_FLIGHT))} ELSE ${sql.raw(String(MOST_IN_FLIGHT_FAILING))} END - in_flight.attempts))
        FROM ${webhooks} CROSS JOIN (
          SELECT count(*) AS attempts, count(CASE WHEN ${leased.lease} = ${v.lease} THEN 1 END) AS own FROM ${deliveries} AS ${leased}
          WHERE ${leased.siteId} = ${v.siteId} AND ${leased.webhookId} = ${v.webhookId} AND ${leased.status} = 'pending'
            AND ${leased.nextAttemptAt} > ${v.now} AND ${leased.nextAttemptAt} <= ${v.until} + ${sql.raw(String(LEASE_SECONDS))} AND ${leased.lease} IS NOT NULL
        ) AS in_flight
        WHERE ${webhooks.siteId} = ${v.siteId} AND ${webhooks.id} = ${v.webhookId} AND ${webhooks.status} = 'enabled'), 0))`,
);

type Webhook = typeof webhooks.$inferSelect;

/** A webhook of the batch. */
export type AskedRow = Pick<Webhook, "siteId" | "url" | "version" | "secret" | "failingSince"> &
  Pick<Webhook, "previousVersion" | "previousSecret" | "previousExpiresAt"> & {
    webhookId: string;
    /** When the next attempt without a lease is due. Null when there is none, or the webhook is disabled. */
    nextDue: number | null;
  };

/**
 * An attempt that the lease has begun. `eventId` is null when the event was pruned; `data` is null when the event was pruned or
 * erased.
 */
export type Attempt = AskedRow & { seq: number; lease: string; attempts: number } & (
    | { eventId: null; type: null; at: null; data: null }
    | { eventId: string; type: string; at: number; data: string | null }
  );

/** A webhook with one attempt of the lease, or with none. */
export type LeasedRow = Attempt | (AskedRow & { seq: null });

const held = alias(deliveries, "held");
const later = alias(deliveries, "later");

/**
 * Reads webhooks, and the attempts of a lease, as {@link LeasedRow}s. INDEXED BY is needed: otherwise SQLite scans all deliveries
 * of a webhook.
 */
export const selectLeased: Statement<{ asked: string; lease: string; until: number; now: number }> = statement(
  (
    v,
  ) => sql`SELECT ${webhooks.siteId} AS siteId, ${webhooks.id} AS webhookId, ${webhooks.url} AS url, ${webhooks.version} AS version,
      ${webhooks.secret} AS secret, ${webhooks.previousVersion} AS previousVersion, ${webhooks.previousSecret} AS previousSecret,
      ${webhooks.previousExpiresAt} AS previousExpiresAt, ${webhooks.failingSince} AS failingSince,
      (SELECT ${later.nextAttemptAt} FROM ${deliveries} AS ${later}
        WHERE ${later.siteId} = ${webhooks.siteId} AND ${later.webhookId} = ${webhooks.id} AND ${later.status} = 'pending'
          AND (${later.lease} IS NULL OR ${later.nextAttemptAt} <= ${v.now}) AND ${webhooks.status} = 'enabled'
        ORDER BY ${later.nextAttemptAt} LIMIT 1) AS nextDue,
      ${held.seq} AS seq, ${held.lease} AS lease, ${held.attempts} AS attempts, ${events.id} AS eventId, ${events.type} AS type, ${events.createdAt} AS at,
      ${events.data} AS data
    FROM json_each(${v.asked}) AS asked
    CROSS JOIN ${webhooks} ON ${webhooks.siteId} = asked.value ->> 'siteId' AND ${webhooks.id} = asked.value ->> 'id'
    LEFT JOIN ${deliveries} AS ${held} INDEXED BY deliveries_due ON ${held.siteId} = ${webhooks.siteId} AND ${held.webhookId} = ${webhooks.id}
      AND ${held.status} = 'pending' AND ${held.nextAttemptAt} = ${v.until} AND ${held.lease} = ${v.lease}
    LEFT JOIN ${events} ON ${events.siteId} = ${held.siteId} AND ${events.seq} = ${held.seq}
    ORDER BY ${held.seq}`,
);
