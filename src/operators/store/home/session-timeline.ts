import { and, asc, eq, inArray, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { deliveries, events, webhooks } from "../../../core/store/event-schema.ts";
import { type Statement, statement } from "../../../core/store/statement.ts";
import { joinSpans, placesOfTimes, type TimeSpan } from "./seqs-of-times.ts";

/** This file reads the events of one session for its page. */

/**
 * How far around a second its events are looked for, in seconds. A call takes 8 s at most, so its event may come after the events of calls
 * that began up to 8 s later.
 */
const AROUND_SECONDS = 10;

const MOST_EVENTS = 50;

export interface SessionEvent {
  seq: number;
  type: string;
  createdAt: number;
}

/** A delivery of such an event to a webhook that the site still has. */
export type SessionDelivery = Awaited<ReturnType<typeof selectDeliveriesOf>>[number];

/** Reads the {@link SessionEvent}s of a session within spans of seconds, a JSON array of {@link TimeSpan}; `times` are their ends. */
const selectWithin: Statement<{ siteId: number; chatId: number; spans: string; times: string; limit: number }> =
  statement(
    (v) => sql`WITH place AS MATERIALIZED (${placesOfTimes(v)})
    SELECT ${events.seq} AS seq, ${events.type} AS type, ${events.createdAt} AS createdAt
    FROM json_each(${v.spans}) AS asked CROSS JOIN place AS first CROSS JOIN place AS past CROSS JOIN ${events}
    WHERE first.at = asked.value ->> 0 AND past.at = asked.value ->> 1
      AND ${events.siteId} = ${v.siteId} AND ${events.seq} >= first.seq AND ${events.seq} < past.seq
      AND ${events.sessionId} = ${v.chatId}
    ORDER BY ${events.seq} LIMIT ${v.limit}`,
  );

/**
 * The first events of a session, and their deliveries. They are looked for around the times of the session's changes: an index would cost
 * every call a row.
 *
 * @param times Unix seconds, the first ones first
 * @returns `isCut`: whether there may be more events: they are looked for around {@link MOST_EVENTS} times at most
 */
export async function selectTimeline(
  db: D1Database,
  siteId: number,
  chatId: number,
  times: readonly number[],
): Promise<{ events: SessionEvent[]; deliveries: SessionDelivery[]; isCut: boolean }> {
  const distinct = [...new Set(times)];
  const looked = distinct.slice(0, MOST_EVENTS);
  const spans = joinSpans(looked.map((at): TimeSpan => [at - AROUND_SECONDS, at + AROUND_SECONDS + 1]));
  const { results } = await selectWithin(db, {
    siteId,
    chatId,
    spans: JSON.stringify(spans),
    times: JSON.stringify([...new Set(spans.flat())]),
    limit: MOST_EVENTS,
  }).all<SessionEvent>();
  const seqs = results.map(({ seq }) => seq);
  const deliveriesOfEvents = seqs.length === 0 ? [] : await selectDeliveriesOf(db, siteId, seqs);
  const isCut = results.length === MOST_EVENTS || looked.length < distinct.length;
  return { events: results, deliveries: deliveriesOfEvents, isCut };
}

/** @param seqs of {@link MOST_EVENTS} events at most */
const selectDeliveriesOf = (db: D1Database, siteId: number, seqs: number[]) =>
  drizzle(db)
    .select({
      seq: deliveries.seq,
      webhookId: webhooks.id,
      url: webhooks.url,
      status: deliveries.status,
      attempts: deliveries.attempts,
      lastStatus: deliveries.lastStatus,
      lastError: deliveries.lastError,
      lastAttemptAt: deliveries.lastAttemptAt,
    })
    .from(webhooks)
    .innerJoin(
      deliveries,
      and(eq(deliveries.siteId, webhooks.siteId), eq(deliveries.webhookId, webhooks.id), inArray(deliveries.seq, seqs)),
    )
    .where(eq(webhooks.siteId, siteId))
    .orderBy(asc(deliveries.seq), asc(webhooks.createdAt))
    .all();
