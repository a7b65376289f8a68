import { and, type SQL, sql } from "drizzle-orm";
import type { Runtime } from "../../../core/runtime.ts";
import { inOneBatch } from "../../../core/store/batch.ts";
import { literal } from "../../../core/store/claim.ts";
import { deliveries, events, PING, webhooks } from "../../../core/store/event-schema.ts";
import { withRetries } from "../../../core/store/run-batch.ts";
import { insertInto, type Statement, statement } from "../../../core/store/statement.ts";
import { FIRST_IN_LINE } from "../../../events/store/deliveries.ts";
import type { WebhookKey } from "../../../events/store/pending-deliveries.ts";
import { type Author, auditOf, CHANGED, ONE_ROW } from "../audit.ts";
import { auditLog } from "../operator-schema.ts";

/** This file sends one event again. redeliver-many.ts sends many. */

/** The columns of a delivery that starts again. */
export const INSERT_DUE = insertInto(
  deliveries,
  deliveries.siteId,
  deliveries.webhookId,
  deliveries.seq,
  deliveries.status,
  deliveries.attempts,
  deliveries.nextAttemptAt,
  deliveries.createdAt,
);

/**
 * Lets an existing delivery start again. A delivery in flight keeps its lease: when its attempt fails, `attempts` is 0, so the first of
 * eight new attempts follows.
 */
export const startAgain = (now: SQL) => {
  const isInFlight = sql`${deliveries.status} = 'pending' AND ${deliveries.lease} IS NOT NULL AND ${deliveries.nextAttemptAt} > ${now}`;
  const keepInFlight = (column: string) =>
    sql`${sql.raw(column)} = CASE WHEN ${isInFlight} THEN deliveries.${sql.raw(column)} ELSE excluded.${sql.raw(column)} END`;
  // The time of the last attempt does not change: it shows that the receiver may have the event.
  const columns = ["next_attempt_at", "claim", "last_status", "last_error", "duration_ms"];
  return sql`ON CONFLICT (site_id, webhook_id, seq) DO UPDATE SET status = 'pending', attempts = 0, ${sql.join(
    columns.map(keepInFlight),
    sql`, `,
  )}`;
};

export const webhookOf = (v: Record<keyof RedeliveryKey, unknown>) =>
  sql`${webhooks.siteId} = ${v.siteId} AND ${webhooks.id} = ${v.webhookId}`;
export type RedeliveryKey = { siteId: number; webhookId: string };

const renew: Statement<RedeliveryKey & { seq: number; now: number }> = statement(
  (v) => sql`${INSERT_DUE}
    SELECT ${v.siteId}, ${v.webhookId}, ${events.seq}, 'pending', 0,
      CASE WHEN ${events.type} = ${literal(PING)} THEN ${sql.raw(String(FIRST_IN_LINE))} ELSE ${v.now} END, ${events.createdAt}
    FROM ${webhooks} CROSS JOIN ${events}
    WHERE ${webhookOf(v)} AND ${webhooks.status} = 'enabled'
      AND ${events.siteId} = ${v.siteId} AND ${events.seq} = ${v.seq} AND ${events.data} IS NOT NULL
    ${startAgain(sql`${v.now}`)}`,
);

const selectRenewed: Statement<RedeliveryKey & { seq: number }, { id: string; isErased: number; isEnabled: number }> =
  statement(
    (v) => sql`SELECT ${events.id} AS id, ${events.data} IS NULL AS isErased,
      EXISTS (SELECT 1 FROM ${webhooks} WHERE ${webhookOf(v)} AND ${webhooks.status} = 'enabled') AS isEnabled
    FROM ${events} WHERE ${events.siteId} = ${v.siteId} AND ${events.seq} = ${v.seq}`,
  );

/**
 * When the next attempt after a failure is due. The queue may hold a notice only for the first such delivery, whose run makes the notice
 * for the next. A caller that sends the first one again must make this notice instead.
 */
export const selectNextRetry: Statement<RedeliveryKey & { now: number }, { at: number }> = statement(
  (v) => sql`SELECT ${deliveries.nextAttemptAt} AS at FROM ${deliveries}
    WHERE ${deliveries.siteId} = ${v.siteId} AND ${deliveries.webhookId} = ${v.webhookId} AND ${deliveries.status} = 'pending'
      AND ${deliveries.nextAttemptAt} > ${v.now} AND ${deliveries.lease} IS NULL AND (${deliveries.attempts} > 0 OR ${deliveries.lastError} IS NOT NULL)
    ORDER BY ${deliveries.nextAttemptAt} LIMIT 1`,
);

/**
 * Makes the delivery of an event to an enabled webhook due now, with attempts from zero, or inserts it. An attempt in flight continues and
 * counts as the first one sent again.
 *
 * @returns the event's id, when the next retry is due, and two flags. Nothing is changed when the event is erased or the webhook is not
 *   enabled. Undefined when the site has no such event
 */
export async function renewDelivery(
  runtime: Runtime,
  db: D1Database,
  { siteId, id: webhookId }: WebhookKey,
  seq: number,
  author: Author,
): Promise<{ id: string; nextRetry: number | undefined; isErased: boolean; isEnabled: boolean } | undefined> {
  const deliveryKey = { siteId, webhookId, seq };
  const { requestId } = author;
  const row = {
    siteId: sql`${siteId}`,
    action: "webhook.redelivered" as const,
    subject: sql`${webhookId}`,
    details: sql`${JSON.stringify({ seq })}`,
  };
  // After a lost answer the second try makes the delivery due again, and must not leave a second row.
  const isFirst = sql`NOT EXISTS (SELECT 1 FROM (SELECT request_id, action FROM ${auditLog} WHERE site_id = ${siteId}
    ORDER BY id DESC LIMIT 100) WHERE request_id = ${requestId} AND action = 'webhook.redelivered')`;
  const batch = () =>
    inOneBatch(db, {
      renewed: renew(db, { ...deliveryKey, now: author.now }),
      audited: auditOf(db, author, row, ONE_ROW, and(CHANGED, isFirst)),
      events: selectRenewed(db, deliveryKey),
      retries: selectNextRetry(db, { siteId, webhookId, now: author.now }),
    });
  const {
    events: [event],
    retries: [next],
  } = await withRetries(runtime, batch);
  return (
    event && { id: event.id, nextRetry: next?.at, isErased: event.isErased === 1, isEnabled: event.isEnabled === 1 }
  );
}
