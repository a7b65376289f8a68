import { and, asc, desc, eq, exists, gt, inArray, lt, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { inOneBatch } from "../../../core/store/batch.ts";
import { literal } from "../../../core/store/claim.ts";
import { deliveries, events, webhooks } from "../../../core/store/event-schema.ts";
import { eventData, nextEvent } from "../../../core/store/outbox.ts";
import { FIRST_IN_LINE } from "../../../events/store/deliveries.ts";
import { isDeliveryOf, isWebhook, type WebhookKey } from "../../../events/store/pending-deliveries.ts";
import { type Author, auditOf, CHANGED, ONE_ROW } from "../audit.ts";

export type DeliveryStatus = (typeof deliveries.$inferSelect)["status"];

/** A delivery with the id, the type and the session of its event; these are null once the event is pruned. */
export type Delivery = Awaited<ReturnType<typeof selectDeliveries>>[number];

/** An event as stored. `data` is JSON; null after it was erased. */
export type EventRow = Awaited<ReturnType<typeof selectEvents>>[number];

/** A site's events with a seq above `after`, the oldest first. */
export function selectEvents(db: D1Database, siteId: number, after: number, limit: number) {
  const { id, seq, type, createdAt, data } = events;
  return drizzle(db)
    .select({ id, seq, type, createdAt, data })
    .from(events)
    .where(and(eq(events.siteId, siteId), gt(seq, after)))
    .orderBy(asc(seq))
    .limit(limit)
    .all();
}

/** The status must be in the SQL itself: with a bound value SQLite does not use a partial index. */
const hasStatus = (status: DeliveryStatus) => sql`${deliveries.status} = ${literal(status)}`;

const itsEvent = and(eq(events.siteId, deliveries.siteId), eq(events.seq, deliveries.seq));

/** A ping is due from its creation on. */
const shownNextAttempt = sql<
  number | null
>`iif(${deliveries.nextAttemptAt} = ${FIRST_IN_LINE}, ${deliveries.createdAt}, ${deliveries.nextAttemptAt})`;

/** Where a page of the list of deliveries begins: before or after a seq. */
export type ListPlace = { before: number } | { after: number };

const { seq, attempts, lastStatus, lastError, createdAt, lastAttemptAt, durationMs } = deliveries;

const COLUMNS = {
  eventId: events.id,
  seq,
  type: events.type,
  chatId: events.sessionId,
  status: deliveries.status,
  attempts,
  lastStatus,
  lastError,
  createdAt,
  lastAttemptAt,
  durationMs,
  nextAttemptAt: shownNextAttempt,
  /** Whether `nextAttemptAt` is the end of an attempt's lease. */
  isLeased: sql<boolean>`${deliveries.lease} IS NOT NULL`.mapWith(Boolean),
};

/** The deliveries to a webhook next to a place, newest first. With `status`, only those of this status. */
export function selectDeliveries(
  db: D1Database,
  key: WebhookKey,
  status: DeliveryStatus | undefined,
  place: ListPlace,
  limit: number,
) {
  const store = drizzle(db);
  const isBeyondPlace = "after" in place ? gt(seq, place.after) : lt(seq, place.before);
  // The page of seqs is a query of its own, because an index alone can answer it.
  const page = store
    .select({ seq })
    .from(deliveries)
    .where(and(isDeliveryOf(key), status && hasStatus(status), isBeyondPlace))
    .orderBy("after" in place ? asc(seq) : desc(seq))
    .limit(limit);
  return store
    .select(COLUMNS)
    .from(deliveries)
    .leftJoin(events, itsEvent)
    .where(and(isDeliveryOf(key), inArray(seq, page)))
    .orderBy(desc(seq))
    .all();
}

/** An event of a site and its delivery to a webhook. Each is undefined when it never existed or is deleted. */
export async function selectDelivery(
  db: D1Database,
  key: WebhookKey,
  eventSeq: number,
): Promise<{ event: (EventRow & { chatId: number | null }) | undefined; delivery: Delivery | undefined }> {
  const store = drizzle(db);
  const { id, type, data } = events;
  const {
    event: [event],
    delivery: [delivery],
  } = await inOneBatch(db, {
    event: store
      .select({ id, seq: events.seq, type, createdAt: events.createdAt, data, chatId: events.sessionId })
      .from(events)
      .where(and(eq(events.siteId, key.siteId), eq(events.seq, eventSeq))),
    delivery: store
      .select(COLUMNS)
      .from(deliveries)
      .leftJoin(events, itsEvent)
      .where(and(isDeliveryOf(key), eq(seq, eventSeq))),
  });
  return { event, delivery };
}

const isEnabled = (db: D1Database, key: WebhookKey) =>
  exists(
    drizzle(db)
      .select({ one: sql`1` })
      .from(webhooks)
      .where(and(isWebhook(key), eq(webhooks.status, "enabled"))),
  );

/**
 * Inserts a ping and its delivery to one webhook. It is tried once, because a second try would be another ping.
 *
 * @returns the ping's seq; undefined when the webhook is not enabled
 */
export async function insertPing(
  db: D1Database,
  key: WebhookKey,
  eventId: string,
  author: Author,
): Promise<number | undefined> {
  const store = drizzle(db);
  const { siteId } = key;
  const row = {
    siteId: sql`${siteId}`,
    action: "webhook.pinged" as const,
    subject: sql`${key.id}`,
    details: sql`${JSON.stringify({ event_id: eventId })}`,
  };
  const {
    delivery: [delivery],
  } = await inOneBatch(db, {
    event: store.insert(events).select((query) =>
      query
        .select({
          siteId: sql`${siteId}`.as("site_id"),
          seq: sql`next_event.seq`.as("seq"),
          id: sql`${eventId}`.as("id"),
          type: sql`'ping'`.as("type"),
          sessionId: sql`NULL`.as("session_id"),
          createdAt: sql`${author.now}`.as("created_at"),
          data: eventData({ webhook_id: sql`${key.id}` }).as("data"),
        })
        .from(nextEvent(siteId, isEnabled(db, key))),
    ),
    delivery: store
      .insert(deliveries)
      .select((query) =>
        query
          .select({
            siteId: sql`${siteId}`.as("site_id"),
            webhookId: sql`${key.id}`.as("webhook_id"),
            seq: events.seq,
            status: sql`'pending'`.as("status"),
            attempts: sql`0`.as("attempts"),
            nextAttemptAt: sql`${FIRST_IN_LINE}`.as("next_attempt_at"),
            lease: sql`NULL`.as("claim"),
            lastStatus: sql`NULL`.as("last_status"),
            lastError: sql`NULL`.as("last_error"),
            createdAt: events.createdAt,
            lastAttemptAt: sql`NULL`.as("last_attempt_at"),
            durationMs: sql`NULL`.as("duration_ms"),
          })
          .from(events)
          .where(and(eq(events.siteId, siteId), eq(events.id, eventId)))
          .orderBy(desc(events.seq))
          .limit(1),
      )
      .returning({ seq: deliveries.seq }),
    audited: auditOf(db, author, row, ONE_ROW, CHANGED),
  });
  return delivery?.seq;
}
