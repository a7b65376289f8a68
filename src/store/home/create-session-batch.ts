import { sql } from "drizzle-orm";
import { agents, customers, messages, nonces, participants, sessions } from "../schema.ts";
import { insertInto, statement, takeExcluded } from "../statement.ts";
import { accepted, type Claim, claim, rememberKey, selectVerdict } from "./claim.ts";

/** Everything one accepted create writes. Agent lists are JSON arrays of distinct ids. */
export type NewSession = Claim & {
  /** All agents the request names, the responsible one among them. */
  agents: string;
  /** The agents but the responsible one. */
  otherAgents: string;
  responsibleAgentId: number;
  customerExternalId: string;
  customerName: string;
  customerIp: string;
  status: "waiting" | "replied";
  title: string | null;
  autoTitle: string;
  sender: "visitor" | "agent";
  senderUid: number | null;
  content: string;
};

const claimSession = claim<NewSession>("create_session", (v) => ({
  refusals: sql`WHEN EXISTS (SELECT 1 FROM json_each(${v.agents}) AS asked LEFT JOIN ${agents}
    ON ${agents.siteId} = ${v.siteId} AND ${agents.id} = asked.value AND ${agents.status} = 'normal'
    WHERE ${agents.id} IS NULL) THEN 'agents_invalid'`,
  // Chosen here, inside the transaction, so that a second try finds the same id without another written row.
  sessionId: sql`(SELECT coalesce(max(${sessions.id}), 0) + 1 FROM ${sessions})`,
}));

const upsertCustomer = statement<NewSession>(
  (v) => sql`${insertInto(
    customers,
    customers.siteId,
    customers.externalId,
    customers.name,
    customers.ip,
    customers.createdAt,
    customers.updatedAt,
  )}
  SELECT ${v.siteId}, ${v.customerExternalId}, ${v.customerName}, ${v.customerIp}, ${v.now}, ${v.now}
  FROM ${nonces} WHERE ${accepted(v)}
  ON CONFLICT DO UPDATE SET ${takeExcluded(customers.name, customers.ip, customers.updatedAt)}`,
);

const insertSession = statement<NewSession>(
  (v) => sql`${insertInto(
    sessions,
    sessions.id,
    sessions.siteId,
    sessions.kind,
    sessions.customerId,
    sessions.responsibleAgentId,
    sessions.status,
    sessions.visitorTitle,
    sessions.agentTitle,
    sessions.autoTitle,
    sessions.createdAt,
  )}
  SELECT ${nonces.sessionId}, ${v.siteId}, 'ticket', ${customers.id}, ${v.responsibleAgentId}, ${v.status},
    ${v.title}, ${v.title}, ${v.autoTitle}, ${v.now}
  FROM ${nonces} JOIN ${customers}
    ON ${customers.siteId} = ${v.siteId} AND ${customers.externalId} = ${v.customerExternalId}
  WHERE ${accepted(v)} ON CONFLICT DO NOTHING`,
);

const insertParticipants = statement<NewSession>(
  (v) => sql`${insertInto(
    participants,
    participants.sessionId,
    participants.agentId,
    participants.addedBy,
    participants.addedAt,
  )}
  SELECT ${nonces.sessionId}, asked.value, ${v.responsibleAgentId}, ${v.now}
  FROM ${nonces} JOIN json_each(${v.otherAgents}) AS asked
  WHERE ${accepted(v)} ON CONFLICT DO NOTHING`,
);

const insertMessage = statement<NewSession>(
  (v) => sql`${insertInto(
    messages,
    messages.sessionId,
    messages.seq,
    messages.sender,
    messages.senderUid,
    messages.content,
    messages.createdAt,
  )}
  SELECT ${nonces.sessionId}, 1, ${v.sender}, ${v.senderUid}, ${v.content}, ${v.now}
  FROM ${nonces} WHERE ${accepted(v)} ON CONFLICT DO NOTHING`,
);

const rememberCreate = rememberKey("create_session");

const selectCreateVerdict = selectVerdict<NewSession>((v) => ({
  outcome: "agents_invalid",
  agents: sql`SELECT json_group_array(asked.value) FROM json_each(${v.agents}) AS asked LEFT JOIN ${agents}
    ON ${agents.siteId} = ${v.siteId} AND ${agents.id} = asked.value AND ${agents.status} = 'normal'
    WHERE ${agents.id} IS NULL`,
}));

/** The one batch of create_gd. Its last result is a `VerdictRow`; `agents_invalid` is its only outcome of its own. */
export function createSessionBatch(db: D1Database, session: NewSession): D1PreparedStatement[] {
  return [
    claimSession(db, session),
    upsertCustomer(db, session),
    insertSession(db, session),
    insertParticipants(db, session),
    insertMessage(db, session),
    ...(session.key === null ? [] : [rememberCreate(db, session)]),
    selectCreateVerdict(db, session),
  ];
}
