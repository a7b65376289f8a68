import { and, eq, lt, lte, ne, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { inOneBatch } from "../../../core/store/batch.ts";
import { deliveries, events, webhooks } from "../../../core/store/event-schema.ts";
import { homeSites } from "../../../core/store/schema.ts";
import { PRUNED_WINDOW } from "../home/events-of-sessions.ts";
import { countedCall, inChunks, type PruneRun } from "./pruner.ts";

/*
 * Events and deliveries are kept for weeks, so reading all of them in each run would cost more than deleting them. The oldest of a
 * site come first: so only sites and webhooks whose first row is too old are read, and of these only the first PRUNED_WINDOW rows.
 * CROSS JOIN is needed: otherwise SQLite reads the long table first.
 */

/** The value of `what` over all events of a site, or over all deliveries to a webhook. */
const firstOfSite = (what: SQL) =>
  sql`(SELECT ${what} FROM ${events} AS other WHERE other.site_id = ${homeSites.siteId} ORDER BY seq LIMIT 1)`;
const firstOfWebhook = (what: SQL) => sql`(SELECT ${what} FROM ${deliveries} AS other
  WHERE other.site_id = ${webhooks.siteId} AND other.webhook_id = ${webhooks.id} ORDER BY seq LIMIT 1)`;

/**
 * Deletes the events that are old enough. A site's newest event stays: otherwise its seq would be given again. Error texts of receivers
 * about the events are erased in the same batch, because a later erasure could not find them.
 */
export async function* pruneEvents(run: PruneRun, db: D1Database): AsyncGenerator<number, void> {
  const store = drizzle(db);
  const oldEvents = store
    .select({ siteId: events.siteId, seq: events.seq })
    .from(homeSites)
    .crossJoin(events)
    .where(
      and(
        sql`${firstOfSite(sql`created_at`)} <= ${run.keptUntil}`,
        eq(events.siteId, homeSites.siteId),
        sql`${events.seq} < ${firstOfSite(sql`seq`)} + ${PRUNED_WINDOW}`,
        lt(events.seq, firstOfSite(sql`max(seq)`)),
        lte(events.createdAt, run.keptUntil),
      ),
    )
    .limit(run.chunkRows);
  const { siteId, webhookId, seq } = deliveries;
  const deliveriesOfOld = sql`(SELECT its.site_id, its.webhook_id, its.seq FROM ${oldEvents} AS gone
    CROSS JOIN ${webhooks} ON ${webhooks.siteId} = gone.site_id
    CROSS JOIN ${deliveries} AS its ON its.site_id = gone.site_id AND its.webhook_id = ${webhooks.id} AND its.seq = gone.seq
    WHERE its.status = 'pending' OR its.last_error IS NOT NULL)`;
  const skipped = sql`CASE status WHEN 'pending' THEN 'skipped' ELSE status END`;
  const forgotten = store
    .update(deliveries)
    .set({ status: skipped, nextAttemptAt: null, lease: null, lastError: null })
    .where(sql`(${siteId}, ${webhookId}, ${seq}) IN ${deliveriesOfOld}`);
  const removed = store.delete(events).where(sql`(${events.siteId}, ${events.seq}) IN ${oldEvents}`);
  const hasOldEvents = () => store.get<{ found: number }>(sql`SELECT EXISTS ${oldEvents} AS found`);
  while ((await countedCall(run, 1, hasOldEvents)).found === 1) {
    yield (await countedCall(run, 2, () => inOneBatch(db, { forgotten, removed }))).removed.meta.changes;
  }
}

/**
 * Empties columns in which the release before stored texts of receivers, when it ran again after this release. Delete this function with
 * the column `last_error`.
 */
const forgetOldWords = (db: D1Database) =>
  drizzle(db).run(sql`UPDATE ${webhooks} SET last_error = NULL, last_seq = NULL, last_failed_at = NULL,
      last_cause = CASE WHEN last_status IS NOT NULL THEN 'status' WHEN last_error LIKE 'no answer%' THEN 'no_answer'
        WHEN last_error = 'no connection' THEN 'no_connection' END
    WHERE last_error IS NOT NULL OR (last_cause IS NOT NULL AND failing_since IS NULL AND status = 'enabled')`);

/**
 * Deletes the deliveries that are old enough, and all deliveries of deleted webhooks. A pending delivery stays: it is skipped with its
 * event, or by its next attempt.
 */
export async function* pruneDeliveries(run: PruneRun, db: D1Database): AsyncGenerator<number, void> {
  await countedCall(run, 1, () => forgetOldWords(db));
  const store = drizzle(db);
  const { siteId, webhookId, seq } = deliveries;
  const oldDeliveries = store
    .select({ siteId, webhookId, seq })
    .from(webhooks)
    .crossJoin(deliveries)
    .where(
      and(
        sql`${firstOfWebhook(sql`created_at`)} <= ${run.keptUntil}`,
        eq(siteId, webhooks.siteId),
        eq(webhookId, webhooks.id),
        sql`${seq} < ${firstOfWebhook(sql`seq`)} + ${PRUNED_WINDOW}`,
        lte(deliveries.createdAt, run.keptUntil),
        ne(deliveries.status, "pending"),
      ),
    )
    .limit(run.chunkRows);
  // SQLite finds the rows by their key only when there is one SELECT after IN.
  const oldAndOrphaned = sql`SELECT * FROM ${oldDeliveries} UNION ALL SELECT * FROM ${orphanedDeliveries(run.chunkRows)}`;
  const rowsOfChunk = sql`(SELECT * FROM (${oldAndOrphaned}) LIMIT ${run.chunkRows})`;
  yield* inChunks(run, () =>
    store.delete(deliveries).where(sql`(${siteId}, ${webhookId}, ${seq}) IN ${rowsOfChunk}`).run(),
  );
}

/** The site and the webhook of the first delivery that meets a condition, as JSON. */
const firstWebhook = (where: SQL) =>
  sql`(SELECT json_array(site_id, webhook_id) FROM ${deliveries} AS next WHERE ${where} ORDER BY site_id, webhook_id, seq LIMIT 1)`;

/**
 * Deliveries of deleted webhooks: deleting a webhook deletes only some of them at once. The recursion jumps from one webhook to the next in
 * the key.
 */
const orphanedDeliveries = (limit: number) => sql`(
  WITH RECURSIVE owner(key) AS (
    SELECT ${firstWebhook(sql`true`)}
    UNION ALL
    SELECT ${firstWebhook(sql`(site_id, webhook_id, seq) > (owner.key ->> 0, owner.key ->> 1, 9007199254740991)`)}
    FROM owner WHERE owner.key IS NOT NULL),
  gone AS MATERIALIZED (
    SELECT key ->> 0 AS site_id, key ->> 1 AS webhook_id FROM owner WHERE key IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM ${webhooks} WHERE ${webhooks.siteId} = key ->> 0 AND ${webhooks.id} = key ->> 1))
  SELECT other.site_id, other.webhook_id, other.seq FROM gone CROSS JOIN ${deliveries} AS other
  WHERE other.site_id = gone.site_id AND other.webhook_id = gone.webhook_id LIMIT ${limit})`;
