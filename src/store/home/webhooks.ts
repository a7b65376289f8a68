import { and, asc, count, eq, exists, getTableColumns, inArray, ne, not, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../runtime.ts";
import { type Author, auditOf, CHANGED, ONE_ROW } from "../audit.ts";
import { changedMeanwhile, changeRow, hasAll } from "../change-row.ts";
import { withRetries } from "../run-batch.ts";
import { auditLog, deliveries, homeSites, webhooks } from "../schema.ts";

/** The most webhooks of a site. */
export const MOST_WEBHOOKS = 10;

/**
 * The most deliveries that one statement ends or deletes. D1 runs one statement at a time, so a longer one would delay signed
 * calls. The sweep does the rest.
 */
export const MOST_ENDED = 5_000;

/** A webhook as stored, with sealed secrets. */
export type WebhookRow = typeof webhooks.$inferSelect;

export type WebhookKey = Pick<WebhookRow, "siteId" | "id">;

const { siteId, secret, previousVersion, previousSecret, ...SUMMARY } = getTableColumns(webhooks);

/** A webhook as operators see it. */
export type Webhook = Pick<WebhookRow, keyof typeof SUMMARY>;

export const isWebhook = (key: WebhookKey) => and(eq(webhooks.siteId, key.siteId), eq(webhooks.id, key.id));

export const isDeliveryOf = (key: WebhookKey) =>
  and(eq(deliveries.siteId, key.siteId), eq(deliveries.webhookId, key.id));

/**
 * Inserts an enabled webhook. The first webhook of a site turns the site's events on. The site's revision stays, because the
 * directory does not copy `events`.
 *
 * @param webhook its id must be random, and new for each call
 * @param details for the audit log, as JSON
 * @returns undefined when the home does not have the site. `webhook` is null when the site already has the most webhooks
 * @throws ServiceError `conflict`, reason `changed_meanwhile`, when the webhook was deleted between two tries of this call
 */
export async function insertWebhook(
  runtime: Runtime,
  db: D1Database,
  webhook: WebhookKey & Pick<WebhookRow, "url" | "events" | "version" | "secret">,
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
  const present = store.select({ n: count() }).from(webhooks).where(eq(siteId, webhook.siteId));
  const audited = { siteId: sql`${webhook.siteId}`, subject: sql`${webhook.id}`, details: sql`${details}` };
  const eventsOn = {
    siteId: homeSites.siteId,
    action: "site.events_on" as const,
    subject: sql`CAST(${homeSites.siteId} AS TEXT)`,
    details: sql`'{}'`,
  };
  const batch = () =>
    store.batch([
      store
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
            })
            .from(homeSites)
            .where(and(isSite, sql`${present} < ${MOST_WEBHOOKS}`, not(wasAdded))),
        )
        .onConflictDoNothing(),
      // Each of these statements runs only when the previous one changed a row, so a second try changes nothing.
      auditOf(db, author, { ...audited, action: "webhook.added" }, ONE_ROW, CHANGED),
      auditOf(db, author, eventsOn, homeSites, and(isSite, eq(homeSites.events, false), sql`${present} = 1`, CHANGED)),
      store.update(homeSites).set({ events: true }).where(and(isSite, CHANGED)),
      store
        .select({ wasAdded: sql<number>`${wasAdded}`.as("was_added"), webhook: SUMMARY })
        .from(homeSites)
        .leftJoin(webhooks, isWebhook(webhook))
        .where(isSite),
    ]);
  const [, , , , [found]] = await withRetries(runtime, batch);
  if (found?.webhook === null && found.wasAdded === 1) throw changedMeanwhile();
  return found;
}

export type WebhookChange = { [Field in "url" | "events" | "status"]?: Webhook[Field] | undefined };

/**
 * Changes a webhook. Disabling it ends its pending deliveries.
 *
 * @param detailsOf makes the details for the audit log, as JSON, from the changed webhook
 * @param answerBy  see {@link withRetries}
 * @returns the webhook as it is now; undefined when the site has no such webhook
 * @throws ServiceError as {@link changeRow} does
 */
export async function updateWebhook(
  runtime: Runtime,
  db: D1Database,
  key: WebhookKey,
  wanted: WebhookChange,
  detailsOf: (next: Pick<Webhook, "url" | "events">) => string,
  author: Author,
  answerBy?: number,
): Promise<Webhook | undefined> {
  const store = drizzle(db);
  const find = () => store.select(SUMMARY).from(webhooks).where(isWebhook(key));
  const write = async (before: Webhook) => {
    const [url, events, status] = [
      wanted.url ?? before.url,
      wanted.events ?? before.events,
      wanted.status ?? before.status,
    ];
    const unchanged = and(isWebhook(key), eq(webhooks.revision, before.revision));
    const moved = ne(webhooks.url, url);
    const switched = ne(webhooks.status, status);
    const audited = { siteId, subject: webhooks.id, details: sql`${detailsOf({ url, events })}` };
    const action = status === "disabled" ? ("webhook.disabled" as const) : ("webhook.enabled" as const);
    const changed = or(moved, ne(webhooks.events, events));
    // The audit statements come before the update, because they need the row's old values.
    const [, , { meta }, [now]] = await store.batch([
      auditOf(db, author, { ...audited, action: "webhook.changed" }, webhooks, and(unchanged, changed)),
      auditOf(db, author, { ...audited, action }, webhooks, and(unchanged, switched)),
      store
        .update(webhooks)
        .set({
          ...{ url, events, status, revision: before.revision + 1 },
          disabledReason: wanted.status === "enabled" ? null : before.disabledReason,
          // A new URL, or enabling the webhook again, starts without failures.
          failingSince: sql`CASE WHEN ${moved} OR ${switched} THEN NULL ELSE ${webhooks.failingSince} END`,
        })
        .where(unchanged),
      find(),
      ...(status === "disabled" ? [endPending(db, key)] : []),
    ]);
    return { changed: meta.changes === 1, now };
  };
  return changeRow<Webhook>({
    read: async () => (await find()).at(0),
    write,
    isFinal: (now) => hasAll(now, wanted),
    retry: (call) => withRetries(runtime, call, answerBy),
  });
}

/** Ends the pending deliveries of a disabled webhook, up to {@link MOST_ENDED}. */
export function endPending(db: D1Database, key: WebhookKey) {
  const store = drizzle(db);
  // The status must stand in the SQL itself: with a bound value SQLite does not use the partial index.
  const pending = and(isDeliveryOf(key), sql`${deliveries.status} = 'pending'`);
  const some = store.select({ seq: deliveries.seq }).from(deliveries).where(pending).limit(MOST_ENDED);
  const disabled = store
    .select({ one: sql`1` })
    .from(webhooks)
    .where(and(isWebhook(key), eq(webhooks.status, "disabled")));
  return store
    .update(deliveries)
    .set({ status: "failed", nextAttemptAt: null, lease: null, lastError: "the webhook is disabled" })
    .where(and(isDeliveryOf(key), inArray(deliveries.seq, some), exists(disabled)));
}

/**
 * Stores a rotation.
 *
 * @param change   `previousVersion` is the webhook's version when the rotation began
 * @param answerBy see {@link withRetries}
 * @returns false when the webhook was rotated or deleted since then
 */
export async function updateWebhookSecret(
  runtime: Runtime,
  db: D1Database,
  key: WebhookKey,
  change: {
    [Field in "version" | "secret" | `previous${"Version" | "Secret" | "ExpiresAt"}`]: NonNullable<WebhookRow[Field]>;
  },
  author: Author,
  answerBy?: number,
): Promise<boolean> {
  const store = drizzle(db);
  const audited = {
    siteId,
    action: "webhook.rotated" as const,
    subject: webhooks.id,
    details: sql`json_object('version', ${webhooks.version}, 'previous_expires_at', ${webhooks.previousExpiresAt})`,
  };
  const batch = () =>
    store.batch([
      store
        .update(webhooks)
        .set(change)
        .where(and(isWebhook(key), eq(webhooks.version, change.previousVersion))),
      auditOf(db, author, audited, webhooks, and(isWebhook(key), CHANGED)),
    ]);
  const [replaced] = await withRetries(runtime, batch, answerBy);
  return replaced.meta.changes === 1;
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
  const audited = { siteId, action: "webhook.deleted" as const, subject: webhooks.id, details: sql`${details}` };
  const some = store.select({ seq: deliveries.seq }).from(deliveries).where(isDeliveryOf(key)).limit(MOST_ENDED);
  const batch = () =>
    store.batch([
      auditOf(db, author, audited, webhooks, isWebhook(key)),
      store.delete(webhooks).where(isWebhook(key)),
      store.delete(deliveries).where(and(isDeliveryOf(key), inArray(deliveries.seq, some))),
    ]);
  await withRetries(runtime, batch);
}

/** Undefined when the site has no such webhook. */
export function selectWebhook(db: D1Database, key: WebhookKey): Promise<Webhook | undefined> {
  return drizzle(db).select(SUMMARY).from(webhooks).where(isWebhook(key)).get();
}

/** A webhook with its sealed secrets; undefined when the site has no such webhook. */
export function selectSealedWebhook(
  runtime: Runtime,
  db: D1Database,
  key: WebhookKey,
): Promise<WebhookRow | undefined> {
  return withRetries(runtime, () => drizzle(db).select().from(webhooks).where(isWebhook(key)).get());
}

/** A site's webhooks, the oldest first. */
export function selectWebhooks(db: D1Database, site: number): Promise<Webhook[]> {
  return drizzle(db)
    .select(SUMMARY)
    .from(webhooks)
    .where(eq(siteId, site))
    .orderBy(asc(webhooks.createdAt), asc(webhooks.id))
    .all();
}
