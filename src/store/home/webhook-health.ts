import { sql } from "drizzle-orm";
import { auditLog, webhooks } from "../schema.ts";
import { insertInto, type Statement, statement } from "../statement.ts";
import { endPending } from "./webhooks.ts";

/** A webhook that fails for this long without any success is disabled. */
export const FAILING_DAYS = 5;
const FAILING_SECONDS = FAILING_DAYS * 86_400;

/** The common result of attempts that ended together, for one webhook. */
export type Health = {
  siteId: number;
  webhookId: string;
  /** The URL that was posted to. The result does not count for a URL that the webhook has got since. */
  url: string;
  /** When the attempts failed, in Unix seconds; null when one of them succeeded. */
  failingSince: number | null;
  /** Whether a receiver answered 410 Gone. */
  gone: boolean;
};

const thisWebhook = (v: { siteId: unknown; webhookId: unknown; url: unknown }) =>
  sql`${webhooks.siteId} = ${v.siteId} AND ${webhooks.id} = ${v.webhookId} AND ${webhooks.url} = ${v.url}`;

const noteHealth: Statement<Omit<Health, "gone">> = statement(
  (v) => sql`UPDATE ${webhooks} SET failing_since = ${v.failingSince}
    WHERE ${thisWebhook(v)} AND (${webhooks.failingSince} IS NULL) <> (${v.failingSince} IS NULL)`,
);

type Disabling = Pick<Health, "siteId" | "webhookId" | "url"> & { reason: string; failingBefore: number; now: number };

const disable: Statement<Disabling> = statement(
  (v) => sql`UPDATE ${webhooks} SET status = 'disabled', disabled_reason = ${v.reason}, revision = revision + 1
    WHERE ${thisWebhook(v)} AND ${webhooks.status} = 'enabled' AND (${v.reason} = 'gone' OR ${webhooks.failingSince} <= ${v.failingBefore})`,
);

/** Must come right after {@link disable} in the batch, because it uses changes(). */
const auditDisabling: Statement<Disabling & { details: string }> = statement(
  (
    v,
  ) => sql`${insertInto(auditLog, auditLog.siteId, auditLog.at, auditLog.actor, auditLog.action, auditLog.subject, auditLog.details)}
    SELECT ${v.siteId}, ${v.now}, 'worker', 'webhook.disabled', ${v.webhookId}, ${v.details} WHERE changes() > 0`,
);

/**
 * Records whether a webhook fails. A webhook that is gone, or has failed for {@link FAILING_DAYS}, is disabled and its pending
 * deliveries end.
 *
 * @param known since when the webhook fails, as far as the caller knows. Saves statements that would change nothing
 */
export function judge(db: D1Database, health: Health, known: number | null, now: number): D1PreparedStatement[] {
  const { siteId, webhookId, url, gone, failingSince } = health;
  const noted = noteHealth(db, health);
  const failingBefore = now - FAILING_SECONDS;
  const failsLong = failingSince !== null && known !== null && known <= failingBefore;
  if (!gone && !failsLong) return [noted];
  const disabling = { siteId, webhookId, url, failingBefore, now, reason: gone ? "gone" : "failing" };
  const details = JSON.stringify({ origin: URL.parse(url)?.origin, reason: disabling.reason });
  const ending = endPending(db, { siteId, id: webhookId }).toSQL();
  return [
    noted,
    disable(db, disabling),
    auditDisabling(db, { ...disabling, details }),
    db.prepare(ending.sql).bind(...ending.params),
  ];
}
