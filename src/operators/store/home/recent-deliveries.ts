import { sql } from "drizzle-orm";
import { inOneBatch } from "../../../core/store/batch.ts";
import { deliveries } from "../../../core/store/event-schema.ts";
import { statement } from "../../../core/store/statement.ts";
import type { Webhook } from "./read-webhooks.ts";

/** How many of a webhook's newest deliveries are read for its recent results. */
export const MOST_RECENT = 1_000;

/**
 * The results of a webhook's newest deliveries, pings too. Skipped deliveries do not count. A try from before the webhook got another URL
 * or was enabled does not count, because it says nothing about the receiver now.
 */
export interface RecentDeliveries {
  /** Of the events since a time: how many were delivered, and how many were tried with any result. */
  delivered: number;
  tried: number;
  /** Whether there may be more than {@link MOST_RECENT} events since this time: then only the newest were counted. */
  isCut: boolean;
  /** When the last attempt that succeeded began; null without any. */
  deliveredAt: number | null;
  /** The last attempt that failed; null without any. */
  failure: { at: number; lastStatus: number | null; lastError: string | null } | null;
}

type RecentRow = Omit<RecentDeliveries, "isCut" | "failure"> & { isCut: number; failure: string | null };

const WAS_DELIVERED = sql.raw("(tells AND status = 'delivered')");
const HAS_FAILED = sql.raw(
  "(tells AND status IN ('pending', 'failed') AND last_attempt_at IS NOT NULL AND (last_status IS NOT NULL OR last_error IS NOT NULL))",
);

/** The rows are limited before they are compared with the time: otherwise all rows of a quiet webhook would be read. */
const selectRecent = statement<{ siteId: number; webhookId: string; since: number; healthSince: number }, RecentRow>(
  (v) => sql`WITH newest AS MATERIALIZED (
      SELECT status, claim, last_status, last_error, last_attempt_at, created_at >= ${v.since} AS recent,
        coalesce(last_attempt_at, 0) >= ${v.healthSince} AS tells
      FROM ${deliveries}
      WHERE ${deliveries.siteId} = ${v.siteId} AND ${deliveries.webhookId} = ${v.webhookId}
      ORDER BY ${deliveries.seq} DESC LIMIT ${sql.raw(String(MOST_RECENT))})
    SELECT count(CASE WHEN recent AND ${WAS_DELIVERED} THEN 1 END) AS delivered,
      count(CASE WHEN recent AND (${WAS_DELIVERED} OR ${HAS_FAILED}) THEN 1 END) AS tried,
      count(CASE WHEN recent THEN 1 END) = ${sql.raw(String(MOST_RECENT))} AS isCut,
      max(CASE WHEN ${WAS_DELIVERED} THEN last_attempt_at END) AS deliveredAt,
      (SELECT json_object('at', last_attempt_at, 'lastStatus', last_status, 'lastError', last_error) FROM newest
        WHERE claim IS NULL AND ${HAS_FAILED} ORDER BY last_attempt_at DESC LIMIT 1) AS failure
    FROM newest`,
);

/**
 * The recent results of some webhooks, in the order of the webhooks.
 *
 * @param since Unix seconds
 */
export async function selectRecents(
  db: D1Database,
  siteId: number,
  webhooks: readonly Pick<Webhook, "id" | "healthSince">[],
  since: number,
): Promise<RecentDeliveries[]> {
  if (webhooks.length === 0) return [];
  const { recents } = await inOneBatch(db, {
    recents: webhooks.map(({ id, healthSince }) =>
      selectRecent(db, { siteId, webhookId: id, since, healthSince: healthSince ?? 0 }),
    ),
  });
  return recents.map(([row]) => {
    if (row === undefined) throw new Error("a webhook's deliveries were not counted");
    return {
      ...row,
      isCut: row.isCut === 1,
      failure: JSON.parse(row.failure ?? "null") as RecentDeliveries["failure"],
    };
  });
}
