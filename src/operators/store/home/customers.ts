import { and, asc, eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { inOneBatch } from "../../../core/store/batch.ts";
import { events } from "../../../core/store/event-schema.ts";
import { customers, messages, participants, sessions } from "../../../core/store/schema.ts";
import { eachRow } from "../json-rows.ts";
import { type ChosenOfCustomer, findEvents } from "./events-of-sessions.ts";

const isCustomer = (siteId: number, externalId: string) =>
  and(eq(customers.siteId, siteId), eq(customers.externalId, externalId));

/** A customer without their sessions. */
export const selectCustomerRow = (db: D1Database, siteId: number, externalId: string) =>
  drizzle(db).select().from(customers).where(isCustomer(siteId, externalId)).get();

/** All that is stored of a customer, by pages of sessions. `chatIds`: the sessions of the page; an erasure may delete some meanwhile. */
export type StoredCustomer = NonNullable<Awaited<ReturnType<typeof selectCustomer>>>;

/**
 * Reads a customer with some of their sessions, the oldest first, and the events of these.
 *
 * @param sessionChoice `after`: only sessions with a higher id; `limit`: of sessions
 * @param types see {@link findEvents}
 * @returns undefined when the site has no such customer
 */
export async function selectCustomer(
  db: D1Database,
  sessionChoice: Omit<ChosenOfCustomer, "until">,
  types: readonly string[],
) {
  const { siteId, externalId } = sessionChoice;
  const foundEvents = await findEvents(db, { ...sessionChoice, until: Number.MAX_SAFE_INTEGER }, types);
  const store = drizzle(db);
  const ids = sql`(SELECT value FROM ${eachRow(foundEvents.chatIds)})`;
  const seqs = sql`(SELECT value FROM ${eachRow(foundEvents.seqs)})`;
  const {
    customer: [customer],
    ...rows
  } = await inOneBatch(db, {
    customer: store.select().from(customers).where(isCustomer(siteId, externalId)),
    sessions: store
      .select()
      .from(sessions)
      .where(
        and(eq(sessions.siteId, siteId), eq(sessions.customerExternalId, externalId), sql`${sessions.id} IN ${ids}`),
      )
      .orderBy(asc(sessions.id)),
    participants: store
      .select()
      .from(participants)
      .where(and(eq(participants.siteId, siteId), sql`${participants.sessionId} IN ${ids}`))
      .orderBy(asc(participants.sessionId), asc(participants.agentId)),
    messages: store
      .select()
      .from(messages)
      .where(and(eq(messages.siteId, siteId), sql`${messages.sessionId} IN ${ids}`))
      .orderBy(asc(messages.sessionId), asc(messages.seq)),
    events: store
      .select()
      .from(events)
      .where(and(eq(events.siteId, siteId), sql`${events.seq} IN ${seqs}`))
      .orderBy(asc(events.seq)),
  });
  return customer && { customer, chatIds: foundEvents.chatIds, ...rows };
}
