import { sql } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import { deliveries, events, webhooks } from "../schema.ts";
import { type Statement, statement } from "../statement.ts";

/**
 * How deliveries are handed out and written down. A claim gives the attempts that it begins a time until which they are nobody else's;
 * then they count as lost, and are due again. All statements may run twice.
 */

/** For how long an attempt is its claim's own: more than the timeouts of the claim, the post and the write-down together. */
export const LEASE_SECONDS = 60;

/** The most attempts under way to one webhook, in all of the service; fewer while the webhook fails. */
export const MOST_UNDER_WAY = 20;
export const MOST_UNDER_WAY_FAILING = 3;

type Delivery = typeof deliveries.$inferSelect;

/** What an attempt came to. */
export type Written = Pick<Delivery, "siteId" | "webhookId" | "seq" | "status" | "nextAttemptAt"> &
  Pick<Delivery, "claim" | "lastStatus" | "lastError">;

/**
 * Writes down what attempts came to. A success counts whoever holds the delivery now, because the receiver has the event. Anything else
 * counts only while the delivery is the attempt's own.
 */
export const writeDown: Statement<{ written: string }> = statement(
  (
    v,
  ) => sql`UPDATE ${deliveries} SET status = each.value ->> 'status', next_attempt_at = each.value ->> 'nextAttemptAt',
      claim = NULL, last_status = each.value ->> 'lastStatus', last_error = each.value ->> 'lastError'
    FROM json_each(${v.written}) AS each
    WHERE ${deliveries.siteId} = each.value ->> 'siteId' AND ${deliveries.webhookId} = each.value ->> 'webhookId'
      AND ${deliveries.seq} = each.value ->> 'seq'
      AND (${deliveries.claim} = each.value ->> 'claim'
        OR (each.value ->> 'status' = 'delivered' AND ${deliveries.status} <> 'delivered'))`,
);

/** The values that a claim binds. */
export type Claim = {
  siteId: number;
  webhookId: string;
  /** Unix seconds. */
  now: number;
  /** Until when the attempts are the claim's own. */
  until: number;
  /** A random id. */
  claim: string;
  /** How many attempts it would begin. */
  wanted: number;
};

const due = alias(deliveries, "due");
const leased = alias(deliveries, "leased");

/**
 * Begins attempts of what is due, the longest due first: as many as are wanted, unless the webhook is disabled or has that many under
 * way. Under way is what another claim, or an earlier try of this one, holds. Nothing is held for longer than a lease by the clock
 * of its claim, which may be ahead of this one: twice that bounds what is read.
 */
export const claimDue: Statement<Claim> = statement(
  (v) => sql`UPDATE ${deliveries} SET attempts = attempts + 1, next_attempt_at = ${v.until}, claim = ${v.claim}
    WHERE ${deliveries.siteId} = ${v.siteId} AND ${deliveries.webhookId} = ${v.webhookId} AND ${deliveries.seq} IN (
      SELECT ${due.seq} FROM ${deliveries} AS ${due}
      WHERE ${due.siteId} = ${v.siteId} AND ${due.webhookId} = ${v.webhookId}
        AND ${due.status} = 'pending' AND ${due.nextAttemptAt} <= ${v.now}
      ORDER BY ${due.nextAttemptAt}, ${due.seq}
      LIMIT coalesce((
        SELECT max(0, min(${v.wanted} - under_way.own, CASE WHEN ${webhooks.failingSince} IS NULL
          THEN ${sql.raw(String(MOST_UNDER_WAY))} ELSE ${sql.raw(String(MOST_UNDER_WAY_FAILING))} END - under_way.attempts))
        FROM ${webhooks} CROSS JOIN (
          SELECT count(*) AS attempts, count(CASE WHEN ${leased.claim} = ${v.claim} THEN 1 END) AS own FROM ${deliveries} AS ${leased}
          WHERE ${leased.siteId} = ${v.siteId} AND ${leased.webhookId} = ${v.webhookId} AND ${leased.status} = 'pending'
            AND ${leased.nextAttemptAt} > ${v.now} AND ${leased.nextAttemptAt} <= ${v.until} + ${sql.raw(String(LEASE_SECONDS))} AND ${leased.claim} IS NOT NULL
        ) AS under_way
        WHERE ${webhooks.siteId} = ${v.siteId} AND ${webhooks.id} = ${v.webhookId} AND ${webhooks.status} = 'enabled'), 0))`,
);

type Webhook = typeof webhooks.$inferSelect;

/** A webhook that was asked for. */
export type AskedRow = Pick<Webhook, "siteId" | "url" | "version" | "secret" | "failingSince"> &
  Pick<Webhook, "previousVersion" | "previousSecret" | "previousExpiresAt"> & {
    webhookId: string;
    /** When the next attempt is due that nobody has begun; null when there is none, or the webhook is disabled. */
    nextDue: number | null;
  };

/** An attempt that the claim has begun. `eventId` is null when the event was pruned, `data` also when it was erased. */
export type Attempt = AskedRow & { seq: number; claim: string; attempts: number } & (
    | { eventId: null; type: null; at: null; data: null }
    | { eventId: string; type: string; at: number; data: string | null }
  );

/** A webhook with an attempt of the claim, or without any. */
export type HeldRow = Attempt | (AskedRow & { seq: null });

const held = alias(deliveries, "held");
const later = alias(deliveries, "later");

/**
 * Reads webhooks, and the attempts that a claim holds. Gives {@link HeldRow}s. Left alone, SQLite would look through all deliveries of a
 * webhook for them.
 */
export const selectHeld: Statement<{ asked: string; claim: string; until: number; now: number }> = statement(
  (
    v,
  ) => sql`SELECT ${webhooks.siteId} AS siteId, ${webhooks.id} AS webhookId, ${webhooks.url} AS url, ${webhooks.version} AS version,
      ${webhooks.secret} AS secret, ${webhooks.previousVersion} AS previousVersion, ${webhooks.previousSecret} AS previousSecret,
      ${webhooks.previousExpiresAt} AS previousExpiresAt, ${webhooks.failingSince} AS failingSince,
      (SELECT ${later.nextAttemptAt} FROM ${deliveries} AS ${later}
        WHERE ${later.siteId} = ${webhooks.siteId} AND ${later.webhookId} = ${webhooks.id} AND ${later.status} = 'pending'
          AND (${later.claim} IS NULL OR ${later.nextAttemptAt} <= ${v.now}) AND ${webhooks.status} = 'enabled'
        ORDER BY ${later.nextAttemptAt} LIMIT 1) AS nextDue,
      ${held.seq} AS seq, ${held.claim} AS claim, ${held.attempts} AS attempts, ${events.id} AS eventId, ${events.type} AS type, ${events.createdAt} AS at,
      ${events.data} AS data
    FROM json_each(${v.asked}) AS asked
    CROSS JOIN ${webhooks} ON ${webhooks.siteId} = asked.value ->> 'siteId' AND ${webhooks.id} = asked.value ->> 'id'
    LEFT JOIN ${deliveries} AS ${held} INDEXED BY deliveries_due ON ${held.siteId} = ${webhooks.siteId} AND ${held.webhookId} = ${webhooks.id}
      AND ${held.status} = 'pending' AND ${held.nextAttemptAt} = ${v.until} AND ${held.claim} = ${v.claim}
    LEFT JOIN ${events} ON ${events.siteId} = ${held.siteId} AND ${events.seq} = ${held.seq}
    ORDER BY ${held.seq}`,
);
