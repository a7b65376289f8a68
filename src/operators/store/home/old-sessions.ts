import { sql } from "drizzle-orm";
import { inOneBatch } from "../../../core/store/batch.ts";
import { deliveries, events } from "../../../core/store/event-schema.ts";
import { customers, homeSites, messages, participants, sessions } from "../../../core/store/schema.ts";
import { type Placeholders, type Statement, statement } from "../../../core/store/statement.ts";
import { siteDeletions } from "../erasure-schema.ts";
import {
  type ChosenSessions,
  isChosenSession,
  isOfDeliveries,
  isOfEvents,
  isOfSessions,
  itsEvents,
  raiseFloor,
} from "./chosen-sessions.ts";
import { selectCustomersOf } from "./erasures.ts";
import { findEvents } from "./events-of-sessions.ts";

/**
 * This file deletes the oldest sessions of a site, with all that belongs to them: those older than the site's retention, or all of a
 * deleted site. All statements may run twice: they name the sessions, and an id is never given again.
 */

/** How many sessions one batch deletes. D1 runs one statement at a time, so a longer batch would delay signed calls. */
export const SESSIONS_PER_BATCH = 200;

/**
 * The most participants and deliveries of the sessions of a batch: a session may have 150 participants, and each of its events has a
 * delivery for each webhook.
 */
const MOST_ROWS = 1_000;

export interface OldSessions {
  siteId: number;
  /** The name of the home. The database of `main` is also the directory, which has other homes' deletions too. */
  home: string;
  /** The site's retention, as it was read: if it has changed, nothing is deleted. Null when the site is deleted. */
  retentionDays: number | null;
  /** Unix seconds. Sessions created at this time or earlier are deleted. */
  createdUntil: number;
}

/** The values that the statements of a removal bind. */
type RemovalValues = ChosenSessions & {
  home: string;
  retentionDays: number | null;
  /** The highest id of the sessions. */
  lastChatId: number;
  /** The external ids of the sessions' customers, as a JSON array. */
  externalIds: string;
};

type V = Placeholders<RemovalValues>;

/** Condition: the site's retention is the one that was read, or the site is being deleted. */
const mayDeleteSessions = (v: V) => sql`EXISTS (SELECT 1 FROM ${homeSites} WHERE ${homeSites.siteId} = ${v.siteId}
  AND (${homeSites.retentionDays} = ${v.retentionDays}
    OR EXISTS (SELECT 1 FROM ${siteDeletions} WHERE ${siteDeletions.siteId} = ${v.siteId} AND ${siteDeletions.home} = ${v.home} AND ${siteDeletions.keptAt} IS NOT NULL)))`;

const deleteDeliveries: Statement<RemovalValues> = statement(
  (v) => sql`DELETE FROM ${deliveries} WHERE ${mayDeleteSessions(v)} AND ${isOfDeliveries(v)}`,
);

/** This must come before the site's newest event is deleted: otherwise its seq would be given again. */
const raiseSeqFloor: Statement<RemovalValues> = statement(
  (
    v,
  ) => sql`UPDATE ${homeSites} SET event_seq_floor = (SELECT max(seq) FROM ${events} WHERE ${events.siteId} = ${v.siteId})
    WHERE ${homeSites.siteId} = ${v.siteId} AND ${mayDeleteSessions(v)}
      AND (SELECT max(seq) FROM ${events} WHERE ${events.siteId} = ${v.siteId}) IN (WITH ${itsEvents(v)} SELECT seq FROM its_events)
      AND ${homeSites.eventSeqFloor} < (SELECT max(seq) FROM ${events} WHERE ${events.siteId} = ${v.siteId})`,
);

const deleteEvents: Statement<RemovalValues> = statement(
  (v) => sql`DELETE FROM ${events} WHERE ${mayDeleteSessions(v)} AND ${isOfEvents(v)}`,
);

const deleteParticipants: Statement<RemovalValues> = statement(
  (v) => sql`DELETE FROM ${participants} WHERE ${mayDeleteSessions(v)} AND ${isOfSessions(v, participants)}`,
);

const deleteMessages: Statement<RemovalValues> = statement(
  (v) => sql`DELETE FROM ${messages} WHERE ${mayDeleteSessions(v)} AND ${isOfSessions(v, messages)}`,
);

const keepIds: Statement<RemovalValues> = statement((v) => raiseFloor(v, mayDeleteSessions(v)));

const deleteSessions: Statement<RemovalValues, { id: number }> = statement(
  (v) =>
    sql`DELETE FROM ${sessions} WHERE ${mayDeleteSessions(v)} AND ${isChosenSession(v)} RETURNING ${sql.identifier(sessions.id.name)}`,
);

const deleteCustomers: Statement<RemovalValues> = statement(
  (v) => sql`DELETE FROM ${customers} WHERE ${mayDeleteSessions(v)}
    AND ${customers.siteId} = ${v.siteId} AND ${customers.externalId} IN (SELECT value FROM json_each(${v.externalIds}))
    AND NOT EXISTS (SELECT 1 FROM ${sessions}
      WHERE ${sessions.siteId} = ${customers.siteId} AND ${sessions.customerExternalId} = ${customers.externalId})`,
);

/** Some sessions to delete, and what belongs to them. */
export type FoundSessions = RemovalValues;

/** The result of a search. */
interface FoundOldSessions {
  /** Undefined when no session is to be deleted. */
  foundSessions: FoundSessions | undefined;
  /** Whether there may be more of them. */
  hasMore: boolean;
  /** How many statements it took. */
  statements: number;
}

/**
 * Finds the oldest sessions for the next batch, with their events and customers.
 *
 * @param types all types of events that sessions have
 */
export async function findOldSessions(
  db: D1Database,
  { siteId, home, retentionDays, createdUntil }: OldSessions,
  types: readonly string[],
): Promise<FoundOldSessions> {
  const sessionChoice = { siteId, createdUntil, limit: SESSIONS_PER_BATCH };
  const { chatIds, seqs, newestSeq, hasMore, statements } = await findEvents(db, sessionChoice, types, MOST_ROWS);
  const lastChatId = chatIds.at(-1);
  if (lastChatId === undefined) return { foundSessions: undefined, hasMore: false, statements };
  const externalIds = await selectCustomersOf(db, siteId, chatIds);
  const lists = { chatIds, seqs, externalIds: [...externalIds] };
  const asJson = Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, JSON.stringify(list)]));
  const foundSessions = {
    siteId,
    home,
    retentionDays,
    newestSeq,
    lastChatId,
    ...(asJson as Record<keyof typeof lists, string>),
  };
  return { foundSessions, hasMore, statements: statements + 1 };
}

/** The number of statements in the batch of {@link removeOldSessions}. */
export const STATEMENTS_OF_REMOVAL_BATCH = 8;

/** Deletes sessions that were found. @returns how many: none when the retention has changed */
export async function removeOldSessions(db: D1Database, foundSessions: FoundSessions): Promise<number> {
  const removed = await inOneBatch(db, {
    deliveries: deleteDeliveries(db, foundSessions),
    seqFloor: raiseSeqFloor(db, foundSessions),
    events: deleteEvents(db, foundSessions),
    participants: deleteParticipants(db, foundSessions),
    messages: deleteMessages(db, foundSessions),
    idFloor: keepIds(db, foundSessions),
    sessions: deleteSessions(db, foundSessions),
    customers: deleteCustomers(db, foundSessions),
  });
  return removed.sessions.length;
}
