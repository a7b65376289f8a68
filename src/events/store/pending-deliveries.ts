import { and, eq, exists, gt, inArray, isNotNull, isNull, lte, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../core/runtime.ts";
import { deliveries, webhooks } from "../../core/store/event-schema.ts";
import { withRetries } from "../../core/store/run-batch.ts";
import { LEASE_SECONDS } from "./deliveries.ts";

/** Statements that make the pending deliveries of a webhook due, or end them: for an operator, or because of the webhook's health. */

/**
 * The most deliveries that one statement ends or deletes. D1 runs one statement at a time, so a longer statement would delay signed
 * calls. The sweep ends the remaining deliveries.
 */
export const MOST_ENDED = 5_000;

export type WebhookKey = Pick<typeof webhooks.$inferSelect, "siteId" | "id">;

export const isWebhook = (key: WebhookKey) => and(eq(webhooks.siteId, key.siteId), eq(webhooks.id, key.id));

export const isDeliveryOf = (key: WebhookKey) =>
  and(eq(deliveries.siteId, key.siteId), eq(deliveries.webhookId, key.id));

/** The status is a literal of the SQL, because SQLite does not use the partial index with a bound value. */
export const IS_PENDING = sql`${deliveries.status} = 'pending'`;

/** Makes the deliveries in flight count as sent again. @param where condition on the webhook */
export function renewInFlight(db: D1Database, key: WebhookKey, now: number, where: SQL | undefined) {
  const isOfWebhook = exists(drizzle(db).select({ one: sql`1` }).from(webhooks).where(where));
  const { nextAttemptAt, lease } = deliveries;
  // Another holder's clock may be ahead.
  const isInFlight = and(gt(nextAttemptAt, now), lte(nextAttemptAt, now + 2 * LEASE_SECONDS), isNotNull(lease));
  return drizzle(db)
    .update(deliveries)
    .set({ attempts: 0 })
    .where(and(isOfWebhook, isDeliveryOf(key), IS_PENDING, isInFlight));
}

/** {@link makeDue} as a query. @param where condition on the webhook */
export function makeDueWhere(db: D1Database, key: WebhookKey, now: number, where: SQL | undefined) {
  const store = drizzle(db);
  const { seq, nextAttemptAt, lease } = deliveries;
  const inFlightSeqs = store
    .select({ seq })
    .from(webhooks)
    .crossJoin(deliveries)
    .where(and(where, isDeliveryOf(key), IS_PENDING, gt(nextAttemptAt, now), isNull(lease)))
    .limit(MOST_ENDED);
  return store
    .update(deliveries)
    .set({ nextAttemptAt: now })
    .where(and(isDeliveryOf(key), inArray(seq, inFlightSeqs)));
}

/**
 * Makes pending deliveries of an enabled webhook with this URL due now, up to {@link MOST_ENDED}. Deliveries in flight do not change.
 *
 * @returns whether there may be more of them
 */
export async function makeDue(
  runtime: Runtime,
  db: D1Database,
  key: WebhookKey,
  url: string,
  now: number,
): Promise<boolean> {
  const isEnabledWebhook = and(isWebhook(key), eq(webhooks.url, url), eq(webhooks.status, "enabled"));
  const { meta } = await withRetries(runtime, () => makeDueWhere(db, key, now, isEnabledWebhook));
  return meta.changes === MOST_ENDED;
}

/** Ends the pending deliveries of a disabled webhook, up to {@link MOST_ENDED}. A delivery that failed before keeps its last error. */
export function endPending(db: D1Database, key: WebhookKey) {
  const store = drizzle(db);
  const isPendingDelivery = and(isDeliveryOf(key), IS_PENDING);
  const pendingSeqs = store.select({ seq: deliveries.seq }).from(deliveries).where(isPendingDelivery).limit(MOST_ENDED);
  const disabled = store
    .select({ one: sql`1` })
    .from(webhooks)
    .where(and(isWebhook(key), eq(webhooks.status, "disabled")));
  const words = sql`coalesce(${deliveries.lastError}, ${"the webhook is disabled"})`;
  return store
    .update(deliveries)
    .set({ status: "failed", nextAttemptAt: null, lease: null, lastError: words })
    .where(and(isDeliveryOf(key), inArray(deliveries.seq, pendingSeqs), exists(disabled)));
}
