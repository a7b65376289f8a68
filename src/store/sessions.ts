import { and, asc, desc, eq, inArray, lt, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { unionAll } from "drizzle-orm/sqlite-core";
import { customers, messages, participants, SESSION_STATUSES, sessions } from "./schema.ts";

export type SessionStatus = (typeof SESSION_STATUSES)[number];

/**
 * A site's sessions newest first, from the one before `before`. Without a status, the newest of each are merged, so that one
 * index serves both lists.
 */
export function listSessions(
  db: D1Database,
  siteId: number,
  status: SessionStatus | undefined,
  before: number,
  limit: number,
) {
  const d1 = drizzle(db);
  const newest = (of: SessionStatus) => {
    const ids = d1
      .select({ id: sessions.id })
      .from(sessions)
      .where(and(eq(sessions.siteId, siteId), eq(sessions.status, of), lt(sessions.id, before)))
      .orderBy(desc(sessions.id))
      .limit(limit)
      .as(of);
    return d1.select({ id: ids.id }).from(ids);
  };
  const [first, second] = SESSION_STATUSES;
  const ids = status === undefined ? unionAll(newest(first), newest(second)) : newest(status);
  return d1
    .select({
      id: sessions.id,
      kind: sessions.kind,
      status: sessions.status,
      responsibleAgentId: sessions.responsibleAgentId,
      createdAt: sessions.createdAt,
      customerExternalId: customers.externalId,
      customerName: customers.name,
    })
    .from(sessions)
    .innerJoin(customers, eq(customers.id, sessions.customerId))
    .where(sql`${sessions.id} IN (${ids})`)
    .orderBy(desc(sessions.id))
    .limit(limit);
}

/** Everything stored of one session, read in one trip; undefined when the site has no such session. */
export async function readSession(db: D1Database, siteId: number, id: number) {
  const d1 = drizzle(db);
  const here = and(eq(sessions.siteId, siteId), eq(sessions.id, id));
  // Not a join: in a batch drizzle loses one of two columns of the same name.
  const [[session], [customer], joined, said] = await d1.batch([
    d1.select().from(sessions).where(here),
    d1
      .select()
      .from(customers)
      .where(inArray(customers.id, d1.select({ id: sessions.customerId }).from(sessions).where(here))),
    d1.select().from(participants).where(eq(participants.sessionId, id)).orderBy(asc(participants.agentId)),
    d1.select().from(messages).where(eq(messages.sessionId, id)).orderBy(asc(messages.seq)),
  ]);
  return session && customer && { session, customer, participants: joined, messages: said };
}
