import { and, asc, between, eq, gt, notExists, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { alias } from "drizzle-orm/sqlite-core";
import { inOneBatch } from "../../../core/store/batch.ts";
import { customers, messages, participants, sessions } from "../../../core/store/schema.ts";

/** Sessions with all that belongs to them, and the customers whose first session is among them. */
export interface ExportedSessions {
  /** The ids of the part; an erasure may delete some of these sessions meanwhile. */
  ids: number[];
  sessions: (typeof sessions.$inferSelect)[];
  customers: (Pick<Customer, "externalId" | "name" | "ip" | "createdAt" | "updatedAt"> & { firstChatId: number })[];
  participants: (typeof participants.$inferSelect)[];
  messages: (typeof messages.$inferSelect)[];
}

type Customer = typeof customers.$inferSelect;

export const NO_SESSIONS: ExportedSessions = { ids: [], sessions: [], customers: [], participants: [], messages: [] };

const earlier = alias(sessions, "earlier");

/** The ids of a site's sessions above `after`, in their order. */
export async function selectSessionIds(
  db: D1Database,
  siteId: number,
  after: number,
  limit: number,
): Promise<number[]> {
  const rows = await drizzle(db)
    .select({ id: sessions.id })
    .from(sessions)
    .where(and(eq(sessions.siteId, siteId), gt(sessions.id, after)))
    .orderBy(asc(sessions.id))
    .limit(limit)
    .all();
  return rows.map(({ id }) => id);
}

/**
 * Reads sessions of a site with an id above `after`, in the order of their ids, with messages and participants. A customer comes with their
 * first session. Every customer has one, because the customer is deleted with their last session.
 */
export async function selectWholeSessions(
  db: D1Database,
  siteId: number,
  after: number,
  limit: number,
): Promise<ExportedSessions> {
  const store = drizzle(db);
  const ids = await selectSessionIds(db, siteId, after, limit);
  const [from, to] = [ids[0], ids.at(-1)];
  if (from === undefined || to === undefined) return NO_SESSIONS;
  const isEarlier = and(
    eq(earlier.siteId, sessions.siteId),
    eq(earlier.customerExternalId, sessions.customerExternalId),
    sql`${earlier.id} < ${sessions.id}`,
  );
  // One batch is one transaction: what is erased meanwhile is in the result as a whole or not at all.
  const rows = await inOneBatch(db, {
    sessions: store
      .select()
      .from(sessions)
      .where(and(eq(sessions.siteId, siteId), between(sessions.id, from, to)))
      .orderBy(asc(sessions.id)),
    customers: store
      .select({
        firstChatId: sessions.id,
        externalId: customers.externalId,
        name: customers.name,
        ip: customers.ip,
        createdAt: sql<number>`${customers.createdAt}`.as("customer_created_at"),
        updatedAt: customers.updatedAt,
      })
      .from(sessions)
      .innerJoin(
        customers,
        and(eq(customers.siteId, sessions.siteId), eq(customers.externalId, sessions.customerExternalId)),
      )
      .where(
        and(
          eq(sessions.siteId, siteId),
          between(sessions.id, from, to),
          notExists(store.select({ one: sql`1` }).from(earlier).where(isEarlier)),
        ),
      ),
    participants: store
      .select()
      .from(participants)
      .where(and(eq(participants.siteId, siteId), between(participants.sessionId, from, to)))
      .orderBy(asc(participants.sessionId), asc(participants.agentId)),
    messages: store
      .select()
      .from(messages)
      .where(and(eq(messages.siteId, siteId), between(messages.sessionId, from, to)))
      .orderBy(asc(messages.sessionId), asc(messages.seq)),
  });
  return { ids, ...rows };
}
