import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { siteId } from "./schema.ts";

/** The tables of events and their deliveries. schema.ts has the rules for all tables. */

/** An operator tests a webhook. Only that webhook gets the event, whichever event types it has, in one attempt. */
export const PING = "ping";

/** The Worker has disabled a webhook. The other webhooks of its site get the event. */
export const WEBHOOK_DISABLED = "webhook.disabled";

/** A webhook has failed for five minutes. The other webhooks of its site get the event. */
export const WEBHOOK_FAILING = "webhook.failing";

/** Sessions were erased with all data of their customer. */
export const SESSION_ERASED = "session.erased";

/** The events that no signed call leaves and that webhooks can ask for. src/tools/openapi/event-webhooks.ts documents them. */
export const OWN_EVENT_TYPES = [SESSION_ERASED, WEBHOOK_DISABLED, WEBHOOK_FAILING] as const;

export type OwnEventType = (typeof OWN_EVENT_TYPES)[number];

/** The events of each site: one row for each accepted call, written in the call's own batch. Pings are events too. */
export const events = sqliteTable(
  "events",
  {
    siteId: integer("site_id").notNull(),
    /** Counts per site, from 1. Code that deletes the newest event of a site must raise its event_seq_floor in the same batch. */
    seq: integer().notNull(),
    /** A random id: the `webhook-id` of every attempt to deliver the event. */
    id: text().notNull(),
    type: text().notNull(),
    /** The session that the event is about; null for a ping and for an event about a webhook. */
    sessionId: integer("session_id"),
    createdAt: integer("created_at").notNull(),
    /** JSON, the same bytes for every receiver and at every attempt; null after it was erased. */
    data: text(),
  },
  (t) => [primaryKey({ columns: [t.siteId, t.seq] })],
);

export const WEBHOOK_STATUSES = ["enabled", "disabled"] as const;

/** Why a post failed, in words of the service. With `status`, the HTTP status says more. */
export const FAILURE_CAUSES = ["no_answer", "no_connection", "status"] as const;

export type FailureCause = (typeof FAILURE_CAUSES)[number];

/** The webhooks of each site, which receive its events. */
export const webhooks = sqliteTable(
  "webhooks",
  {
    siteId: siteId(),
    id: text().notNull(),
    url: text().notNull(),
    /** The event types that the webhook gets, as a JSON array. */
    events: text({ mode: "json" }).$type<string[]>().notNull(),
    status: text({ enum: WEBHOOK_STATUSES }).notNull(),
    /** Why the Worker disabled the webhook; null when an operator disabled it, or when it is enabled. */
    disabledReason: text("disabled_reason"),
    /** A random id of the current secret, as for apps. */
    version: text().notNull(),
    secret: text().notNull(),
    previousVersion: text("previous_version"),
    previousSecret: text("previous_secret"),
    previousExpiresAt: integer("previous_expires_at"),
    /** The time of the first failure since the last success; null when the last attempt succeeded or there was none. Pings do not count. */
    failingSince: integer("failing_since"),
    createdAt: integer("created_at").notNull(),
    /** Counts the changes of URL, events and status. */
    revision: integer().notNull().default(0),
    /** When the webhook was disabled; null when it is enabled. */
    disabledAt: integer("disabled_at"),
    /** The HTTP status of the last failed attempt since the last success; null without an answer, or without a failure. */
    lastStatus: integer("last_status"),
    /** No code reads it. Releases up to 0.1.0 write text of receivers into it, so the cron job empties it after a rollback. */
    lastError: text("last_error"),
    /** When the event `webhook.failing` was written; null until then, and again after a success. */
    failingToldAt: integer("failing_told_at"),
    /** Why the last failed attempt failed. The receiver's own words are only in the delivery, and are deleted with it. */
    lastCause: text("last_cause", { enum: FAILURE_CAUSES }),
    /** The time of the last failed attempt. */
    lastFailedAt: integer("last_failed_at"),
    /** The seq of the delivery whose attempt failed last. The receiver's words are read there. */
    lastSeq: integer("last_seq"),
    /** When the webhook last got a new URL or was enabled again; null if never. Earlier attempts say nothing about its health. */
    healthSince: integer("health_since"),
    /** Whether the delivery that ended last took long. Null until the first success after `healthSince`. Pings do not count. */
    slow: integer({ mode: "boolean" }),
  },
  (t) => [primaryKey({ columns: [t.siteId, t.id] })],
);

export const DELIVERY_STATUSES = ["pending", "delivered", "failed", "skipped"] as const;

/** An event for one webhook. D1 decides what is due: a message of the queue only says that a webhook has a due delivery. */
export const deliveries = sqliteTable(
  "deliveries",
  {
    siteId: integer("site_id").notNull(),
    webhookId: text("webhook_id").notNull(),
    seq: integer().notNull(),
    status: text({ enum: DELIVERY_STATUSES }).notNull(),
    /** How many attempts have begun. */
    attempts: integer().notNull(),
    /** When the next attempt is due, or when the lease of the attempt in flight ends; null unless the delivery is pending. */
    nextAttemptAt: integer("next_attempt_at"),
    /** A random id: the lease of the attempt in flight. Null when there is none. Only its holder may record a failure. */
    lease: text("claim"), // Older releases read the column by this name, and migrations only expand.
    /** The HTTP status of the last attempt's answer; null without an answer. */
    lastStatus: integer("last_status"),
    /** Why the last attempt failed. May hold text of the receiver. */
    lastError: text("last_error"),
    createdAt: integer("created_at").notNull(),
    /** When the last attempt began; null before the first. */
    lastAttemptAt: integer("last_attempt_at"),
    /** How long the last attempt took; null before its result is recorded. */
    durationMs: integer("duration_ms"),
  },
  (t) => [
    primaryKey({ columns: [t.siteId, t.webhookId, t.seq] }),
    // For leasing and the sweep: the deliveries of a webhook that are due or in flight.
    index("deliveries_due").on(t.siteId, t.webhookId, t.nextAttemptAt).where(sql`${t.status} = 'pending'`),
    // For listing failed deliveries and sending them again. A delivery that succeeds has no row in this index.
    index("deliveries_failed").on(t.siteId, t.webhookId, t.seq).where(sql`${t.status} = 'failed'`),
  ],
);
