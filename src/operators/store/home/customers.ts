import { and, asc, eq, exists, gt, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { inOneBatch } from "../../../core/store/batch.ts";
import { events } from "../../../core/store/event-schema.ts";
import { customers, messages, participants, sessions } from "../../../core/store/schema.ts";
import { eachRow } from "../json-rows.ts";
import type { CustomerRow } from "./customer-summary.ts";
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

/** A search looks at this many customers for one page. */
export const CUSTOMERS_READ = 10_000;

/**
 * The customers with a session whose name begins with a text, in the order of their ids. Capitals A to Z count as small letters. Walks the
 * primary key, because an index on names would cost every creation of a session a row.
 *
 * @param after the id after which the search starts
 * @returns `next`: the id after which the next page starts; `isFull`: whether it is of a customer who was found, and not the last of
 *   {@link CUSTOMERS_READ}
 */
export async function selectNamedCustomers(
  db: D1Database,
  siteId: number,
  beginning: string,
  after: string,
  limit: number,
): Promise<{ rows: CustomerRow[]; next: string | null; isFull: boolean }> {
  const store = drizzle(db);
  const isOfSite = and(eq(customers.siteId, siteId), gt(customers.externalId, after));
  const columns = { externalId: customers.externalId, name: customers.name };
  const walk = () => store.select(columns).from(customers).where(isOfSite).orderBy(asc(customers.externalId));
  const looked = walk().limit(CUSTOMERS_READ).as("looked");
  const isOfCustomer = and(eq(sessions.siteId, siteId), eq(sessions.customerExternalId, looked.externalId));
  const named = store
    .select()
    .from(looked)
    .where(
      and(
        sql`instr(lower(${looked.name}), lower(${beginning})) = 1`,
        exists(store.select({ id: sessions.id }).from(sessions).where(isOfCustomer)),
      ),
    )
    .orderBy(asc(looked.externalId))
    .limit(limit + 1)
    .as("found");
  const newest = sql`(SELECT max(id) FROM ${sessions} AS newest WHERE newest.site_id = ${siteId}
    AND newest.customer_external_id = ${named.externalId})`;
  // Both queries are in one batch: otherwise a customer who is added in between would move the end of what was looked at.
  const {
    found,
    end: [end],
  } = await inOneBatch(db, {
    found: store
      .select({
        externalId: named.externalId,
        name: named.name,
        chatId: sessions.id,
        autoTitle: sessions.autoTitle,
        agentTitle: sessions.agentTitle,
        createdAt: sessions.createdAt,
      })
      .from(named)
      .innerJoin(sessions, and(eq(sessions.siteId, siteId), eq(sessions.id, newest)))
      .orderBy(asc(named.externalId)),
    end: walk()
      .limit(1)
      .offset(CUSTOMERS_READ - 1),
  });
  const rows = found.slice(0, limit);
  const isFull = found.length > limit;
  return { rows, next: (isFull ? rows.at(-1)?.externalId : end?.externalId) ?? null, isFull };
}
