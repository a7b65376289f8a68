import { and, asc, count, desc, eq, exists, gt, inArray, isNotNull, isNull, lt, lte, ne, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../runtime.ts";
import { withRetries } from "../run-batch.ts";
import { deliveries, events, webhooks } from "../schema.ts";
import { literal } from "./claim.ts";
import { eventData, nextEvent } from "./outbox.ts";
import { isDeliveryOf, isWebhook, type WebhookKey } from "./webhooks.ts";

/** The most deliveries that one call sets to pending again. */
const MOST_REDELIVERED = 1_000;

export type DeliveryStatus = (typeof deliveries.$inferSelect)["status"];

/** A delivery with the id and the type of its event. */
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

/** The status must stand in the SQL itself: with a bound value SQLite does not use a partial index. */
const hasStatus = (status: DeliveryStatus) => sql`${deliveries.status} = ${literal(status)}`;

const itsEvent = and(eq(events.siteId, deliveries.siteId), eq(events.seq, deliveries.seq));

/** The deliveries to a webhook with a seq below `before`, newest first. Of one status when `status` is given. */
export function selectDeliveries(
  db: D1Database,
  key: WebhookKey,
  status: DeliveryStatus | undefined,
  before: number,
  limit: number,
) {
  const { seq, attempts, lastStatus, lastError, nextAttemptAt } = deliveries;
  const store = drizzle(db);
  // The page of seqs is a query of its own, because an index alone can serve it.
  const page = store
    .select({ seq })
    .from(deliveries)
    .where(and(isDeliveryOf(key), status && hasStatus(status), lt(seq, before)))
    .orderBy(desc(seq))
    .limit(limit);
  return store
    .select({
      ...{ eventId: events.id, seq, type: events.type, chatId: events.sessionId },
      ...{ status: deliveries.status, attempts, lastStatus, lastError, nextAttemptAt },
    })
    .from(deliveries)
    .innerJoin(events, itsEvent)
    .where(and(isDeliveryOf(key), inArray(seq, page)))
    .orderBy(desc(seq))
    .all();
}

const isEnabled = (db: D1Database, key: WebhookKey) =>
  exists(
    drizzle(db)
      .select({ one: sql`1` })
      .from(webhooks)
      .where(and(isWebhook(key), eq(webhooks.status, "enabled"))),
  );

/** A due delivery as a row for INSERT. Needs the event in FROM. The delivery gets the event's time, so that both are pruned together. */
const dueDelivery = ({ siteId, id }: WebhookKey, now: number) => ({
  siteId: sql`${siteId}`.as("site_id"),
  webhookId: sql`${id}`.as("webhook_id"),
  seq: events.seq,
  status: sql`'pending'`.as("status"),
  attempts: sql`0`.as("attempts"),
  nextAttemptAt: sql`${now}`.as("next_attempt_at"),
  lease: sql`NULL`.as("claim"),
  lastStatus: sql`NULL`.as("last_status"),
  lastError: sql`NULL`.as("last_error"),
  createdAt: events.createdAt,
});

/** The columns of a delivery that starts again. */
const anew = (now: number) =>
  ({ status: "pending", attempts: 0, nextAttemptAt: now, lease: null, lastStatus: null, lastError: null }) as const;

/**
 * Inserts a ping and its delivery to one webhook. Not retried, because a second try would be another ping.
 *
 * @returns the ping's seq; undefined when the webhook is not enabled
 */
export async function insertPing(
  db: D1Database,
  key: WebhookKey,
  eventId: string,
  now: number,
): Promise<number | undefined> {
  const store = drizzle(db);
  const { siteId } = key;
  const [, [delivery]] = await store.batch([
    store.insert(events).select((query) =>
      query
        .select({
          siteId: sql`${siteId}`.as("site_id"),
          seq: sql`next_event.seq`.as("seq"),
          id: sql`${eventId}`.as("id"),
          type: sql`'ping'`.as("type"),
          sessionId: sql`NULL`.as("session_id"),
          createdAt: sql`${now}`.as("created_at"),
          data: eventData({ webhook_id: sql`${key.id}` }).as("data"),
        })
        .from(nextEvent(siteId, isEnabled(db, key))),
    ),
    store
      .insert(deliveries)
      .select((query) =>
        query
          .select(dueDelivery(key, now))
          .from(events)
          .where(and(eq(events.siteId, siteId), eq(events.id, eventId)))
          .orderBy(desc(events.seq))
          .limit(1),
      )
      .returning({ seq: deliveries.seq }),
  ]);
  return delivery?.seq;
}

/**
 * Sets the delivery of an event to an enabled webhook to pending again, or inserts it. An attempt in flight is left alone.
 *
 * @returns the event's id and two flags: nothing is set when the event is erased or the webhook is not enabled. Undefined when the
 *   site has no such event
 */
export async function renewDelivery(
  runtime: Runtime,
  db: D1Database,
  key: WebhookKey,
  seq: number,
  now: number,
): Promise<{ id: string; isErased: boolean; isEnabled: boolean } | undefined> {
  const store = drizzle(db);
  const isEvent = and(eq(events.siteId, key.siteId), eq(events.seq, seq));
  const atRest = or(ne(deliveries.status, "pending"), isNull(deliveries.lease), lte(deliveries.nextAttemptAt, now));
  const batch = () =>
    store.batch([
      store
        .insert(deliveries)
        .select((query) =>
          query
            .select(dueDelivery(key, now))
            .from(events)
            .where(and(isEvent, isNotNull(events.data), isEnabled(db, key))),
        )
        .onConflictDoUpdate({
          target: [deliveries.siteId, deliveries.webhookId, deliveries.seq],
          set: anew(now),
          ...(atRest && { setWhere: atRest }),
        }),
      store
        .select({
          id: events.id,
          isErased: sql<number>`${events.data} IS NULL`.as("is_erased"),
          isEnabled: sql<number>`${isEnabled(db, key)}`.as("is_enabled"),
        })
        .from(events)
        .where(isEvent),
    ]);
  const [, [event]] = await withRetries(runtime, batch);
  return event && { id: event.id, isErased: event.isErased === 1, isEnabled: event.isEnabled === 1 };
}

/**
 * Sets failed deliveries to an enabled webhook to pending again, the oldest first, up to 1,000. Deliveries whose event was erased
 * or pruned stay failed.
 *
 * @returns how many were set to pending, and how many more could be
 */
export async function renewFailedDeliveries(
  db: D1Database,
  key: WebhookKey,
  now: number,
): Promise<{ redelivered: number; remaining: number }> {
  const store = drizzle(db);
  const failed = and(isDeliveryOf(key), hasStatus("failed"), isNotNull(events.data));
  const some = store
    .select({ seq: deliveries.seq })
    .from(deliveries)
    .innerJoin(events, itsEvent)
    .where(failed)
    .orderBy(asc(deliveries.seq))
    .limit(MOST_REDELIVERED);
  const [set, [left]] = await store.batch([
    store
      .update(deliveries)
      .set(anew(now))
      .where(and(isDeliveryOf(key), inArray(deliveries.seq, some), isEnabled(db, key))),
    store.select({ n: count() }).from(deliveries).innerJoin(events, itsEvent).where(failed),
  ]);
  return { redelivered: set.meta.changes, remaining: left?.n ?? 0 };
}
