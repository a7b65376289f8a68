import { sql } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import { deliveries, webhooks } from "../schema.ts";
import { type Statement, statement } from "../statement.ts";

/** A webhook with pending deliveries. `status` is null when the webhook was deleted. */
export interface WaitingRow {
  siteId: number;
  webhookId: string;
  status: (typeof webhooks.$inferSelect)["status"] | null;
}

const next = alias(deliveries, "next");

const nextPending = (after: ReturnType<typeof sql>) => sql`(SELECT json_array(${next.siteId}, ${next.webhookId})
  FROM ${deliveries} AS ${next} WHERE ${next.status} = 'pending' AND ${after} ORDER BY ${next.siteId}, ${next.webhookId} LIMIT 1)`;

/**
 * The last value is higher than any time, so the search jumps past all rows of the webhook. Without it SQLite would read each of
 * them.
 */
const AFTER = sql`(${next.siteId}, ${next.webhookId}, ${next.nextAttemptAt}) > (waiting.key ->> 0, waiting.key ->> 1, 9007199254740991)`;

/**
 * The webhooks with a delivery that was due at `dueBefore`, and the disabled and deleted ones with any pending delivery. The
 * recursion jumps from one webhook to the next in the index, so it reads a few rows for each webhook with pending deliveries, and
 * none for the others.
 */
export const selectWaiting: Statement<{ dueBefore: number; limit: number }> = statement(
  (v) => sql`WITH RECURSIVE waiting(key) AS (
      SELECT ${nextPending(sql`true`)}
      UNION ALL
      SELECT ${nextPending(AFTER)}
      FROM waiting WHERE waiting.key IS NOT NULL)
    SELECT waiting.key ->> 0 AS siteId, waiting.key ->> 1 AS webhookId, ${webhooks.status} AS status
    FROM waiting LEFT JOIN ${webhooks} ON ${webhooks.siteId} = waiting.key ->> 0 AND ${webhooks.id} = waiting.key ->> 1
    WHERE waiting.key IS NOT NULL AND (${webhooks.status} IS NOT 'enabled' OR EXISTS (
      SELECT 1 FROM ${deliveries} WHERE ${deliveries.siteId} = waiting.key ->> 0 AND ${deliveries.webhookId} = waiting.key ->> 1
        AND ${deliveries.status} = 'pending' AND ${deliveries.nextAttemptAt} <= ${v.dueBefore}))
    LIMIT ${v.limit}`,
);

/** Deletes pending deliveries of a deleted webhook. */
export const removeOrphans: Statement<{ siteId: number; webhookId: string; limit: number }> = statement(
  (
    v,
  ) => sql`DELETE FROM ${deliveries} WHERE ${deliveries.siteId} = ${v.siteId} AND ${deliveries.webhookId} = ${v.webhookId}
    AND ${deliveries.seq} IN (SELECT ${next.seq} FROM ${deliveries} AS ${next}
      WHERE ${next.siteId} = ${v.siteId} AND ${next.webhookId} = ${v.webhookId} AND ${next.status} = 'pending' LIMIT ${v.limit})
    AND NOT EXISTS (SELECT 1 FROM ${webhooks} WHERE ${webhooks.siteId} = ${v.siteId} AND ${webhooks.id} = ${v.webhookId})`,
);
