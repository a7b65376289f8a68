import { sql } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import { deliveries, type FailureCause, WEBHOOK_DISABLED, webhooks } from "../../core/store/event-schema.ts";
import { type Placeholders, type Statement, statement } from "../../core/store/statement.ts";
import { auditOf, byWorker, CHANGED, ONE_ROW } from "../../operators/store/audit.ts";
import { auditLog } from "../../operators/store/operator-schema.ts";
import { FIRST_IN_LINE } from "./deliveries.ts";
import { endPending } from "./pending-deliveries.ts";
import { tellOthers } from "./webhook-events.ts";

/** After this time without any success a failing webhook is disabled, once a delivery shows that it does not keep up. */
export const FAILING_DAYS = 5;
const DAY_SECONDS = 86_400;
const FAILING_SECONDS = FAILING_DAYS * DAY_SECONDS;

/** The common result of attempts that ended together, for one webhook. Pings do not count. */
export type WebhookHealth = {
  siteId: number;
  webhookId: string;
  /** The URL that was posted to. The result does not count when the webhook has another URL by now. */
  url: string;
  /** When the attempts failed, in Unix seconds; null when one of them succeeded. */
  failedAt: number | null;
  /** 1 when the attempt that ended last took long. It counts only when one of the attempts succeeded. */
  slow: number;
  /** The status and the cause of the last failure, or of the 410, and the `seq` of its event. The cause is null after a success. */
  lastStatus: number | null;
  lastCause: FailureCause | null;
  lastSeq: number;
  /** Whether a receiver answered 410 Gone. */
  isGone: boolean;
  /** The `seq` of the deliveries that have used up their attempts. */
  usedUp: number[];
};

type WebhookUrlKey = Pick<WebhookHealth, "siteId" | "webhookId" | "url">;

const thisWebhook = (v: { [Name in keyof WebhookUrlKey]: unknown }) =>
  sql`${webhooks.siteId} = ${v.siteId} AND ${webhooks.id} = ${v.webhookId} AND ${webhooks.url} = ${v.url}`;

const noteSuccess: Statement<WebhookUrlKey & Pick<WebhookHealth, "slow">> = statement(
  (v) => sql`UPDATE ${webhooks} SET failing_since = NULL, last_status = NULL, last_cause = NULL, last_failed_at = NULL,
      last_seq = NULL, failing_told_at = NULL, slow = ${v.slow}
    WHERE ${thisWebhook(v)} AND (${webhooks.failingSince} IS NOT NULL OR ${webhooks.slow} IS NOT ${v.slow})`,
);

type WebhookFailure = Pick<WebhookHealth, "lastStatus" | "lastCause" | "lastSeq"> & { now: number };

const itsFailure = (v: Placeholders<WebhookFailure>) =>
  sql`last_status = ${v.lastStatus}, last_cause = ${v.lastCause}, last_failed_at = ${v.now}, last_seq = ${v.lastSeq}`;

/** A disabled webhook keeps the failure that disabled it. */
const noteFailure: Statement<WebhookUrlKey & WebhookFailure> = statement(
  (v) => sql`UPDATE ${webhooks} SET failing_since = coalesce(failing_since, ${v.now}), ${itsFailure(v)}
    WHERE ${thisWebhook(v)} AND ${webhooks.status} = 'enabled'`,
);

type DisablingValues = WebhookUrlKey &
  WebhookFailure & {
    reason: string;
    failingBefore: number;
    dueBefore: number;
    usedUp: string;
    eventId: string;
  };

const late = alias(deliveries, "late");
const ended = alias(deliveries, "ended");

/**
 * Disables a webhook for a reason. For `failing` there must be a delivery that has used up its attempts, or one that is due for a day
 * without a lease in force, because a webhook that hangs under load uses up no attempts for weeks. A second try of the same batch, which
 * the event's id in the audit log shows, disables nothing: an operator may have enabled the webhook meanwhile.
 */
const disable: Statement<DisablingValues, DisabledWebhook> = statement(
  (
    v,
  ) => sql`UPDATE ${webhooks} SET status = 'disabled', disabled_reason = ${v.reason}, disabled_at = ${v.now}, revision = revision + 1,
      ${itsFailure(v)}
    WHERE ${thisWebhook(v)} AND ${webhooks.status} = 'enabled'
      AND NOT EXISTS (SELECT 1 FROM ${auditLog} WHERE ${auditLog.siteId} = ${v.siteId} AND ${auditLog.action} = 'webhook.disabled'
        AND ${auditLog.subject} = ${v.webhookId} AND ${auditLog.actor} = 'worker' AND ${auditLog.at} = ${v.now}
        AND ${auditLog.details} ->> 'event_id' = ${v.eventId})
      AND (${v.reason} = 'gone' OR (${webhooks.failingSince} <= ${v.failingBefore} AND (
      EXISTS (SELECT 1 FROM json_each(${v.usedUp}) AS each CROSS JOIN ${deliveries} AS ${ended}
        ON ${ended.siteId} = ${v.siteId} AND ${ended.webhookId} = ${v.webhookId} AND ${ended.seq} = each.value
        WHERE ${ended.status} = 'failed')
      OR EXISTS (SELECT 1 FROM ${deliveries} AS ${late} WHERE ${late.siteId} = ${v.siteId} AND ${late.webhookId} = ${v.webhookId}
        AND ${late.status} = 'pending' AND ${late.nextAttemptAt} > ${sql.raw(String(FIRST_IN_LINE))} AND ${late.nextAttemptAt} <= ${v.dueBefore}))))
    RETURNING ${webhooks.id} AS disabled, ${webhooks.siteId} AS siteId, ${webhooks.disabledReason} AS reason`,
);

/** A webhook that {@link judge} disabled. */
export interface DisabledWebhook {
  disabled: string;
  siteId: number;
  reason: string;
}

/**
 * Records whether a webhook fails. A webhook that is gone, or has failed for {@link FAILING_DAYS} and does not keep up, is disabled:
 * its pending deliveries end, and the site's other webhooks get an event.
 *
 * @param knownFailingSince   since when the webhook fails, as far as the caller knows. Saves statements that would change nothing
 * @param eventId of the event that tells of it
 * @returns a part of a batch
 */
export function judge(
  db: D1Database,
  { siteId, webhookId, url, failedAt, slow, lastStatus, lastCause, lastSeq, isGone, usedUp }: WebhookHealth,
  knownFailingSince: number | null,
  now: number,
  eventId: string,
) {
  const key = { siteId, webhookId, url };
  const failure = { lastStatus, lastCause, lastSeq, now };
  const noted = failedAt === null ? noteSuccess(db, { ...key, slow }) : noteFailure(db, { ...key, ...failure });
  const failingBefore = now - FAILING_SECONDS;
  const failsLong = failedAt !== null && knownFailingSince !== null && knownFailingSince <= failingBefore;
  if (!isGone && !failsLong) return { noted };
  const reason = isGone ? "gone" : "failing";
  const limits = { failingBefore, dueBefore: now - DAY_SECONDS, usedUp: JSON.stringify(usedUp) };
  const changed = { reason, from: "enabled", to: "disabled", event_id: eventId };
  const details = JSON.stringify({ origin: URL.parse(url)?.origin, ...changed });
  const audited = {
    siteId: sql`${siteId}`,
    action: "webhook.disabled" as const,
    subject: sql`${webhookId}`,
    details: sql`${details}`,
  };
  return {
    noted,
    disabled: disable(db, { ...key, ...failure, ...limits, reason, eventId }),
    audited: auditOf(db, byWorker(now), audited, ONE_ROW, CHANGED),
    ...tellOthers(db, { type: WEBHOOK_DISABLED, siteId, webhookId, reason, eventId, now }),
    ended: endPending(db, { siteId, id: webhookId }),
  };
}
