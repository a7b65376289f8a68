import { type Column, type SQL, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import { literal } from "../../core/store/claim.ts";
import { deliveries, events, type OwnEventType, WEBHOOK_FAILING, webhooks } from "../../core/store/event-schema.ts";
import { eventData, nextEvent } from "../../core/store/outbox.ts";
import { homeSites } from "../../core/store/schema.ts";
import { type Bindable, insertInto, type Placeholders, type Statement, statement } from "../../core/store/statement.ts";

/** Events that the service writes on its own, not for a signed call. On a site without events these statements write nothing. */

/** The values of such an event. `type` may be a literal of the SQL. `now` is in Unix seconds. */
type EventValues = { siteId: SQL; eventId: SQL; type: SQL; now: SQL };

/** Inserts the event if `where` holds. @param from further tables that `data` and `where` use; it ends with CROSS JOIN */
const ownEvent = (
  v: EventValues,
  data: Record<string, SQL | Column>,
  where: SQL,
  from: SQL = sql``,
): SQL => sql`${insertInto(events, events.siteId, events.seq, events.id, events.type, events.sessionId, events.createdAt, events.data)}
    SELECT ${v.siteId}, next_event.seq, ${v.eventId}, ${v.type}, NULL, ${v.now}, ${eventData(data)}
    FROM ${from} ${nextEvent(v.siteId, sql`${homeSites.events}`)} WHERE ${where}`;

/** Whether a webhook takes events of this type. */
export const takesEvent = ({ siteId, type }: Pick<EventValues, "siteId" | "type">): SQL =>
  sql`${webhooks.siteId} = ${siteId} AND ${webhooks.status} = 'enabled'
    AND EXISTS (SELECT 1 FROM json_each(${webhooks.events}) AS wanted WHERE wanted.value = ${type})`;

/**
 * Inserts the event's deliveries, due now, to the webhooks that take it and meet `where`. Must come right after {@link ownEvent}: it
 * uses changes(), and the event is then the newest of the site.
 */
const ownDeliveries = (v: Omit<EventValues, "eventId">, where: SQL = sql`true`): SQL => sql`${insertInto(
  deliveries,
  deliveries.siteId,
  deliveries.webhookId,
  deliveries.seq,
  deliveries.status,
  deliveries.attempts,
  deliveries.nextAttemptAt,
  deliveries.createdAt,
)}
    SELECT ${webhooks.siteId}, ${webhooks.id}, (SELECT max(seq) FROM ${events} WHERE ${events.siteId} = ${v.siteId}), 'pending', 0, ${v.now}, ${v.now}
    FROM ${webhooks} WHERE ${takesEvent(v)} AND ${where} AND changes() > 0`;

/**
 * A part of a batch: an event, and its deliveries to the webhooks that take it. The part must come right after the statement that makes
 * the change.
 *
 * @param where when the event is written; by default, when that statement changed a row
 * @returns a function that binds the part. Its rows `recipients` name the webhooks that get the event
 */
export function eventPart<Values extends Record<string, Bindable> & { siteId: number; eventId: string; now: number }>(
  type: OwnEventType,
  data: (v: Placeholders<Values>) => Record<string, SQL | Column>,
  where: (v: Placeholders<Values>) => SQL = () => sql`changes() > 0`,
) {
  const eventValues = (v: Placeholders<Values>) => ({
    siteId: v.siteId,
    eventId: v.eventId,
    now: v.now,
    type: literal(type),
  });
  const event = statement<Values>((v) => ownEvent(eventValues(v), data(v), where(v)));
  const recipients = statement<Values, { webhook: string }>(
    (v) => sql`${ownDeliveries(eventValues(v))} RETURNING webhook_id AS webhook`,
  );
  return (db: D1Database, values: Values) => ({ event: event(db, values), recipients: recipients(db, values) });
}

// Events about a webhook, for the other webhooks of its site. They hold no text of a customer or a receiver.

type NewsOfWebhook = {
  type: OwnEventType;
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
const insertOwnEvent: Statement<NewsOfWebhook> = statement((v) =>
  ownEvent(
    v,
    {
      webhook_id: webhooks.id,
      reason: v.reason,
      failing_since: webhooks.failingSince,
      last_status: webhooks.lastStatus,
    },
    sql`${webhooks.siteId} = ${v.siteId} AND ${webhooks.id} = ${v.webhookId} AND changes() > 0`,
    sql`${webhooks} CROSS JOIN`,
  ),
);

const insertOwnDeliveries: Statement<Omit<NewsOfWebhook, "reason">> = statement((v) =>
  ownDeliveries(v, sql`${webhooks.id} <> ${v.webhookId}`),
);

/** An event about a webhook, and one webhook of its site. */
export interface WebhookNotice {
  siteId: number;
  type: string;
  /** The webhook that the event is about. */
  about: string;
  reason: string;
  /** The webhook when it gets the event; otherwise null. */
  recipient: string | null;
}

/** How many of a site's newest events are searched for the event that was just written. */
const NEWEST = sql.raw("100");

/** Finds the written event by its id. So a second try finds it too, after an answer of D1 was lost. */
const selectNotices: Statement<{ siteId: number; eventId: string }, WebhookNotice> = statement(
  (v) => sql`SELECT ${events.siteId} AS siteId, ${events.type} AS type, ${events.data} ->> 'webhook_id' AS about,
      ${events.data} ->> 'reason' AS reason, ${deliveries.webhookId} AS recipient
    FROM (SELECT ${newest.seq} AS seq FROM ${events} AS ${newest} WHERE ${newest.siteId} = ${v.siteId} ORDER BY ${newest.seq} DESC LIMIT ${NEWEST}) AS latest
    CROSS JOIN ${events} ON ${events.siteId} = ${v.siteId} AND ${events.seq} = latest.seq AND ${events.id} = ${v.eventId}
    LEFT JOIN ${webhooks} ON ${webhooks.siteId} = ${v.siteId}
    LEFT JOIN ${deliveries} ON ${deliveries.siteId} = ${v.siteId} AND ${deliveries.webhookId} = ${webhooks.id} AND ${deliveries.seq} = ${events.seq}`,
);

/**
 * A part of a batch: an event about a webhook, and its deliveries to the other webhooks of the site that want it. It writes only when the
 * statement before it in the batch changed a row.
 */
export const tellOthers = (db: D1Database, about: NewsOfWebhook) => {
  const { reason, ...event } = about;
  return {
    event: insertOwnEvent(db, about),
    deliveries: insertOwnDeliveries(db, event),
    notices: selectNotices(db, event),
  };
};

/** How long a webhook fails before the other webhooks of its site get an event. */
const FAILING_EVENT_SECONDS = 300;

/** Whether a webhook of `webhooks` has failed for that long, and no event about it was written yet. */
export const isFailingEventDue = (now: SQL): SQL =>
  sql`(${webhooks.status} = 'enabled' AND ${webhooks.failingToldAt} IS NULL
    AND ${webhooks.failingSince} <= ${now} - ${sql.raw(String(FAILING_EVENT_SECONDS))})`;

const noteFailingEvent: Statement<{ siteId: number; webhookId: string; now: number }> = statement(
  (v) => sql`UPDATE ${webhooks} SET failing_told_at = ${v.now}
    WHERE ${webhooks.siteId} = ${v.siteId} AND ${webhooks.id} = ${v.webhookId} AND ${isFailingEventDue(v.now)}`,
);

/** A part of a batch: writes one event about a failing webhook, until it succeeds again. @param now Unix seconds */
export const tellFailing = (
  db: D1Database,
  webhook: { siteId: number; webhookId: string },
  now: number,
  eventId: string,
) => ({
  noted: noteFailingEvent(db, { ...webhook, now }),
  ...tellOthers(db, { ...webhook, type: WEBHOOK_FAILING, reason: "failing", eventId, now }),
});
