import { type SQL, sql } from "drizzle-orm";
import type { Runtime } from "../../../core/runtime.ts";
import { inOneBatch } from "../../../core/store/batch.ts";
import { literal } from "../../../core/store/claim.ts";
import {
  deliveries,
  events,
  PING,
  WEBHOOK_DISABLED,
  WEBHOOK_FAILING,
  webhooks,
} from "../../../core/store/event-schema.ts";
import { withRetries } from "../../../core/store/run-batch.ts";
import { type Statement, statement } from "../../../core/store/statement.ts";
import type { WebhookKey } from "../../../events/store/pending-deliveries.ts";
import { type Author, auditOf, CHANGED } from "../audit.ts";
import { auditLog } from "../operator-schema.ts";
import { SKEW_SECONDS } from "./events-of-sessions.ts";
import { INSERT_DUE, type RedeliveryKey, selectNextRetry, startAgain, webhookOf } from "./redeliver-one.ts";

/** This file sends events again: a delivery that starts again has eight attempts left, and no result. */

/** The statuses of deliveries that can be sent again. A `missed` event is of a type that the webhook wants, but has no delivery to it. */
export const REDELIVERED_STATUSES = ["failed", "pending", "missed", "delivered"] as const;

export type RedeliveredStatus = (typeof REDELIVERED_STATUSES)[number];

/** The most seqs that one step reads. D1 runs one statement at a time, so a longer step would delay signed calls. */
const MOST_READ = 5_000;

/** How many deliveries of a step are due in the same second, so that a receiver that was down does not get all at once. */
export const DUE_PER_SECOND = 500;

/** The most pending deliveries that are read to find the oldest. */
const MOST_PENDING_READ = 10_000;

const deliveryOf = (v: Record<keyof RedeliveryKey, unknown>) =>
  sql`${deliveries.siteId} = ${v.siteId} AND ${deliveries.webhookId} = ${v.webhookId}`;

/** What one step sends again. */
export interface RedeliveryFilter {
  status: readonly RedeliveredStatus[];
  /** Only events from this second to `until`, both included. */
  since: number | undefined;
  until: number;
  /** Only events with a higher seq. */
  afterSeq: number | undefined;
  /** The last second whose events are no longer stored. */
  keptUntil: number;
}

/** The values that the statements of a step bind. */
type RedeliveryStep = RedeliveryKey & { afterSeq: number; from: number; until: number; statuses: string };

type Values<More> = { readonly [Name in keyof (RedeliveryStep & More)]: unknown };

/** `begin`: the seq after which the step reads. All events up to it are older than `from`. It has one row, or none unless `where` holds. */
const findBegin = (v: Values<unknown>, where: SQL) => sql`search(low, high) AS (
    SELECT CAST(${v.afterSeq} AS INTEGER), (SELECT seq FROM ${events} WHERE ${events.siteId} = ${v.siteId} ORDER BY seq DESC LIMIT 1)
    WHERE ${where}
    UNION ALL
    SELECT iif(probe.created_at < ${v.from} - ${sql.raw(String(SKEW_SECONDS))}, probe.seq, low),
      iif(probe.created_at < ${v.from} - ${sql.raw(String(SKEW_SECONDS))}, high, (low + high + 1) / 2 - 1)
    FROM search CROSS JOIN ${events} AS probe
    WHERE low < high AND probe.site_id = ${v.siteId} AND probe.seq = (SELECT above.seq FROM ${events} AS above
      WHERE above.site_id = ${v.siteId} AND above.seq >= (low + high + 1) / 2 ORDER BY above.seq LIMIT 1)),
  begin(seq) AS MATERIALIZED (SELECT max(low) FROM search)`;

/** Which rows a step reads: the smallest set that holds all wanted events. */
type RedeliverySource = "failed" | "unfinished" | "deliveries" | "events";

const sourceOf = (status: readonly RedeliveredStatus[]): RedeliverySource => {
  if (status.includes("missed")) return "events";
  if (status.includes("delivered")) return "deliveries";
  return status.includes("pending") ? "unfinished" : "failed";
};

const AFTER_BEGIN = sql`> (SELECT begin.seq FROM begin)`;

/** The status must be in the SQL itself: with a bound value SQLite does not use a partial index. */
const failedDeliveries = (v: Values<unknown>) =>
  sql`${deliveries} INDEXED BY deliveries_failed WHERE ${deliveryOf(v)} AND ${deliveries.status} = 'failed' AND ${deliveries.seq} ${AFTER_BEGIN}`;

/** The first delivery that failed or is pending. When very many are pending, it is the seq after `begin`. */
const firstUnfinished = (v: Values<unknown>) => sql`SELECT min(seq) FROM (
    SELECT (SELECT seq FROM ${failedDeliveries(v)} ORDER BY seq LIMIT 1) AS seq
    UNION ALL
    SELECT iif(count(*) > ${sql.raw(String(MOST_PENDING_READ))}, (SELECT begin.seq FROM begin) + 1, min(iif(seq ${AFTER_BEGIN}, seq, NULL)))
    FROM (SELECT seq FROM ${deliveries} INDEXED BY deliveries_due WHERE ${deliveryOf(v)} AND ${deliveries.status} = 'pending'
      LIMIT ${sql.raw(String(MOST_PENDING_READ + 1))}))`;

/** The seqs that a step reads, each with its time and the status of its delivery. */
const readSeqs = (table: SQL, from: SQL, status: SQL) =>
  sql`SELECT ${table}.seq AS seq, ${table}.created_at AS at, ${status} AS status FROM ${from} ORDER BY ${table}.seq LIMIT ${sql.raw(String(MOST_READ))}`;
const deliverySeqs = (from: SQL) => readSeqs(sql`${deliveries}`, from, sql`${deliveries.status}`);

const SOURCES: Record<RedeliverySource, (v: Values<unknown>) => SQL> = {
  failed: (v) => deliverySeqs(failedDeliveries(v)),
  unfinished: (v) =>
    deliverySeqs(sql`${deliveries} WHERE ${deliveryOf(v)} AND ${deliveries.seq} >= (${firstUnfinished(v)})`),
  deliveries: (v) => deliverySeqs(sql`${deliveries} WHERE ${deliveryOf(v)} AND ${deliveries.seq} ${AFTER_BEGIN}`),
  events: (v) =>
    readSeqs(
      sql`${events}`,
      sql`${events} LEFT JOIN ${deliveries} ON ${deliveryOf(v)} AND ${deliveries.seq} = ${events.seq}
        WHERE ${events.siteId} = ${v.siteId} AND ${events.seq} ${AFTER_BEGIN}`,
      sql`coalesce(${deliveries.status}, 'missed')`,
    ),
};

const IS_TROUBLE = sql`${events.type} IN (${literal(WEBHOOK_DISABLED)}, ${literal(WEBHOOK_FAILING)})`;

/**
 * `looked`: the seqs that a step reads, each with its time and whether it is sent again. Empty while the webhook is not enabled. Events
 * about the webhook's own trouble are never sent to it.
 */
const lookedEvents = (
  source: RedeliverySource,
  v: Values<unknown>,
  where: SQL = sql`true`,
) => sql`WITH RECURSIVE ${findBegin(v, where)},
  step(seq, at, status) AS (${SOURCES[source](v)}),
  looked(seq, at, fits) AS (
    SELECT step.seq, step.at, ${events.data} IS NOT NULL AND ${events.type} <> ${literal(PING)}
      AND ${events.createdAt} >= ${v.from} AND ${events.createdAt} <= ${v.until}
      AND NOT (${IS_TROUBLE} AND ${events.data} ->> 'webhook_id' = ${v.webhookId})
      AND step.status IN (SELECT value FROM json_each(${v.statuses}))
      AND (step.status <> 'missed' OR ${events.type} IN (
        SELECT wanted.value FROM ${webhooks} CROSS JOIN json_each(${webhooks.events}) AS wanted WHERE ${webhookOf(v)}))
    FROM step LEFT JOIN ${events} ON ${events.siteId} = ${v.siteId} AND ${events.seq} = step.seq
    WHERE EXISTS (SELECT 1 FROM ${webhooks} WHERE ${webhookOf(v)} AND ${webhooks.status} = 'enabled'))`;

/** Over `looked`: how many fit, and where the next step begins; null when no event after the step can fit. */
const COUNT_MATCHED = sql`count(CASE WHEN fits THEN 1 END)`;
const nextAfter = (v: Values<unknown>) =>
  sql`CASE WHEN count(*) = ${sql.raw(String(MOST_READ))} AND max(at) <= ${v.until} + ${sql.raw(String(SKEW_SECONDS))} THEN max(seq) END`;

/** The audit row of this call. A second try comes within seconds, so the row is among the newest. */
const auditRow = (v: Record<"siteId" | "call", unknown>) => sql`(SELECT newest.details FROM (
    SELECT ${auditLog.details} AS details FROM ${auditLog} WHERE ${auditLog.siteId} = ${v.siteId} ORDER BY ${auditLog.id} DESC LIMIT 100) AS newest
  WHERE newest.details ->> 'call' = ${v.call})`;

type SendingStep = RedeliveryStep & { now: number };
type CountedStep = RedeliveryStep & { call: string };

/** The result of a step, as a row; none when this call has already left its audit row, or nothing fits. */
const matchedBy = (
  source: RedeliverySource,
  v: Values<{ call: string }>,
) => sql`(${lookedEvents(source, v, sql`${auditRow(v)} IS NULL`)}
  SELECT ${COUNT_MATCHED} AS queued, ${nextAfter(v)} AS next_after_seq FROM looked HAVING ${COUNT_MATCHED} > 0)`;

/** The compiled statements of a step, for each source. auditOf writes the audit row. */
const STEPS = Object.fromEntries(
  (["failed", "unfinished", "deliveries", "events"] as const).map((source) => [
    source,
    {
      // Must come right after the audit row in the batch, because it uses changes().
      send: statement<SendingStep>(
        (v) => sql`${INSERT_DUE}
        ${lookedEvents(source, v, CHANGED)}
        SELECT ${v.siteId}, ${v.webhookId}, seq, 'pending', 0,
          ${v.now} + (row_number() OVER (ORDER BY seq) - 1) / ${sql.raw(String(DUE_PER_SECOND))}, at
        FROM looked WHERE fits
        ${startAgain(sql`${v.now}`)}`,
      ),
      // The part after ELSE is read only when this call has sent nothing.
      outcome: statement<CountedStep, { status: string; counts: string | null }>(
        (
          v,
        ) => sql`SELECT ${webhooks.status} AS status, coalesce(${auditRow(v)}, CASE WHEN ${webhooks.status} = 'enabled' THEN (
          ${lookedEvents(source, v)} SELECT json_object('matched', ${COUNT_MATCHED}, 'next_after_seq', ${nextAfter(v)}) FROM looked) END) AS counts
        FROM ${webhooks} WHERE ${webhookOf(v)}`,
      ),
    },
  ]),
) as Record<
  RedeliverySource,
  { send: Statement<SendingStep>; outcome: Statement<CountedStep, { status: string; counts: string | null }> }
>;

/** The outcome of a step. */
export interface RedeliveryStepResult {
  isEnabled: boolean;
  matched: number;
  queued: number;
  /** Where the next step begins; null when there is none. */
  nextAfterSeq: number | null;
  /** When the next retry is due; undefined when none is, and in a dry run. */
  nextRetry: number | undefined;
}

/**
 * Makes fitting deliveries due again, spread over seconds, in the order of seq, and leaves one audit row for all of them. One step reads up
 * to {@link MOST_READ} seqs.
 *
 * @param isDry    nothing is changed
 * @param answerBy see {@link withRetries}
 * @returns undefined when the site has no such webhook. Nothing is queued when the webhook is not enabled
 */
export async function renewDeliveries(
  runtime: Runtime,
  db: D1Database,
  { siteId, id: webhookId }: WebhookKey,
  { status, since, until, afterSeq, keptUntil }: RedeliveryFilter,
  author: Author,
  isDry: boolean,
  answerBy?: number,
): Promise<RedeliveryStepResult | undefined> {
  const from = Math.max(since ?? 0, keptUntil + 1);
  const step = { siteId, webhookId, afterSeq: afterSeq ?? 0, from, until, statuses: JSON.stringify(status) };
  const call = runtime.uuid();
  const details = JSON.stringify({ status, since, until, after_seq: afterSeq, call });
  const source = sourceOf(status);
  const { send, outcome } = STEPS[source];
  const audited = {
    siteId: sql`${siteId}`,
    action: "webhook.redelivered" as const,
    subject: sql`${webhookId}`,
    details: sql`json_set(${details}, '$.queued', queued, '$.next_after_seq', next_after_seq)`,
  };
  const batch = () =>
    inOneBatch(db, {
      audited: isDry ? undefined : auditOf(db, author, audited, matchedBy(source, { ...step, call }), undefined),
      sent: isDry ? undefined : send(db, { ...step, now: author.now }),
      found: outcome(db, { ...step, call }),
      retries: isDry ? undefined : selectNextRetry(db, { siteId, webhookId, now: author.now }),
    });
  const {
    found: [result],
    retries: [next] = [],
  } = await withRetries(runtime, batch, answerBy);
  if (result === undefined) return undefined;
  const counts = JSON.parse(result.counts ?? "{}") as {
    matched?: number;
    queued?: number;
    next_after_seq?: number | null;
  };
  const { queued = 0, matched = queued, next_after_seq: nextAfterSeq = null } = counts;
  return { isEnabled: result.status === "enabled", matched, queued, nextAfterSeq, nextRetry: next?.at };
}
