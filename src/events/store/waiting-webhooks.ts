import { sql } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import { deliveries, webhooks } from "../../core/store/event-schema.ts";
import { type Statement, statement } from "../../core/store/statement.ts";
import { isFailingEventDue } from "./webhook-events.ts";

/** A webhook with pending deliveries. `status` is null when the webhook was deleted. */
export interface WaitingRow {
  siteId: number;
  webhookId: string;
  status: (typeof webhooks.$inferSelect)["status"] | null;
  /** 1 when it is enabled and has a delivery that was due at `dueBefore`. */
  isDue: number;
  /** 1 when the other webhooks of its site must get an event about its failure. */
  isFailingEventDue: number;
}

const next = alias(deliveries, "next");

const nextPending = (after: ReturnType<typeof sql>) => sql`(SELECT json_array(${next.siteId}, ${next.webhookId})
  FROM ${deliveries} AS ${next} WHERE ${next.status} = 'pending' AND ${after} ORDER BY ${next.siteId}, ${next.webhookId} LIMIT 1)`;

/**
 * The last value is higher than any time, so the search jumps over all rows of the webhook. Without it SQLite would read each row.
 */
const IS_AFTER = sql`(${next.siteId}, ${next.webhookId}, ${next.nextAttemptAt}) > (waiting.key ->> 0, waiting.key ->> 1, 9007199254740991)`;

/**
 * Selects webhooks with a delivery that was due at `dueBefore`, failing webhooks that need an event, and disabled or deleted webhooks with
 * a pending delivery. The last kind comes first, because enabling a webhook waits for its pending deliveries. The recursion jumps in the
 * index from one webhook with pending deliveries to the next. Every webhook that fails for minutes has a pending delivery.
 */
export const selectWaiting: Statement<{ dueBefore: number; now: number; limit: number }> = statement(
  (v) => sql`WITH RECURSIVE waiting(key) AS (
      SELECT ${nextPending(sql`true`)}
      UNION ALL
      SELECT ${nextPending(IS_AFTER)}
      FROM waiting WHERE waiting.key IS NOT NULL),
    webhook AS (
      SELECT waiting.key ->> 0 AS siteId, waiting.key ->> 1 AS webhookId, ${webhooks.status} AS status,
        coalesce(${webhooks.status} = 'enabled' AND EXISTS (
          SELECT 1 FROM ${deliveries} WHERE ${deliveries.siteId} = waiting.key ->> 0 AND ${deliveries.webhookId} = waiting.key ->> 1
            AND ${deliveries.status} = 'pending' AND ${deliveries.nextAttemptAt} <= ${v.dueBefore}), 0) AS isDue,
        coalesce(${isFailingEventDue(v.now)}, 0) AS isFailingEventDue
      FROM waiting LEFT JOIN ${webhooks} ON ${webhooks.siteId} = waiting.key ->> 0 AND ${webhooks.id} = waiting.key ->> 1
      WHERE waiting.key IS NOT NULL)
    SELECT * FROM webhook WHERE status IS NOT 'enabled' OR isDue OR isFailingEventDue
    ORDER BY status IS 'enabled' LIMIT ${v.limit}`,
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
