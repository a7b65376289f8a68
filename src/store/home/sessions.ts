import { and, asc, desc, eq, getTableColumns, inArray, lt, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { agents, customers, messages, participants, SESSION_STATUSES, sessions } from "../schema.ts";

export type SessionStatus = (typeof SESSION_STATUSES)[number];

/** A session in a list. */
export type SessionRow = Awaited<ReturnType<typeof listSessions>>[number];

/** Everything stored of one session. An agent's name is null when the site no longer knows the agent. */
export type StoredSession = NonNullable<Awaited<ReturnType<typeof readSession>>>;

/**
 * A site's sessions with an id below `before`, newest first, filtered by status and customer when given. Without a customer, the
 * newest of each status are merged, so that one index serves the list with and without a status.
 */
export function listSessions(
  db: D1Database,
  siteId: number,
  { status, customerExternalId }: { status?: SessionStatus | undefined; customerExternalId?: string | undefined },
  before: number,
  limit: number,
) {
  const store = drizzle(db);
  const newest = (...conditions: (SQL | undefined)[]) =>
    store
      .select({ id: sessions.id })
      .from(sessions)
      .where(and(...conditions, lt(sessions.id, before)))
      .orderBy(desc(sessions.id))
      .limit(limit);
  const ofStatus = (each: SessionStatus) => newest(eq(sessions.siteId, siteId), eq(sessions.status, each));
  const ofCustomer = (externalId: string) => {
    const named = and(eq(customers.siteId, siteId), eq(customers.externalId, externalId));
    const customer = store.select({ id: customers.id }).from(customers).where(named);
    return newest(eq(sessions.customerId, customer), status && eq(sessions.status, status));
  };
  const statuses = status === undefined ? SESSION_STATUSES : [status];
  const found = customerExternalId === undefined ? statuses.map(ofStatus) : [ofCustomer(customerExternalId)];
  // Each part is wrapped in a SELECT, because a part of a UNION may have no ORDER BY and no LIMIT.
  const ids = sql.join(
    found.map((part) => sql`SELECT * FROM ${part}`),
    sql` UNION ALL `,
  );
  return store
    .select({
      id: sessions.id,
      kind: sessions.kind,
      status: sessions.status,
      responsibleAgentId: sessions.responsibleAgentId,
      title: sql<string>`coalesce(${sessions.agentTitle}, ${sessions.autoTitle})`,
      createdAt: sessions.createdAt,
      customerExternalId: customers.externalId,
      customerName: customers.name,
    })
    .from(sessions)
    .innerJoin(customers, eq(customers.id, sessions.customerId))
    .where(inArray(sessions.id, sql`(${ids})`))
    .orderBy(desc(sessions.id))
    .limit(limit)
    .all();
}

/** Reads everything stored of one session, in one round trip. @returns undefined when the site has no such session */
export async function readSession(db: D1Database, siteId: number, id: number) {
  const store = drizzle(db);
  const agentIs = (column: SQL | typeof messages.senderUid | typeof participants.agentId) =>
    and(eq(agents.siteId, siteId), eq(agents.id, column));
  const { siteId: _, customerId: __, ...sessionColumns } = getTableColumns(sessions);
  // A batch gives rows by column name, so no two columns of one SELECT may have the same: hence the names of its own.
  const agentName = sql<string | null>`${agents.name}`.as("agent_name");
  const [[found], joined, said] = await store.batch([
    store
      .select({
        session: sessionColumns,
        responsibleAgentName: agentName,
        customer: {
          externalId: sql<string>`${customers.externalId}`.as("customer_external_id"),
          name: sql<string>`${customers.name}`.as("customer_name"),
          ip: sql<string>`${customers.ip}`.as("customer_ip"),
        },
      })
      .from(sessions)
      .innerJoin(customers, eq(customers.id, sessions.customerId))
      .leftJoin(agents, agentIs(sql`${sessions.responsibleAgentId}`))
      .where(and(eq(sessions.siteId, siteId), eq(sessions.id, id))),
    store
      .select({
        agentId: participants.agentId,
        agentName,
        addedBy: participants.addedBy,
        addedAt: participants.addedAt,
      })
      .from(participants)
      .leftJoin(agents, agentIs(participants.agentId))
      .where(eq(participants.sessionId, id))
      .orderBy(asc(participants.agentId)),
    store
      .select({
        seq: messages.seq,
        sender: messages.sender,
        senderUid: messages.senderUid,
        senderName: agentName,
        content: messages.content,
        createdAt: messages.createdAt,
      })
      .from(messages)
      .leftJoin(agents, agentIs(messages.senderUid))
      .where(eq(messages.sessionId, id))
      .orderBy(asc(messages.seq)),
  ]);
  if (found === undefined) return undefined;
  const { session, responsibleAgentName, customer } = found;
  return {
    session: { ...session, responsibleAgentName, metadata: session.metadata ?? {} },
    customer,
    participants: joined,
    messages: said,
  };
}
