import { and, count, eq, exists, inArray, ne, not, notExists, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../../core/runtime.ts";
import { inOneBatch } from "../../../core/store/batch.ts";
import { deliveries, webhooks } from "../../../core/store/event-schema.ts";
import { withRetries } from "../../../core/store/run-batch.ts";
import { homeSites } from "../../../core/store/schema.ts";
import {
  endPending,
  IS_PENDING,
  isDeliveryOf,
  isWebhook,
  MOST_ENDED,
  makeDueWhere,
  renewInFlight,
  type WebhookKey,
} from "../../../events/store/pending-deliveries.ts";
import { type Author, auditOf, CHANGED, ONE_ROW } from "../audit.ts";
import { changedMeanwhile, changeRow, hasAll } from "../change-row.ts";
import { auditLog } from "../operator-schema.ts";
import { SUMMARY, type Webhook, type WebhookRow } from "./read-webhooks.ts";
import { endOf } from "./site-deletions.ts";
import { eventsSwitched } from "./sites.ts";

/** The most webhooks of a site. */
export const MOST_WEBHOOKS = 10;

/**
 * Inserts an enabled webhook. The first webhook of a site turns the site's events on. The site's revision does not change, because the
 * directory does not copy `events`.
 *
 * @param webhook its id must be random, and new for each call
 * @param details for the audit log, as JSON
 * @returns undefined when the home does not have the site, or its deletion has begun. `webhook` is null when the site has ten webhooks
 * @throws ServiceError `conflict`, reason `changed_meanwhile`, when the webhook was deleted between two tries of this call
 */
export async function insertWebhook(
  runtime: Runtime,
  db: D1Database,
  webhook: WebhookKey & Pick<WebhookRow, "url" | "events" | "version" | "secret"> & { home: string },
  details: string,
  author: Author,
): Promise<{ webhook: Webhook | null } | undefined> {
  const store = drizzle(db);
  const isSite = eq(homeSites.siteId, webhook.siteId);
  // A late try must not bring back a webhook that was deleted since.
  const wasAdded = exists(
    store
      .select({ one: sql`1` })
      .from(auditLog)
      .where(
        and(
          eq(auditLog.siteId, webhook.siteId),
          eq(auditLog.action, "webhook.added"),
          eq(auditLog.subject, webhook.id),
        ),
      ),
  );
  const present = store.select({ n: count() }).from(webhooks).where(eq(webhooks.siteId, webhook.siteId));
  const audited = { siteId: sql`${webhook.siteId}`, subject: sql`${webhook.id}`, details: sql`${details}` };
  const eventsOn = {
    siteId: homeSites.siteId,
    action: "site.events_on" as const,
    subject: sql`CAST(${homeSites.siteId} AS TEXT)`,
    details: eventsSwitched(true),
  };
  const batch = () =>
    inOneBatch(db, {
      inserted: store
        .insert(webhooks)
        .select((query) =>
          query
            .select({
              siteId: homeSites.siteId,
              id: sql`${webhook.id}`.as("id"),
              url: sql`${webhook.url}`.as("url"),
              events: sql`${JSON.stringify(webhook.events)}`.as("events"),
              status: sql`'enabled'`.as("status"),
              disabledReason: sql`NULL`.as("disabled_reason"),
              version: sql`${webhook.version}`.as("version"),
              secret: sql`${webhook.secret}`.as("secret"),
              previousVersion: sql`NULL`.as("previous_version"),
              previousSecret: sql`NULL`.as("previous_secret"),
              previousExpiresAt: sql`NULL`.as("previous_expires_at"),
              failingSince: sql`NULL`.as("failing_since"),
              createdAt: sql`${author.now}`.as("created_at"),
              revision: sql`0`.as("revision"),
              disabledAt: sql`NULL`.as("disabled_at"),
              lastStatus: sql`NULL`.as("last_status"),
              lastError: sql`NULL`.as("last_error"),
              failingToldAt: sql`NULL`.as("failing_told_at"),
              lastCause: sql`NULL`.as("last_cause"),
              lastFailedAt: sql`NULL`.as("last_failed_at"),
              lastSeq: sql`NULL`.as("last_seq"),
              healthSince: sql`NULL`.as("health_since"),
              slow: sql`NULL`.as("slow"),
            })
            .from(homeSites)
            .where(and(isSite, sql`${present} < ${MOST_WEBHOOKS}`, not(wasAdded), notExists(endOf(db, webhook)))),
        )
        .onConflictDoNothing(),
      // Each of these statements runs only when the previous one changed a row, so a second try changes nothing.
      audited: auditOf(db, author, { ...audited, action: "webhook.added" }, ONE_ROW, CHANGED),
      eventsOn: auditOf(
        db,
        author,
        eventsOn,
        homeSites,
        and(isSite, eq(homeSites.events, false), sql`${present} = 1`, CHANGED),
      ),
      site: store.update(homeSites).set({ events: true }).where(and(isSite, CHANGED)),
      found: store
        .select({ wasAdded: sql<number>`${wasAdded}`.as("was_added"), webhook: SUMMARY })
        .from(homeSites)
        .leftJoin(webhooks, isWebhook(webhook))
        .where(and(isSite, notExists(endOf(db, webhook)))),
    });
  const {
    found: [storedWebhook],
  } = await withRetries(runtime, batch);
  if (storedWebhook?.webhook === null && storedWebhook.wasAdded === 1) throw changedMeanwhile();
  return storedWebhook;
}

/** The values of a webhook that operators can change. */
export type WebhookState = Pick<Webhook, "url" | "events" | "status">;

export type WebhookChange = { [Field in keyof WebhookState]?: Webhook[Field] | undefined };

/**
 * Changes a webhook. Disabling it ends its pending deliveries, up to {@link MOST_ENDED}. It cannot be enabled while one of them is pending.
 * With another URL, pending deliveries are due now, up to {@link MOST_ENDED}; `makeDue` does the rest.
 *
 * @param detailsOf makes the details for the audit log, as JSON: for another URL or other events, and for another status
 * @param answerBy  see {@link withRetries}
 * @returns the webhook as it is now, disabled when enabling has to wait, and whether this call gave it another URL; undefined when the site
 *   has no such webhook
 * @throws ServiceError as {@link changeRow} does
 */
export async function updateWebhook(
  runtime: Runtime,
  db: D1Database,
  key: WebhookKey,
  wantedChange: WebhookChange,
  detailsOf: (before: WebhookState, next: WebhookState) => { change: string; statusSwitch: string },
  author: Author,
  answerBy?: number,
): Promise<{ webhook: Webhook; isMoved: boolean } | undefined> {
  const store = drizzle(db);
  const find = () => store.select(SUMMARY).from(webhooks).where(isWebhook(key));
  let isMoved = false;
  const write = async (before: Webhook) => {
    const [url, events, status] = [
      wantedChange.url ?? before.url,
      wantedChange.events ?? before.events,
      wantedChange.status ?? before.status,
    ];
    // While the revision is that of `before`, the row has all values of `before`.
    const isSwitched = status !== before.status;
    const isEnabling = isSwitched && status === "enabled";
    isMoved = url !== before.url;
    const pending = store
      .select({ one: sql`1` })
      .from(deliveries)
      .where(and(isDeliveryOf(key), IS_PENDING));
    const unchanged = and(
      isWebhook(key),
      eq(webhooks.revision, before.revision),
      isEnabling ? notExists(pending) : undefined,
    );
    const details = detailsOf(before, { url, events, status });
    const audited = { siteId: webhooks.siteId, subject: webhooks.id };
    const changed = { ...audited, action: "webhook.changed" as const, details: sql`${details.change}` };
    const auditRowOfSwitch = {
      ...audited,
      action: status === "disabled" ? ("webhook.disabled" as const) : ("webhook.enabled" as const),
      details: sql`${details.statusSwitch}`,
    };
    const isChanged = or(ne(webhooks.url, url), ne(webhooks.events, events));
    const results = await inOneBatch(db, {
      // These statements need the row's old values, so they come before the update.
      audited: auditOf(db, author, changed, webhooks, and(unchanged, isChanged)),
      switched: auditOf(db, author, auditRowOfSwitch, webhooks, and(unchanged, ne(webhooks.status, status))),
      renewed: isMoved ? renewInFlight(db, key, author.now, unchanged) : undefined,
      due: isMoved ? makeDueWhere(db, key, author.now, unchanged) : undefined,
      changed: store
        .update(webhooks)
        .set({
          url,
          events,
          status,
          revision: before.revision + 1,
          ...(isSwitched && { disabledAt: isEnabling ? null : author.now, disabledReason: null }),
          // A new URL, or enabling the webhook again, starts without failures.
          ...((isMoved || isEnabling) && {
            failingSince: null,
            lastStatus: null,
            lastCause: null,
            lastFailedAt: null,
            lastSeq: null,
            failingToldAt: null,
            healthSince: author.now,
            slow: null,
          }),
        })
        .where(unchanged),
      ended: status === "disabled" ? endPending(db, key) : undefined,
      now: find(),
    });
    return { changed: results.changed.meta.changes === 1, now: results.now[0] };
  };
  const webhook = await changeRow<Webhook>({
    read: async () => (await find()).at(0),
    write,
    isFinal: (now) =>
      hasAll(now, wantedChange) || (wantedChange.status === "enabled" && now.status === "disabled" && now.pending > 0),
    retry: (call) => withRetries(runtime, call, answerBy),
  });
  return webhook && { webhook, isMoved };
}

/** Deletes a webhook and up to {@link MOST_ENDED} of its deliveries. @param details for the audit log, as JSON */
export async function deleteWebhookRow(
  runtime: Runtime,
  db: D1Database,
  key: WebhookKey,
  details: string,
  author: Author,
): Promise<void> {
  const store = drizzle(db);
  const audited = {
    siteId: webhooks.siteId,
    action: "webhook.deleted" as const,
    subject: webhooks.id,
    details: sql`${details}`,
  };
  const seqsOfWebhook = store
    .select({ seq: deliveries.seq })
    .from(deliveries)
    .where(isDeliveryOf(key))
    .limit(MOST_ENDED);
  const batch = () =>
    inOneBatch(db, {
      audited: auditOf(db, author, audited, webhooks, isWebhook(key)),
      webhook: store.delete(webhooks).where(isWebhook(key)),
      deliveries: store.delete(deliveries).where(and(isDeliveryOf(key), inArray(deliveries.seq, seqsOfWebhook))),
    });
  await withRetries(runtime, batch);
}
