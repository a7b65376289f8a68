import { and, getTableColumns, sql } from "drizzle-orm";
import type { Runtime } from "../../../core/runtime.ts";
import { inOneBatch } from "../../../core/store/batch.ts";
import { literal } from "../../../core/store/claim.ts";
import { deliveries, events, SESSION_ERASED, webhooks } from "../../../core/store/event-schema.ts";
import { withRetries } from "../../../core/store/run-batch.ts";
import { customers, homeSites, messages, participants, sessions } from "../../../core/store/schema.ts";
import { type Placeholders, type Statement, statement } from "../../../core/store/statement.ts";
import { eventPart, takesEvent } from "../../../events/store/webhook-events.ts";
import { type Author, auditOf, CHANGED } from "../audit.ts";
import { erasures, siteDeletions } from "../erasure-schema.ts";
import {
  type ChosenSessions,
  isChosenSession,
  isOfDeliveries,
  isOfEvents,
  isOfSessions,
  itsDeliveries,
  ownersOfSessions,
  raiseFloor,
} from "./chosen-sessions.ts";
import type { Erasure, OpenErasure } from "./erasures.ts";
import { type FoundEvents, findEvents, PRUNED_WINDOW } from "./events-of-sessions.ts";

/**
 * A step of an erasure deletes some sessions with all that belongs to them, in one batch. The first statement moves the erasure on to this
 * step. Every other statement requires that this very try did so. So a second or late try changes nothing, and counts nothing twice.
 */

/** How many sessions one step deletes. D1 runs one statement at a time, so a longer batch would delay signed calls. */
export const SESSIONS_PER_STEP = 250;

/** The values that the statements of a step bind. */
type EraseStepValues = ChosenSessions &
  Pick<OpenErasure, "hash" | "id" | "step" | "externalId" | "until"> & {
    /** The id of the try. */
    madeBy: string;
    /** The highest id of the sessions. */
    lastChatId: number;
    /** The id of the event about the step. */
    eventId: string;
    /** Unix seconds. */
    now: number;
  };

type V = Placeholders<EraseStepValues>;

const isErasure = (v: { [Name in "siteId" | "hash" | "id"]: unknown }) =>
  sql`${erasures.siteId} = ${v.siteId} AND ${erasures.hash} = ${v.hash} AND ${erasures.id} = ${v.id}`;

/** Condition: this very try has moved the erasure on to this step. */
const isMine = (v: V) =>
  sql`EXISTS (SELECT 1 FROM ${erasures} WHERE ${isErasure(v)} AND ${erasures.step} = ${v.step} + 1 AND ${erasures.madeBy} = ${v.madeBy})`;

const moveErasureOn: Statement<EraseStepValues> = statement(
  (v) => sql`UPDATE ${erasures} SET step = step + 1, made_by = ${v.madeBy}
    WHERE ${isErasure(v)} AND ${erasures.step} = ${v.step} AND ${erasures.doneAt} IS NULL
      AND ${erasures.until} = ${v.until} AND ${erasures.listedTo} >= ${erasures.until}`,
);

const isEventWithData = (v: V) => sql`${isOfEvents(v)} AND ${events.data} IS NOT NULL`;

/** Counts what the step will erase, which webhooks have received it, and which webhooks get an event about it. */
const count: Statement<EraseStepValues> = statement(
  (v) => sql`UPDATE ${erasures} SET
      sessions = sessions + (SELECT count(*) FROM ${sessions} WHERE ${isChosenSession(v)}),
      messages = messages + (SELECT count(*) FROM ${messages} WHERE ${isOfSessions(v, messages)}),
      participants = participants + (SELECT count(*) FROM ${participants} WHERE ${isOfSessions(v, participants)}),
      events = events + (SELECT count(*) FROM ${events} WHERE ${isEventWithData(v)}),
      deliveries = deliveries + (SELECT count(*) FROM (${itsDeliveries(v)}) WHERE status IN ('pending', 'failed')),
      webhooks = (SELECT json_group_object(id, json_object('delivered', delivered, 'attempted', attempted, 'told', told)) FROM (
        SELECT id, sum(delivered) AS delivered, sum(attempted) AS attempted, sum(told) AS told FROM (
          SELECT key AS id, value ->> 'delivered' AS delivered, value ->> 'attempted' AS attempted, value ->> 'told' AS told
          FROM json_each(${erasures.webhooks})
          UNION ALL
          SELECT webhook_id, status = 'delivered', status <> 'delivered' AND last_attempt_at IS NOT NULL, 0 FROM (${itsDeliveries(v)})
          UNION ALL
          SELECT ${webhooks.id}, 0, 0, (SELECT count(*) FROM ${sessions} WHERE ${isChosenSession(v)})
          FROM ${webhooks} JOIN ${homeSites} ON ${homeSites.siteId} = ${webhooks.siteId} AND ${homeSites.events}
          WHERE ${takesEvent({ siteId: v.siteId, type: literal(SESSION_ERASED) })})
        GROUP BY id))
    WHERE ${isErasure(v)} AND ${isMine(v)}`,
);

/** Condition: nothing of the site is deleted yet. When its events are deleted, a new event would get the seq of an old one. */
const isNotEnding = (v: V) => sql`NOT EXISTS (SELECT 1 FROM ${siteDeletions}
  WHERE ${siteDeletions.siteId} = ${v.siteId} AND ${siteDeletions.keptAt} IS NOT NULL)`;

/** Tells receivers, so that they can erase too. */
const erasedEvent = eventPart<EraseStepValues>(
  SESSION_ERASED,
  ({ chatIds }) => ({ chat_ids: sql`json(${chatIds})` }),
  (v) => sql`${isMine(v)} AND ${isNotEnding(v)}`,
);

/** Ends deliveries that were not made yet. An attempt in flight loses its lease, so that its failure is not recorded. */
const skipDeliveries: Statement<EraseStepValues> = statement(
  (v) => sql`UPDATE ${deliveries} SET last_error = NULL,
      status = CASE WHEN status IN ('pending', 'failed') THEN 'skipped' ELSE status END, next_attempt_at = NULL, claim = NULL
    WHERE ${isOfDeliveries(v)} AND (status IN ('pending', 'failed') OR last_error IS NOT NULL) AND ${isMine(v)}`,
);

const eraseEvents: Statement<EraseStepValues> = statement(
  (v) => sql`UPDATE ${events} SET data = NULL WHERE ${isEventWithData(v)} AND ${isMine(v)}`,
);

const deleteParticipants: Statement<EraseStepValues> = statement(
  (v) => sql`DELETE FROM ${participants} WHERE ${isOfSessions(v, participants)} AND ${isMine(v)}`,
);

const deleteMessages: Statement<EraseStepValues> = statement(
  (v) => sql`DELETE FROM ${messages} WHERE ${isOfSessions(v, messages)} AND ${isMine(v)}`,
);

const keepIds: Statement<EraseStepValues> = statement((v) => raiseFloor(v, isMine(v)));

const deleteSessions: Statement<EraseStepValues> = statement(
  (v) => sql`DELETE FROM ${sessions} WHERE ${isChosenSession(v)} AND ${isMine(v)}`,
);

/** Erases the errors of deliveries whose events were pruned: nobody knows whose they were. Pruning leaves gaps among the oldest events. */
const forgetPruned: Statement<EraseStepValues> = statement(
  (v) => sql`UPDATE ${deliveries} SET last_error = NULL
    WHERE (${deliveries.siteId}, ${deliveries.webhookId}, ${deliveries.seq}) IN (WITH RECURSIVE ${ownersOfSessions(v)}
      SELECT old.site_id, old.webhook_id, old.seq FROM owner CROSS JOIN ${deliveries} AS old
      WHERE old.site_id = ${v.siteId} AND old.webhook_id = owner.id AND old.last_error IS NOT NULL
        AND old.seq < (SELECT min(seq) FROM ${events} WHERE ${events.siteId} = ${v.siteId}) + ${sql.raw(String(PRUNED_WINDOW))}
        AND NOT EXISTS (SELECT 1 FROM ${events} WHERE ${events.siteId} = ${v.siteId} AND ${events.seq} = old.seq))
      AND ${isMine(v)}`,
);

const isCustomer = (v: V) => sql`${customers.siteId} = ${v.siteId} AND ${customers.externalId} = ${v.externalId}`;
const isSessionOfCustomer = (v: V) =>
  sql`${sessions.siteId} = ${v.siteId} AND ${sessions.customerExternalId} = ${v.externalId}`;

const deleteCustomer: Statement<EraseStepValues> = statement(
  (v) => sql`DELETE FROM ${customers} WHERE ${isCustomer(v)} AND ${isMine(v)}
    AND NOT EXISTS (SELECT 1 FROM ${sessions} WHERE ${isSessionOfCustomer(v)})`,
);

/** When the customer has newer sessions, the customer stays, as if the oldest of them were their first. */
const renewCustomer: Statement<EraseStepValues> = statement(
  (v) => sql`UPDATE ${customers} SET created_at = (
      SELECT ${sessions.createdAt} FROM ${sessions} WHERE ${isSessionOfCustomer(v)} ORDER BY ${sessions.id} LIMIT 1)
    WHERE ${isCustomer(v)} AND ${isMine(v)} AND EXISTS (SELECT 1 FROM ${sessions} WHERE ${isSessionOfCustomer(v)})`,
);

const endErasure: Statement<EraseStepValues> = statement(
  (v) => sql`UPDATE ${erasures} SET done_at = ${v.now}, external_id = NULL WHERE ${isErasure(v)} AND ${isMine(v)}
    AND NOT EXISTS (SELECT 1 FROM ${sessions} WHERE ${isSessionOfCustomer(v)} AND ${sessions.id} <= ${v.until})`,
);

const AUDITED = {
  siteId: erasures.siteId,
  action: "customer.erased" as const,
  subject: erasures.id,
  details: sql`json_object('hash', ${erasures.hash}, 'sessions', sessions, 'messages', messages, 'participants', participants, 'events', events, 'deliveries', deliveries)`,
};

const COLUMNS = sql.join(
  Object.entries(getTableColumns(erasures)).map(([name, column]) => sql`${column} AS ${sql.identifier(name)}`),
  sql`, `,
);
const selectNow: Statement<EraseStepValues, Omit<Erasure, "webhooks"> & { webhooks: string }> = statement(
  (v) => sql`SELECT ${COLUMNS} FROM ${erasures} WHERE ${isErasure(v)}`,
);

const ERASING = [skipDeliveries, eraseEvents, deleteParticipants, deleteMessages, keepIds, deleteSessions];
const ENDING_WRITES = [deleteCustomer, renewCustomer, forgetPruned, endErasure];

/** The tables whose erased rows are counted. */
export const ERASED = ["sessions", "messages", "participants", "events", "deliveries"] as const;

export type ErasedRows = Record<(typeof ERASED)[number], number>;

/** The sessions that the next step erases, and their events. @param types see {@link findEvents} */
export function findStep(
  runtime: Runtime,
  db: D1Database,
  { siteId, externalId, until }: OpenErasure,
  types: readonly string[],
  answerBy: number,
): Promise<FoundEvents> {
  const sessionChoice = { siteId, externalId, after: 0, until, limit: SESSIONS_PER_STEP };
  return withRetries(runtime, () => findEvents(db, sessionChoice, types), answerBy);
}

/** The result of a step. */
interface EraseStepResult {
  /** The erasure as it is now; undefined when the home does not have it any more. */
  erasure: Erasure | undefined;
  /** The rows that this step has erased; none when another call made the step. */
  erased: ErasedRows;
  /** The webhooks that get an event. */
  toldWebhooks: string[];
}

/**
 * Erases up to {@link SESSIONS_PER_STEP} sessions. With the last session it erases the customer and ends the erasure. Erases nothing unless
 * the receipts name all sessions.
 *
 * @param erasure as it was read last
 * @param found the sessions of the step: see {@link findStep}
 * @param eventId of the event that tells receivers
 * @param answerBy see {@link withRetries}
 */
export async function eraseStep(
  runtime: Runtime,
  db: D1Database,
  erasure: OpenErasure,
  { chatIds, seqs, newestSeq }: FoundEvents,
  eventId: string,
  author: Author,
  answerBy?: number,
): Promise<EraseStepResult> {
  const { siteId, hash, id, step, externalId, until } = erasure;
  const isLast = chatIds.length < SESSIONS_PER_STEP || erasure.sessions + chatIds.length >= erasure.total;
  const values = {
    siteId,
    hash,
    id,
    step,
    externalId,
    until,
    newestSeq,
    eventId,
    now: author.now,
    chatIds: JSON.stringify(chatIds),
    lastChatId: chatIds.at(-1) ?? 0,
    seqs: JSON.stringify(seqs),
  };
  const {
    now: [now],
    event,
  } = await withRetries(
    runtime,
    (attempt) => {
      const bound = { ...values, madeBy: `${author.requestId}:${attempt}` };
      const hasSessions = chatIds.length > 0;
      const bindWrites = (writes: readonly Statement<EraseStepValues>[]) => writes.map((write) => write(db, bound));
      return inOneBatch(db, {
        moved: moveErasureOn(db, bound),
        counted: hasSessions ? count(db, bound) : undefined,
        event: hasSessions ? erasedEvent(db, bound) : undefined,
        erased: hasSessions ? bindWrites(ERASING) : undefined,
        ended: isLast ? bindWrites(ENDING_WRITES) : undefined,
        // This must come right after the statement that ends the erasure.
        audited: isLast ? auditOf(db, author, AUDITED, erasures, and(isErasure(bound), CHANGED)) : undefined,
        now: selectNow(db, bound),
      });
    },
    answerBy,
  );
  const isOurs = now?.step === step + 1 && now.madeBy?.startsWith(`${author.requestId}:`) === true;
  const erased = Object.fromEntries(ERASED.map((what) => [what, isOurs ? now[what] - erasure[what] : 0])) as ErasedRows;
  return {
    erasure: now && { ...now, webhooks: JSON.parse(now.webhooks) as Erasure["webhooks"] },
    erased,
    toldWebhooks: event?.recipients.map(({ webhook }) => webhook) ?? [],
  };
}
