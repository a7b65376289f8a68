import { type SQL, sql } from "drizzle-orm";
import { agents, customers, messages, participants, SESSION_STATUSES, sessions } from "../schema.ts";
import { type Placeholders, statement } from "../statement.ts";

export type SessionStatus = (typeof SESSION_STATUSES)[number];

export type SessionRow = {
  id: number;
  kind: "ticket" | "chat";
  status: SessionStatus;
  responsibleAgentId: number | null;
  title: string;
  createdAt: number;
  customerExternalId: string;
  customerName: string;
};

type Page = { siteId: number; before: number; limit: number };
type Filter = { status: SessionStatus | null; customerExternalId: string | null };

const newest = (v: Placeholders<Page>, status: unknown): SQL => sql`SELECT id FROM (SELECT ${sessions.id}
  FROM ${sessions} WHERE ${sessions.siteId} = ${v.siteId} AND ${sessions.status} = ${status} AND ${sessions.id} < ${v.before}
  ORDER BY ${sessions.id} DESC LIMIT ${v.limit})`;

const listed = (ids: (v: Placeholders<Page & Filter>) => SQL) =>
  statement<Page & Filter>(
    (v) => sql`SELECT ${sessions.id} AS "id", ${sessions.kind} AS "kind", ${sessions.status} AS "status",
      ${sessions.responsibleAgentId} AS "responsibleAgentId",
      coalesce(${sessions.agentTitle}, ${sessions.autoTitle}) AS "title", ${sessions.createdAt} AS "createdAt",
      ${customers.externalId} AS "customerExternalId", ${customers.name} AS "customerName"
    FROM ${sessions} JOIN ${customers} ON ${customers.id} = ${sessions.customerId}
    WHERE ${sessions.id} IN (${ids(v)}) ORDER BY ${sessions.id} DESC LIMIT ${v.limit}`,
  );

const all = listed((v) =>
  sql.join(
    SESSION_STATUSES.map((status) => newest(v, sql.raw(`'${status}'`))),
    sql.raw(" UNION ALL "),
  ),
);
const ofStatus = listed((v) => newest(v, v.status));
const ofCustomer = listed(
  (v) => sql`SELECT id FROM (SELECT ${sessions.id} FROM ${sessions} WHERE ${sessions.customerId} =
    (SELECT ${customers.id} FROM ${customers}
      WHERE ${customers.siteId} = ${v.siteId} AND ${customers.externalId} = ${v.customerExternalId})
    AND ${sessions.id} < ${v.before} AND ${sessions.status} = coalesce(${v.status}, ${sessions.status})
    ORDER BY ${sessions.id} DESC LIMIT ${v.limit})`,
);

/**
 * A site's sessions newest first, from the one before `before`; of one status, of one customer, of both. Without either, the
 * newest of each status are merged, so that one index serves both lists.
 */
export async function listSessions(
  db: D1Database,
  siteId: number,
  filter: { [K in keyof Filter]?: Filter[K] | undefined },
  before: number,
  limit: number,
): Promise<SessionRow[]> {
  const values = {
    ...{ siteId, before, limit },
    status: filter.status ?? null,
    customerExternalId: filter.customerExternalId ?? null,
  };
  const list = values.customerExternalId !== null ? ofCustomer : values.status !== null ? ofStatus : all;
  return (await list(db, values).all<SessionRow>()).results;
}

type SessionKey = { siteId: number; id: number };

type SessionRecord = Omit<SessionRow, "title" | "customerExternalId" | "customerName"> & {
  responsibleAgentName: string | null;
  visitorTitle: string | null;
  agentTitle: string | null;
  autoTitle: string;
  /** JSON. */
  metadata: string | null;
  externalId: string;
  name: string;
  ip: string;
};

/** Everything stored of one session. An agent's name is null when the site no longer knows the agent. */
export type StoredSession = {
  session: Omit<SessionRecord, "externalId" | "name" | "ip" | "metadata"> & { metadata: Record<string, string> };
  customer: Pick<SessionRecord, "externalId" | "name" | "ip">;
  participants: { agentId: number; agentName: string | null; addedBy: number; addedAt: number }[];
  messages: {
    seq: number;
    sender: "visitor" | "agent";
    senderUid: number | null;
    senderName: string | null;
    content: string;
    createdAt: number;
  }[];
};

const here = (v: Placeholders<SessionKey>): SQL => sql`${sessions.siteId} = ${v.siteId} AND ${sessions.id} = ${v.id}`;

/** The agent of a column, in a LEFT JOIN. */
const agentOf = (v: Placeholders<SessionKey>, column: SQL): SQL =>
  sql`LEFT JOIN ${agents} ON ${agents.siteId} = ${v.siteId} AND ${agents.id} = ${column}`;

const selectSession = statement<SessionKey>(
  (v) => sql`SELECT ${sessions.id} AS "id", ${sessions.kind} AS "kind", ${sessions.status} AS "status",
    ${sessions.responsibleAgentId} AS "responsibleAgentId", ${agents.name} AS "responsibleAgentName",
    ${sessions.visitorTitle} AS "visitorTitle", ${sessions.agentTitle} AS "agentTitle",
    ${sessions.autoTitle} AS "autoTitle", ${sessions.metadata} AS "metadata", ${sessions.createdAt} AS "createdAt",
    ${customers.externalId} AS "externalId", ${customers.name} AS "name", ${customers.ip} AS "ip"
  FROM ${sessions} JOIN ${customers} ON ${customers.id} = ${sessions.customerId}
    ${agentOf(v, sql`${sessions.responsibleAgentId}`)} WHERE ${here(v)}`,
);

const selectParticipants = statement<SessionKey>(
  (v) => sql`SELECT ${participants.agentId} AS "agentId", ${agents.name} AS "agentName",
    ${participants.addedBy} AS "addedBy", ${participants.addedAt} AS "addedAt"
  FROM ${participants} ${agentOf(v, sql`${participants.agentId}`)}
  WHERE ${participants.sessionId} = ${v.id} ORDER BY ${participants.agentId}`,
);

const selectMessages = statement<SessionKey>(
  (v) => sql`SELECT ${messages.seq} AS "seq", ${messages.sender} AS "sender", ${messages.senderUid} AS "senderUid",
    ${agents.name} AS "senderName", ${messages.content} AS "content", ${messages.createdAt} AS "createdAt"
  FROM ${messages} ${agentOf(v, sql`${messages.senderUid}`)}
  WHERE ${messages.sessionId} = ${v.id} ORDER BY ${messages.seq}`,
);

/** Everything stored of one session, read in one trip; undefined when the site has no such session. */
export async function readSession(db: D1Database, siteId: number, id: number): Promise<StoredSession | undefined> {
  const key = { siteId, id };
  const [found, joined, said] = await db.batch<unknown>([
    selectSession(db, key),
    selectParticipants(db, key),
    selectMessages(db, key),
  ]);
  const row = found?.results[0] as SessionRecord | undefined;
  if (row === undefined) return undefined;
  const { externalId, name, ip, metadata, ...session } = row;
  return {
    session: { ...session, metadata: JSON.parse(metadata ?? "{}") as Record<string, string> },
    customer: { externalId, name, ip },
    participants: joined?.results as StoredSession["participants"],
    messages: said?.results as StoredSession["messages"],
  };
}
