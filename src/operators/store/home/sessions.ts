import { and, asc, type Column, count, desc, eq, getTableColumns, gte, lt, or, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { inOneBatch } from "../../../core/store/batch.ts";
import {
  agents,
  apps,
  customers,
  messages,
  participants,
  SESSION_STATUSES,
  sessions,
} from "../../../core/store/schema.ts";

export type SessionStatus = (typeof SESSION_STATUSES)[number];

/** How an agent is on a session. A responsible agent counts as no participant. */
export const AGENT_PARTS = ["responsible", "participant"] as const;
export type AgentPart = (typeof AGENT_PARTS)[number];

/** Condition for the customer of a session. */
const isCustomer = and(eq(customers.siteId, sessions.siteId), eq(customers.externalId, sessions.customerExternalId));

/** Condition for the app that opened a session. */
const isApp = and(eq(apps.siteId, sessions.siteId), eq(apps.appid, sessions.appid));

/** A session in a list. `appName` is null when the home no longer has the app. */
export type SessionRow = Awaited<ReturnType<typeof selectSessions>>[number];

/** All stored data of one session. An agent's name is null when the site no longer has the agent. */
export type StoredSession = NonNullable<Awaited<ReturnType<typeof selectSession>>>;

/** The filters of a list of sessions. A session must fit all that are given. */
export interface SessionFilter {
  status?: SessionStatus | undefined;
  customerExternalId?: string | undefined;
  appid?: string | undefined;
  /** An agent who is responsible or takes part. */
  agentId?: number | undefined;
  /** Only sessions on which the agent is so. */
  agentPart?: AgentPart | undefined;
  /** Opened at this time or later, in Unix seconds. */
  since?: number | undefined;
  /** Opened at this time or earlier, in Unix seconds. */
  until?: number | undefined;
  /** Only sessions with this id or a higher one. */
  from?: number | undefined;
}

/**
 * Condition for the ids of a filter. It has one bound on each side: with two bounds on a side, SQLite would search by one of them and read
 * all sessions up to the other.
 */
function isBetween(siteId: number, { since, until, from }: SessionFilter, before: number) {
  const low = since === undefined ? from : sql<number>`max(${from ?? 0}, ${firstSince(siteId, since)})`;
  const high = until === undefined ? before : sql<number>`min(${before}, ${firstSince(siteId, until + 1)})`;
  return and(low === undefined ? undefined : gte(sessions.id, low), lt(sessions.id, high));
}

/** Condition for an agent who is responsible or takes part, or only for one of these. */
function isAgent(agentId: number, part: AgentPart | undefined) {
  const isResponsible = eq(sessions.responsibleAgentId, agentId);
  const takesPart = sql`EXISTS (SELECT 1 FROM ${participants} WHERE ${participants.siteId} = ${sessions.siteId}
    AND ${participants.sessionId} = ${sessions.id} AND ${participants.agentId} = ${agentId})`;
  if (part === "responsible") return isResponsible;
  return part === "participant"
    ? and(sql`${sessions.responsibleAgentId} IS NOT ${agentId}`, takesPart)
    : or(isResponsible, takesPart);
}

/** A site's sessions with an id below `before`, newest first. */
export function selectSessions(db: D1Database, siteId: number, filter: SessionFilter, before: number, limit: number) {
  const { status, customerExternalId, appid, agentId, agentPart } = filter;
  return drizzle(db)
    .select({
      id: sessions.id,
      kind: sessions.kind,
      status: sessions.status,
      responsibleAgentId: sessions.responsibleAgentId,
      title: sql<string>`coalesce(${sessions.agentTitle}, ${sessions.autoTitle})`,
      createdAt: sessions.createdAt,
      customerExternalId: customers.externalId,
      customerName: customers.name,
      appid: sessions.appid,
      appName: apps.name,
      requestId: sessions.requestId,
    })
    .from(sessions)
    .innerJoin(customers, isCustomer)
    .leftJoin(apps, isApp)
    .where(
      and(
        eq(sessions.siteId, siteId),
        status && eq(sessions.status, status),
        customerExternalId === undefined ? undefined : eq(sessions.customerExternalId, customerExternalId),
        appid === undefined ? undefined : eq(sessions.appid, appid),
        agentId === undefined ? undefined : isAgent(agentId, agentPart),
        isBetween(siteId, filter, before),
      ),
    )
    .orderBy(desc(sessions.id))
    .limit(limit)
    .all();
}

/**
 * The id at which a search through `most` sessions ends, newest first, of one customer or one status when these are given; undefined when
 * there are fewer sessions.
 */
export async function selectLookEnd(
  db: D1Database,
  siteId: number,
  filter: SessionFilter,
  before: number,
  most: number,
): Promise<number | undefined> {
  const { status, customerExternalId } = filter;
  const indexed =
    customerExternalId === undefined
      ? status && eq(sessions.status, status)
      : eq(sessions.customerExternalId, customerExternalId);
  const row = await drizzle(db)
    .select({ id: sessions.id })
    .from(sessions)
    .where(and(eq(sessions.siteId, siteId), indexed, isBetween(siteId, filter, before)))
    .orderBy(desc(sessions.id))
    .limit(1)
    .offset(most - 1)
    .get();
  return row?.id;
}

/** Reads all stored data of one session, in one round trip. @returns undefined when the site has no such session */
export async function selectSession(db: D1Database, siteId: number, id: number) {
  const store = drizzle(db);
  const agentIs = (column: SQL | typeof messages.senderUid | typeof participants.agentId) =>
    and(eq(agents.siteId, siteId), eq(agents.id, column));
  const { siteId: _, customerExternalId: __, ...sessionColumns } = getTableColumns(sessions);
  // A batch returns rows by column name, so each column of a SELECT needs a name of its own.
  const agentName = sql<string | null>`${agents.name}`.as("agent_name");
  const {
    found: [storedSession],
    ...rows
  } = await inOneBatch(db, {
    found: store
      .select({
        session: sessionColumns,
        responsibleAgentName: agentName,
        appName: sql<string | null>`${apps.name}`.as("app_name"),
        customer: {
          externalId: sql<string>`${customers.externalId}`.as("customer_external_id"),
          name: sql<string>`${customers.name}`.as("customer_name"),
          ip: sql<string>`${customers.ip}`.as("customer_ip"),
        },
      })
      .from(sessions)
      .innerJoin(customers, isCustomer)
      .leftJoin(agents, agentIs(sql`${sessions.responsibleAgentId}`))
      .leftJoin(apps, isApp)
      .where(and(eq(sessions.siteId, siteId), eq(sessions.id, id))),
    participants: store
      .select({
        agentId: participants.agentId,
        agentName,
        addedBy: participants.addedBy,
        addedAt: participants.addedAt,
      })
      .from(participants)
      .leftJoin(agents, agentIs(participants.agentId))
      .where(and(eq(participants.siteId, siteId), eq(participants.sessionId, id)))
      .orderBy(asc(participants.agentId)),
    messages: store
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
      .where(and(eq(messages.siteId, siteId), eq(messages.sessionId, id)))
      .orderBy(asc(messages.seq)),
  });
  if (storedSession === undefined) return undefined;
  const { session, responsibleAgentName, appName, customer } = storedSession;
  return {
    session: { ...session, responsibleAgentName, appName, metadata: session.metadata ?? {} },
    customer,
    ...rows,
  };
}

/** The highest count. Counting reads one index row for each session, and signed calls wait for the same database. */
export const COUNT_LIMIT = 10_000;

/**
 * The id of the first session of a site that was created at or after `since`. Ids grow with time, so a binary search finds it. Then the
 * index by site and status counts from that id. An index on time would cost every creation of a session a row.
 */
export function firstSince(siteId: number | Column, since: number) {
  const isOfSite = sql`${sessions.siteId} = ${siteId}`;
  const middle = sql`(low + high) / 2`;
  const early = sql`(SELECT ${sessions.createdAt} FROM ${sessions} WHERE ${isOfSite} AND ${sessions.id} >= ${middle}
    ORDER BY ${sessions.id} LIMIT 1) < ${since}`;
  return sql`(WITH RECURSIVE search(low, high) AS (
      SELECT 1, (SELECT coalesce(max(${sessions.id}), 0) + 1 FROM ${sessions} WHERE ${isOfSite})
      UNION ALL
      SELECT CASE WHEN ${early} THEN ${middle} + 1 ELSE low END, CASE WHEN ${early} THEN high ELSE ${middle} END
      FROM search WHERE low < high)
    SELECT max(low) FROM search)`;
}

/**
 * How old a site's sessions are. `older` is the number of ids before the first session that was created at `since` (Unix seconds) or later.
 * The number of older sessions is lower when ids were skipped or sessions were erased.
 */
export async function selectAge(
  db: D1Database,
  siteId: number,
  since: number,
): Promise<{ oldestAt: number | null; older: number }> {
  const firstSession = drizzle(db)
    .select({ id: sessions.id, createdAt: sessions.createdAt })
    .from(sessions)
    .where(eq(sessions.siteId, siteId))
    .orderBy(asc(sessions.id))
    .limit(1)
    .as("first");
  const row = await drizzle(db)
    .select({
      oldestAt: firstSession.createdAt,
      older: sql<number>`max(0, ${firstSince(siteId, since)} - ${firstSession.id})`,
    })
    .from(firstSession)
    .get();
  return row ?? { oldestAt: null, older: 0 };
}

/**
 * Counts a site's sessions since each given time, by status, in one round trip. No count exceeds {@link COUNT_LIMIT}.
 *
 * @param since Unix seconds
 */
export async function selectSessionCounts(
  db: D1Database,
  siteId: number,
  since: readonly number[],
): Promise<Record<SessionStatus, number>[]> {
  const store = drizzle(db);
  const countOf = (status: SessionStatus, time: number) => {
    const isWanted = and(
      eq(sessions.siteId, siteId),
      eq(sessions.status, status),
      gte(sessions.id, firstSince(siteId, time)),
    );
    const wantedSessions = store
      .select({ id: sessions.id })
      .from(sessions)
      .where(isWanted)
      .limit(COUNT_LIMIT)
      .as("found");
    return store.select({ sessions: count() }).from(wantedSessions);
  };
  if (since.length === 0) return [];
  const { counts } = await inOneBatch(db, {
    counts: since.map((time) => byStatus((status) => countOf(status, time))),
  });
  return counts.map((each) => byStatus((status) => each[status][0]?.sessions ?? 0));
}

const byStatus = <T>(of: (status: SessionStatus) => T) =>
  Object.fromEntries(SESSION_STATUSES.map((status) => [status, of(status)])) as Record<SessionStatus, T>;
