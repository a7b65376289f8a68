import { type SQL, sql } from "drizzle-orm";
import { deliveries, events } from "../../../core/store/event-schema.ts";
import { homeSites, type messages, type participants, sessions } from "../../../core/store/schema.ts";
import type { Placeholders } from "../../../core/store/statement.ts";

/** This file selects what belongs to some sessions of a site, for the statements that delete it. */

/** The values that these conditions bind. */
export type ChosenSessions = {
  siteId: number;
  /** The sessions, as a JSON array. */
  chatIds: string;
  /** The seqs of the sessions' events, as a JSON array. There may be more events above `newestSeq`. */
  seqs: string;
  newestSeq: number;
};

type V = Placeholders<ChosenSessions>;

const CHAT_IDS = (v: V) => sql`(SELECT value FROM json_each(${v.chatIds}))`;

/** A part of WITH: the events of the sessions, also events that came after `seqs` was read. */
export const itsEvents = (v: V): SQL => sql`its_events(seq) AS MATERIALIZED (SELECT value FROM json_each(${v.seqs})
    UNION SELECT seq FROM ${events} WHERE ${events.siteId} = ${v.siteId} AND ${events.seq} > ${v.newestSeq} AND ${events.sessionId} IN ${CHAT_IDS(v)})`;

const nextOwner = (v: Pick<V, "siteId">, after: SQL) => sql`(SELECT next.webhook_id FROM ${deliveries} AS next
  WHERE next.site_id = ${v.siteId} AND next.webhook_id > ${after} ORDER BY next.webhook_id LIMIT 1)`;

/** A part of WITH RECURSIVE: every webhook that has deliveries, also a deleted one. The recursion jumps from one to the next in the key. */
export const ownersOfSessions = (v: Pick<V, "siteId">): SQL =>
  sql`owner(id) AS (SELECT ${nextOwner(v, sql`''`)} UNION ALL SELECT ${nextOwner(v, sql`owner.id`)} FROM owner WHERE owner.id IS NOT NULL)`;

/** A SELECT of the deliveries of these events. */
export const itsDeliveries = (v: V): SQL => sql`WITH RECURSIVE ${itsEvents(v)}, ${ownersOfSessions(v)}
  SELECT its.site_id AS site_id, its.webhook_id AS webhook_id, its.seq AS seq, its.status AS status, its.last_attempt_at AS last_attempt_at
  FROM owner CROSS JOIN its_events CROSS JOIN ${deliveries} AS its
  WHERE its.site_id = ${v.siteId} AND its.webhook_id = owner.id AND its.seq = its_events.seq`;

/** Condition: a delivery is of these events. */
export const isOfDeliveries = (v: V): SQL =>
  sql`(${deliveries.siteId}, ${deliveries.webhookId}, ${deliveries.seq}) IN (SELECT site_id, webhook_id, seq FROM (${itsDeliveries(v)}))`;

/** Condition: an event is of these sessions. */
export const isOfEvents = (v: V): SQL => sql`${events.siteId} = ${v.siteId}
  AND ${events.seq} IN (WITH ${itsEvents(v)} SELECT seq FROM its_events)`;

export const isOfSessions = (v: V, table: typeof messages | typeof participants): SQL =>
  sql`${table.siteId} = ${v.siteId} AND ${table.sessionId} IN ${CHAT_IDS(v)}`;

/**
 * An UPDATE that must come before the site's newest sessions are deleted: otherwise their ids would be given again.
 *
 * @param condition of the write that deletes the sessions
 */
export const raiseFloor = (
  v: Placeholders<ChosenSessions & { lastChatId: number }>,
  condition: SQL,
): SQL => sql`UPDATE ${homeSites} SET chat_id_floor = ${v.lastChatId}
    WHERE ${homeSites.siteId} = ${v.siteId} AND ${homeSites.chatIdFloor} < ${v.lastChatId} AND ${condition}
      AND NOT EXISTS (SELECT 1 FROM ${sessions} WHERE ${sessions.siteId} = ${v.siteId} AND ${sessions.id} > ${v.lastChatId})`;

export const isChosenSession = (v: V): SQL =>
  sql`${sessions.siteId} = ${v.siteId} AND ${sessions.id} IN ${CHAT_IDS(v)}`;
