import { and, asc, count, desc, eq, max } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { inOneBatch } from "../../../core/store/batch.ts";
import { customers, sessions } from "../../../core/store/schema.ts";
import { COUNT_LIMIT } from "./sessions.ts";

/** This file reads what the console shows of customers. */

const sessionsOfCustomer = (siteId: number, externalId: string) =>
  and(eq(sessions.siteId, siteId), eq(sessions.customerExternalId, externalId));

/** A customer in a list, with the newest of their sessions. */
export type CustomerRow = Awaited<ReturnType<typeof selectLatestCustomers>>[number];

/** The customers of a site's newest sessions, each once, the latest first. @param looked at how many sessions */
export function selectLatestCustomers(db: D1Database, siteId: number, looked: number, limit: number) {
  const store = drizzle(db);
  const newest = store
    .select({ id: sessions.id, customer: sessions.customerExternalId })
    .from(sessions)
    .where(eq(sessions.siteId, siteId))
    .orderBy(desc(sessions.id))
    .limit(looked)
    .as("newest");
  const newestCustomers = store
    .select({ customer: newest.customer, chatId: max(newest.id).as("chat_id") })
    .from(newest)
    .groupBy(newest.customer)
    .orderBy(desc(max(newest.id)))
    .limit(limit)
    .as("found");
  return store
    .select({
      externalId: customers.externalId,
      name: customers.name,
      chatId: sessions.id,
      autoTitle: sessions.autoTitle,
      agentTitle: sessions.agentTitle,
      createdAt: sessions.createdAt,
    })
    .from(newestCustomers)
    .innerJoin(sessions, and(eq(sessions.siteId, siteId), eq(sessions.id, newestCustomers.chatId)))
    .innerJoin(customers, and(eq(customers.siteId, siteId), eq(customers.externalId, newestCustomers.customer)))
    .orderBy(desc(sessions.id))
    .all();
}

/** The customer's id in a session; undefined when the site has no such session. */
export async function selectCustomerOf(db: D1Database, siteId: number, chatId: number): Promise<string | undefined> {
  const row = await drizzle(db)
    .select({ externalId: sessions.customerExternalId })
    .from(sessions)
    .where(and(eq(sessions.siteId, siteId), eq(sessions.id, chatId)))
    .get();
  return row?.externalId;
}

/**
 * A customer with their first and last session, the number of sessions (up to {@link COUNT_LIMIT}), and the metadata of the newest.
 *
 * @param looked how many sessions are looked at for metadata
 * @returns undefined when the site has no such customer, or the customer has no session
 */
export async function selectCustomerSummary(db: D1Database, siteId: number, externalId: string, looked: number) {
  const store = drizzle(db);
  const isOfCustomer = sessionsOfCustomer(siteId, externalId);
  const itsSessions = store
    .select({ id: sessions.id })
    .from(sessions)
    .where(isOfCustomer)
    .limit(COUNT_LIMIT)
    .as("found");
  const {
    customer: [customer],
    first: [first],
    newest,
    counts: [counts],
  } = await inOneBatch(db, {
    customer: store
      .select()
      .from(customers)
      .where(and(eq(customers.siteId, siteId), eq(customers.externalId, externalId))),
    first: store
      .select({ id: sessions.id, createdAt: sessions.createdAt })
      .from(sessions)
      .where(isOfCustomer)
      .orderBy(asc(sessions.id))
      .limit(1),
    newest: store
      .select({ id: sessions.id, createdAt: sessions.createdAt, metadata: sessions.metadata })
      .from(sessions)
      .where(isOfCustomer)
      .orderBy(desc(sessions.id))
      .limit(looked),
    counts: store.select({ sessions: count() }).from(itsSessions),
  });
  const [newestSession] = newest;
  if (customer === undefined || first === undefined || newestSession === undefined) return undefined;
  return {
    customer,
    first,
    last: newestSession,
    count: counts?.sessions ?? 0,
    metadata: newest.map(({ metadata }) => metadata ?? {}),
  };
}
