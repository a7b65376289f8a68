import { type Placeholder, type SQL, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import { deliveries, events, WEBHOOK_FAILING, webhooks } from "../../core/store/event-schema.ts";
import { eventData, nextEvent } from "../../core/store/outbox.ts";
import { homeSites } from "../../core/store/schema.ts";
import { insertInto, type Statement, statement } from "../../core/store/statement.ts";

/**
 * Events about a webhook, for the other webhooks of its site. They hold no text of a customer or a receiver. On a site without
 * events these statements write nothing.
 */

type About = {
  /** The event's type. */
  type: string;
  siteId: number;
  /** The webhook that the event is about. */
  webhookId: string;
  reason: string;
  eventId: string;
  /** Unix seconds. */
  now: number;
};

const newest = alias(events, "newest");

/** Must come right after the statement that changes the webhook, because it uses changes(). */
const insertOwnEvent: Statement<About> = statement(
  (
    v,
  ) => sql`${insertInto(events, events.siteId, events.seq, events.id, events.type, events.sessionId, events.createdAt, events.data)}
    SELECT ${webhooks.siteId}, next_event.seq, ${v.eventId}, ${v.type}, NULL, ${v.now}, ${eventData({
      webhook_id: webhooks.id,
      reason: v.reason,
      failing_since: webhooks.failingSince,
      last_status: webhooks.lastStatus,
    })}
    FROM ${webhooks} CROSS JOIN ${nextEvent(v.siteId, sql`${homeSites.events}`)}
    WHERE ${webhooks.siteId} = ${v.siteId} AND ${webhooks.id} = ${v.webhookId} AND changes() > 0`,
);

/** Must come right after {@link insertOwnEvent}, because it uses changes(): its event is then the newest of the site. */
const insertOwnDeliveries: Statement<Omit<About, "reason">> = statement(
  (v) => sql`${insertInto(
    deliveries,
    deliveries.siteId,
    deliveries.webhookId,
    deliveries.seq,
    deliveries.status,
    deliveries.attempts,
    deliveries.nextAttemptAt,
    deliveries.createdAt,
  )}
    SELECT ${webhooks.siteId}, ${webhooks.id}, (SELECT max(${events.seq}) FROM ${events} WHERE ${events.siteId} = ${v.siteId}), 'pending', 0, ${v.now}, ${v.now}
    FROM ${webhooks} WHERE ${webhooks.siteId} = ${v.siteId} AND ${webhooks.id} <> ${v.webhookId} AND ${webhooks.status} = 'enabled'
      AND EXISTS (SELECT 1 FROM json_each(${webhooks.events}) AS wanted WHERE wanted.value = ${v.type}) AND changes() > 0`,
);

/** An event about a webhook, and one webhook of its site. */
export interface Telling {
  siteId: number;
  type: string;
  /** The webhook that the event is about. */
  about: string;
  reason: string;
  /** The webhook, when it is told; else null. */
  told: string | null;
}

/** How many of a site's newest events are searched for one that was just written. */
const NEWEST = sql.raw("100");

/** Reads what was written by the event's id, so that it is also found by a second try, after an answer of D1 was lost. */
const selectTelling: Statement<{ siteId: number; eventId: string }> = statement(
  (v) => sql`SELECT ${events.siteId} AS siteId, ${events.type} AS type, ${events.data} ->> 'webhook_id' AS about,
      ${events.data} ->> 'reason' AS reason, ${deliveries.webhookId} AS told
    FROM (SELECT ${newest.seq} AS seq FROM ${events} AS ${newest} WHERE ${newest.siteId} = ${v.siteId} ORDER BY ${newest.seq} DESC LIMIT ${NEWEST}) AS latest
    CROSS JOIN ${events} ON ${events.siteId} = ${v.siteId} AND ${events.seq} = latest.seq AND ${events.id} = ${v.eventId}
    LEFT JOIN ${webhooks} ON ${webhooks.siteId} = ${v.siteId}
    LEFT JOIN ${deliveries} ON ${deliveries.siteId} = ${v.siteId} AND ${deliveries.webhookId} = ${webhooks.id} AND ${deliveries.seq} = ${events.seq}`,
);

/**
 * Statements that write an event about a webhook, and its deliveries to the site's other webhooks that want it, if the statement
 * before them in the batch changed a row. The last of them returns {@link Telling} rows.
 */
export const tellOthers = (db: D1Database, about: About): D1PreparedStatement[] => {
  const { reason, ...event } = about;
  return [insertOwnEvent(db, about), insertOwnDeliveries(db, event), selectTelling(db, event)];
};

/** How long a webhook fails before the others of its site are told. */
const TOLD_AFTER_SECONDS = 300;

/** Whether a webhook of `webhooks` fails for so long that the others are to be told, and were not told yet. */
export const isToBeTold = (now: Placeholder): SQL =>
  sql`(${webhooks.status} = 'enabled' AND ${webhooks.failingToldAt} IS NULL
    AND ${webhooks.failingSince} <= ${now} - ${sql.raw(String(TOLD_AFTER_SECONDS))})`;

const noteTold: Statement<{ siteId: number; webhookId: string; now: number }> = statement(
  (v) => sql`UPDATE ${webhooks} SET failing_told_at = ${v.now}
    WHERE ${webhooks.siteId} = ${v.siteId} AND ${webhooks.id} = ${v.webhookId} AND ${isToBeTold(v.now)}`,
);

/**
 * Statements that tell the others that a webhook fails: once until it is well again. They return {@link Telling} rows.
 *
 * @param now Unix seconds
 */
export const tellFailing = (
  db: D1Database,
  webhook: { siteId: number; webhookId: string },
  now: number,
  eventId: string,
): D1PreparedStatement[] => [
  noteTold(db, { ...webhook, now }),
  ...tellOthers(db, { ...webhook, type: WEBHOOK_FAILING, reason: "failing", eventId, now }),
];
