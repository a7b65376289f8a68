import { asc, eq, getTableColumns, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../../core/runtime.ts";
import { webhooks } from "../../../core/store/event-schema.ts";
import { withRetries } from "../../../core/store/run-batch.ts";
import { isWebhook, type WebhookKey } from "../../../events/store/pending-deliveries.ts";

/** A webhook as stored, with sealed secrets. */
export type WebhookRow = typeof webhooks.$inferSelect;

/** The most deliveries of a webhook that are counted: each read of a webhook counts them. */
export const MOST_COUNTED = 10_000;

/**
 * A row for each counted delivery of a webhook. The status must be in the SQL itself, for the partial index. The outer table must be named,
 * because drizzle leaves it out in a query of one table.
 */
const countOf = (status: "pending" | "failed", index: string) =>
  sql.raw(`(SELECT counted.seq FROM deliveries AS counted INDEXED BY ${index}
  WHERE counted.site_id = webhooks.site_id AND counted.webhook_id = webhooks.id AND counted.status = '${status}' LIMIT ${MOST_COUNTED})`);
const PENDING = countOf("pending", "deliveries_due");
const FAILED = countOf("failed", "deliveries_failed");

const { siteId, secret, previousVersion, previousSecret, lastError, lastSeq, ...COLUMNS } = getTableColumns(webhooks);

/**
 * The receiver's words when a webhook failed last. They are read from that delivery, while it has them. A later attempt of the delivery may
 * have ended in another way.
 */
export const LAST_WORDS = sql<string | null>`(SELECT answered.last_error FROM deliveries AS answered
  WHERE answered.site_id = webhooks.site_id AND answered.webhook_id = webhooks.id AND answered.seq = webhooks.last_seq
    AND answered.last_status IS webhooks.last_status)`;

export const SUMMARY = {
  ...COLUMNS,
  lastError: LAST_WORDS.as("last_words"),
  pending: sql<number>`(SELECT count(*) FROM ${PENDING})`.as("pending"),
  failed: sql<number>`(SELECT count(*) FROM ${FAILED})`.as("failed"),
  oldestPendingAt: sql<number | null>`(SELECT oldest.created_at FROM deliveries AS oldest
    WHERE oldest.site_id = webhooks.site_id AND oldest.webhook_id = webhooks.id AND oldest.seq = (SELECT min(seq) FROM ${PENDING}))`.as(
    "oldest_pending_at",
  ),
};

/** A webhook as operators see it. */
export type Webhook = Pick<WebhookRow, keyof typeof COLUMNS> & {
  /** See {@link LAST_WORDS}. */
  lastError: string | null;
  /** The numbers of its pending and failed deliveries, each up to {@link MOST_COUNTED}. */
  pending: number;
  failed: number;
  /** The time of the oldest pending delivery among those counted; null when there is none. */
  oldestPendingAt: number | null;
};

/** Undefined when the site has no such webhook. */
export function selectWebhook(db: D1Database, key: WebhookKey): Promise<Webhook | undefined> {
  return drizzle(db).select(SUMMARY).from(webhooks).where(isWebhook(key)).get();
}

/** Whether a webhook is enabled; undefined when the site has no such webhook. Counts nothing. */
export async function selectIsEnabled(db: D1Database, key: WebhookKey): Promise<boolean | undefined> {
  const { status } = webhooks;
  const storedWebhook = await drizzle(db).select({ status }).from(webhooks).where(isWebhook(key)).get();
  return storedWebhook && storedWebhook.status === "enabled";
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

/** The ids and URLs of a site's webhooks, the oldest first. Counts nothing. */
export function selectWebhookUrls(db: D1Database, site: number): Promise<Pick<WebhookRow, "id" | "url">[]> {
  const { id, url, createdAt } = webhooks;
  return drizzle(db).select({ id, url }).from(webhooks).where(eq(siteId, site)).orderBy(asc(createdAt), asc(id)).all();
}
