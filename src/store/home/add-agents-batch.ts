import { type SQL, sql } from "drizzle-orm";
import { agents, nonces, participants, sessions } from "../schema.ts";
import { insertInto, type Placeholders, statement } from "../statement.ts";
import { accepted, acceptedBefore, type Claim, claim, rememberKey, selectVerdict } from "./claim.ts";

/** What one accepted add writes: those of `agents` (a JSON array of distinct ids) that are valid and new. */
export type NewParticipants = Claim & { sessionId: number; agents: string };

export type AddAgentsOutcome = "session_not_found" | "not_a_ticket" | "no_responsible_agent" | "no_new_agents";

type Values = Placeholders<NewParticipants>;

const session = (v: Values): SQL => sql`${sessions.siteId} = ${v.siteId} AND ${sessions.id} = ${v.sessionId}`;

/**
 * The asked-for agents that may join: of this site, in normal status, not responsible for the session, not on it yet.
 * CROSS JOIN keeps the order: left to itself, SQLite walks all agents of the site.
 */
const joining = (v: Values): SQL => sql`FROM json_each(${v.agents}) AS asked
  CROSS JOIN ${sessions} ON ${session(v)}
  CROSS JOIN ${agents} ON ${agents.siteId} = ${v.siteId} AND ${agents.id} = asked.value AND ${agents.status} = 'normal'
  WHERE ${agents.id} <> ${sessions.responsibleAgentId} AND NOT EXISTS (SELECT 1 FROM ${participants}
    WHERE ${participants.sessionId} = ${v.sessionId} AND ${participants.agentId} = asked.value)`;

/** An agent who was asked for and may not join. */
export interface IgnoredAgent {
  id: number;
  why: "already on the session" | "unknown" | "disabled";
}

// Stands before the insert. When an earlier try of this request was accepted, those who joined at that very second joined by it.
const selectIgnored = statement<NewParticipants>(
  (v) => sql`SELECT asked.value AS id, CASE
      WHEN asked.value = ${sessions.responsibleAgentId} OR EXISTS (SELECT 1 FROM ${participants}
        WHERE ${participants.sessionId} = ${v.sessionId} AND ${participants.agentId} = asked.value
          AND (${participants.addedAt} <> ${v.now} OR NOT EXISTS (SELECT 1 FROM ${nonces} WHERE ${acceptedBefore(v)})))
        THEN 'already on the session'
      WHEN ${agents.id} IS NULL THEN 'unknown'
      WHEN ${agents.status} <> 'normal' THEN 'disabled' END AS why
    FROM json_each(${v.agents}) AS asked CROSS JOIN ${sessions} ON ${session(v)}
    LEFT JOIN ${agents} ON ${agents.siteId} = ${v.siteId} AND ${agents.id} = asked.value
    WHERE why IS NOT NULL ORDER BY asked.key`,
);

/** The agents of a run batch that were left out, by id. */
export function ignoredAgents(rows: unknown[][]): IgnoredAgent[] {
  return (rows[1] ?? []) as IgnoredAgent[];
}

const claimAdd = claim<NewParticipants>("add_agents", (v) => ({
  refusals: sql`WHEN NOT EXISTS (SELECT 1 FROM ${sessions} WHERE ${session(v)}) THEN 'session_not_found'
    WHEN EXISTS (SELECT 1 FROM ${sessions} WHERE ${session(v)} AND ${sessions.kind} <> 'ticket') THEN 'not_a_ticket'
    WHEN EXISTS (SELECT 1 FROM ${sessions} WHERE ${session(v)} AND ${sessions.responsibleAgentId} IS NULL)
      THEN 'no_responsible_agent'
    WHEN NOT EXISTS (SELECT 1 ${joining(v)}) THEN 'no_new_agents'`,
  sessionId: sql`${v.sessionId}`,
}));

// Only by the try that made the claim: an agent who turns valid before a second try does not join by it.
const insertJoining = statement<NewParticipants>(
  (v) => sql`${insertInto(
    participants,
    participants.sessionId,
    participants.agentId,
    participants.addedBy,
    participants.addedAt,
  )}
  SELECT ${v.sessionId}, asked.value, ${sessions.responsibleAgentId}, ${v.now} ${joining(v)}
    AND EXISTS (SELECT 1 FROM ${nonces} WHERE ${accepted(v)}) ON CONFLICT DO NOTHING`,
);

const rememberAdd = rememberKey("add_agents");

const selectAddVerdict = selectVerdict<NewParticipants>(() => ({ outcome: "none", agents: sql`NULL` }));

/** The one batch of add_kf. Its second result are the {@link ignoredAgents}; its last is a `VerdictRow` whose outcome may be any {@link AddAgentsOutcome}. */
export function addAgentsBatch(db: D1Database, request: NewParticipants): D1PreparedStatement[] {
  return [
    claimAdd(db, request),
    selectIgnored(db, request),
    insertJoining(db, request),
    ...(request.key === null ? [] : [rememberAdd(db, request)]),
    selectAddVerdict(db, request),
  ];
}
