import { type SQL, sql } from "drizzle-orm";
import { inOneBatch } from "../../../core/store/batch.ts";
import { literal } from "../../../core/store/claim.ts";
import { events } from "../../../core/store/event-schema.ts";
import { participants, sessions } from "../../../core/store/schema.ts";
import { type Placeholders, type Statement, statement } from "../../../core/store/statement.ts";
import { ownersOfSessions } from "./chosen-sessions.ts";
import { joinSpans, placesOf, stretchesOf, type TimeSpan } from "./seqs-of-times.ts";

/**
 * This file finds the events of sessions without an index, because an index would cost every call a row.
 * - The event of a creation has the same second as its session. The event of added agents has the second of their rows in `participants`.
 *   `seq` rises with time, so a binary search finds the second in the log.
 * - Any other event of a session is looked for from its creation to the newest event.
 */

/** Pruning looks at this many of the oldest events of a site, or deliveries to a webhook, and deletes those that are too old. */
export const PRUNED_WINDOW = 1_000;

/** The most seconds by which an event may be out of order, so that a search in the log still finds it. */
export const SKEW_SECONDS = 60;

/** An event that is further out of order is not found by its session. */
export const FARTHEST_SECONDS = 3_600;

/**
 * How far around a second its events are looked for, in seconds: `created_at` is the clock of the isolate that took the call, and `seq` is
 * the order of the commits. A wider search follows only when a narrower one has not found all events.
 */
const AROUND_SECONDS = [2, SKEW_SECONDS, FARTHEST_SECONDS];

/** The most events that are read as one stretch to find the events of the oldest sessions, without a search for each second. */
const EVENTS_AS_ONE = 20_000;

/** Some sessions of one customer, with the lowest ids. */
export type ChosenOfCustomer = {
  siteId: number;
  externalId: string;
  /** Only sessions with a higher id. */
  after: number;
  /** Only sessions up to this id. */
  until: number;
  limit: number;
};

/** The sessions of a site with the lowest ids. */
export type ChosenOldest = {
  siteId: number;
  /** Only sessions that were created at this time or earlier, in Unix seconds. */
  createdUntil: number;
  limit: number;
};

type SessionChoice = ChosenOfCustomer | ChosenOldest;

export interface FoundEvents {
  /** The chosen sessions, ascending. */
  chatIds: number[];
  /** Whether the site may have more sessions that fit the choice. */
  hasMore: boolean;
  seqs: number[];
  /** The site's newest seq. Events above it came later, and may be of these sessions too. 0 without events or sessions. */
  newestSeq: number;
  /** How many statements it took to find them. */
  statements: number;
}

const CREATED = literal("session.created");
const AGENTS_ADDED = literal("session.agents_added");

/** The types of events that are found by their time, without reading the log. */
const LOCATED_EVENTS = ["session.created", "session.agents_added"];

/** The ids of the chosen sessions of a customer, and when they were created. */
const customerSessions = (
  v: Placeholders<ChosenOfCustomer>,
) => sql`SELECT ${sessions.id} AS id, ${sessions.createdAt} AS created_at FROM ${sessions}
  WHERE ${sessions.siteId} = ${v.siteId} AND ${sessions.customerExternalId} = ${v.externalId}
    AND ${sessions.id} > ${v.after} AND ${sessions.id} <= ${v.until} ORDER BY ${sessions.id} LIMIT ${v.limit}`;

/**
 * The ids of the oldest sessions of a site, and when they were created. The limit comes first. Otherwise a site without old sessions
 * would be read to its end.
 */
const oldestSessions = (v: Placeholders<ChosenOldest>) => sql`SELECT id, created_at FROM (
    SELECT ${sessions.id} AS id, ${sessions.createdAt} AS created_at FROM ${sessions}
    WHERE ${sessions.siteId} = ${v.siteId} ORDER BY ${sessions.id} LIMIT ${v.limit})
  WHERE created_at <= ${v.createdUntil}`;

interface LogRow {
  newestSeq: number;
  /** The time of the oldest stored event. */
  oldestAt: number;
  /** How many webhooks have deliveries, deleted ones too. */
  webhooks: number;
}

/** Reads the {@link LogRow} of a site; no row when it has no events. */
const selectLog: Statement<{ siteId: number }, LogRow> = statement(
  (v) => sql`SELECT ${events.createdAt} AS oldestAt,
      (SELECT max(seq) FROM ${events} WHERE ${events.siteId} = ${v.siteId}) AS newestSeq,
      (WITH RECURSIVE ${ownersOfSessions(v)} SELECT count(id) FROM owner) AS webhooks
    FROM ${events} WHERE ${events.siteId} = ${v.siteId} ORDER BY ${events.seq} LIMIT 1`,
);

/** Changes of a session in one second. */
interface SecondOfSession {
  id: number;
  at: number;
  /** 1 when it was created. */
  isCreation: number;
  /** How many agents joined. */
  agents: number;
}

/** The {@link SecondOfSession}s of the chosen sessions. */
const happeningsOf = (chosen: SQL, siteId: SQL) => sql`WITH chosen AS MATERIALIZED (${chosen})
    SELECT id, at, max(is_creation) AS isCreation, sum(agents) AS agents FROM (
      SELECT id, created_at AS at, 1 AS is_creation, 0 AS agents FROM chosen
      UNION ALL
      SELECT chosen.id, ${participants.addedAt}, 0, 1 FROM chosen CROSS JOIN ${participants}
      WHERE ${participants.siteId} = ${siteId} AND ${participants.sessionId} = chosen.id)
    GROUP BY id, at ORDER BY id`;

const selectOfCustomer = statement<ChosenOfCustomer, SecondOfSession>((v) =>
  happeningsOf(customerSessions(v), v.siteId),
);
const selectOldest = statement<ChosenOldest, SecondOfSession>((v) => happeningsOf(oldestSessions(v), v.siteId));

/** An event about a {@link SecondOfSession}. */
interface HappeningEvent extends SecondOfSession {
  seq: number;
}

/** Reads the {@link HappeningEvent}s of some sessions within stretches of seq: a JSON array of `[from, to]`, `to` excluded. */
const selectBetween: Statement<{ siteId: number; stretches: string; chatIds: string }> = statement(
  (
    v,
  ) => sql`SELECT ${events.seq} AS seq, ${events.sessionId} AS id, ${events.createdAt} AS at, ${events.type} = ${CREATED} AS isCreation,
      coalesce(json_array_length(${events.data}, iif(${events.type} = ${CREATED}, '$.participants', '$.agent_ids')), 0) AS agents
    FROM json_each(${v.stretches}) AS stretch CROSS JOIN ${events}
    WHERE ${events.siteId} = ${v.siteId} AND ${events.seq} >= stretch.value ->> 0 AND ${events.seq} < stretch.value ->> 1
      AND ${events.type} IN (${CREATED}, ${AGENTS_ADDED}) AND ${events.sessionId} IN (SELECT value FROM json_each(${v.chatIds}))`,
);

/** The events of some sessions from a seq on, of the types that are not found by time. */
const selectOthers: Statement<{ siteId: number; low: number; types: string; chatIds: string }> = statement(
  (v) => sql`SELECT ${events.seq} AS seq FROM ${events}
    WHERE ${events.siteId} = ${v.siteId} AND ${events.seq} >= ${v.low} AND ${events.type} IN (SELECT value FROM json_each(${v.types}))
      AND ${events.sessionId} IN (SELECT value FROM json_each(${v.chatIds}))`,
);

/**
 * Chooses sessions and finds all their events.
 *
 * @param types all types of events that sessions have
 * @param mostRows the most participants and deliveries of the sessions together; the first session is chosen in any case
 */
export async function findEvents(
  db: D1Database,
  sessionChoice: SessionChoice,
  types: readonly string[],
  mostRows = Number.POSITIVE_INFINITY,
): Promise<FoundEvents> {
  const { siteId, limit } = sessionChoice;
  const select = "externalId" in sessionChoice ? selectOfCustomer(db, sessionChoice) : selectOldest(db, sessionChoice);
  const {
    log: [log],
    happened,
  } = await inOneBatch(db, { log: selectLog(db, { siteId }), happened: select });
  const happenings = [...Map.groupBy(happened, ({ id }) => id)];
  const rows = happenings.map(([, each]) => rowsOf(each, log));
  const chosenSessions = happenings.slice(0, fittingOf(rows, mostRows));
  const ids = chosenSessions.map(([id]) => id);
  const hasMore = ids.length < happenings.length || happenings.length === limit;
  const foundEvents = { chatIds: ids, hasMore, seqs: [], newestSeq: 0, statements: 2 };
  if (log === undefined || ids.length === 0) return foundEvents;
  const chatIds = JSON.stringify(ids);
  const seqs = new Set<number>();
  let { statements } = foundEvents;
  const isOfOldest = !("externalId" in sessionChoice);
  const happenedTo = chosenSessions.flatMap(([, each]) => each);
  let missing = happenedTo;
  for (const around of AROUND_SECONDS) {
    const since = log.oldestAt - (isOfOldest ? farthestOfOldest(around) : FARTHEST_SECONDS);
    // Events of earlier times were pruned.
    const secondsToLocate = missing.filter(({ at }) => at >= since);
    if (secondsToLocate.length === 0) continue;
    const place = await locateEvents(db, siteId, secondsToLocate, around, isOfOldest);
    statements += place.statements + 1;
    const between = selectBetween(db, { siteId, stretches: place.stretches, chatIds });
    const { results } = await between.all<HappeningEvent>();
    for (const { seq } of results) seqs.add(seq);
    const eventsByHappening = Map.groupBy(results, keyOf);
    missing = missing.filter((each) => !hasEvent(each, eventsByHappening.get(keyOf(each)) ?? []));
  }
  const otherTypes = types.filter((type) => !LOCATED_EVENTS.includes(type));
  if (otherTypes.length > 0) {
    statements += 2;
    const from = Math.min(...happenedTo.map(({ at }) => at)) - FARTHEST_SECONDS;
    const low = (await placesOf(db, siteId, [from])).get(from) ?? 0;
    const selectOtherEvents = selectOthers(db, { siteId, low, types: JSON.stringify(otherTypes), chatIds });
    for (const { seq } of (await selectOtherEvents.all<{ seq: number }>()).results) seqs.add(seq);
  }
  return { ...foundEvents, seqs: [...seqs], newestSeq: log.newestSeq, statements };
}

/** About how many participants and deliveries a session has: events of one second count as one. */
function rowsOf(happenings: SecondOfSession[], log: LogRow | undefined): number {
  const participants = happenings.reduce((sum, { agents }) => sum + agents, 0);
  if (log === undefined) return participants;
  return participants + happenings.filter(({ at }) => at >= log.oldestAt).length * log.webhooks;
}

/** How many of the first sessions have at most `most` rows together, but at least one. */
function fittingOf(rows: number[], most: number): number {
  let sum = 0;
  const tooMany = rows.findIndex((count) => {
    sum += count;
    return sum > most;
  });
  return tooMany < 0 ? rows.length : Math.max(1, tooMany);
}

const keyOf = ({ id, at }: SecondOfSession): string => `${id}/${at}`;

/** Whether these events cover all changes of a session in a second. */
const hasEvent = ({ isCreation, agents }: SecondOfSession, events: HappeningEvent[]): boolean =>
  events.reduce((sum, each) => sum + each.agents, 0) >= agents &&
  (isCreation === 0 || events.some((each) => each.isCreation));

/**
 * How far before the oldest stored event the events of the oldest sessions are looked for. When sessions are kept as long as events, the
 * events of most deleted sessions were just pruned: looking an hour back for them would read the first hour of the log for each batch. An
 * event that is further behind is too old anyway, so pruning deletes it.
 */
const farthestOfOldest = (around: number): number => (around > SKEW_SECONDS ? 0 : around);

/**
 * The stretches of seq around some changes, as JSON.
 *
 * @param isOfOldest the sessions are the oldest of their site. Then nearly all events from the first creation to the last are theirs, and a
 *   search for each second would read more rows than these events
 */
async function locateEvents(
  db: D1Database,
  siteId: number,
  happened: SecondOfSession[],
  around: number,
  isOfOldest: boolean,
): Promise<{ stretches: string; statements: number }> {
  const spanOf = (at: number, until = at): TimeSpan => [at - around, until + around + 1];
  const each = joinSpans(happened.map(({ at }) => spanOf(at)));
  const created = happened.filter(({ isCreation }) => isCreation).map(({ at }) => at);
  const hasCreation = isOfOldest && created.length > 0;
  const spans = hasCreation ? joinSpans([spanOf(Math.min(...created), Math.max(...created)), ...each]) : each;
  const stretches = await stretchesOf(db, siteId, spans);
  const events = stretches.reduce((sum, [from, to]) => sum + to - from, 0);
  if (!hasCreation || events <= EVENTS_AS_ONE) return { stretches: JSON.stringify(stretches), statements: 1 };
  return { stretches: JSON.stringify(await stretchesOf(db, siteId, each)), statements: 2 };
}
