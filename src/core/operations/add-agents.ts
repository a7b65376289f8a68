import { sql } from "drizzle-orm";
import * as z from "zod/mini";
import { insertAccepted, wasAcceptedBefore } from "../store/claim.ts";
import { agents, participants, sessions } from "../store/schema.ts";
import type { Placeholders } from "../store/statement.ts";
import { listedAgentIds } from "./agent-ids.ts";
import { defineOperation } from "./define-operation.ts";
import type { Documentation } from "./operation.ts";
import { chatIdField, isSession, onSession, SESSION_NOT_FOUND, sessionNotFound } from "./session-rules.ts";

/** `agents` is a JSON array of distinct ids. */
type Values = Placeholders<{ siteId: number; chatId: number; agents: string }>;

/**
 * The requested agents of this site in normal status. CROSS JOIN keeps the order of the tables: otherwise SQLite scans all agents
 * of the site.
 */
const askedToJoin = (v: Values) => sql`CROSS JOIN json_each(${v.agents}) AS asked
  CROSS JOIN ${sessions} ON ${isSession(v)}
  CROSS JOIN ${agents} ON ${agents.siteId} = ${v.siteId} AND ${agents.id} = asked.value AND ${agents.status} = 'normal'`;

/** Condition for the row of `participants` of a requested agent. */
const isParticipant = (v: Values) => sql`${participants.siteId} = ${v.siteId}
  AND ${participants.sessionId} = ${v.chatId} AND ${participants.agentId} = asked.value`;

/** Condition for {@link askedToJoin}: the agent is neither responsible for the session nor a participant yet. */
const mayJoin = (v: Values) => sql`${agents.id} <> ${sessions.responsibleAgentId}
  AND NOT EXISTS (SELECT 1 FROM ${participants}
    WHERE ${isParticipant(v)})`;

/**
 * Adds agents to a ticket session, in one transaction. Contract section 4.2. Agents who may not join are left out, and the answer
 * names them.
 */
export default defineOperation({
  name: "add_agents",
  wireName: "add_kf",

  fields: z.object({
    chat_id: chatIdField,
    kefu_ids: listedAgentIds,
  }),

  read: (fields) => ({
    sessionId: fields.chat_id,
    agentIds: fields.kefu_ids,
  }),

  bind: (input) => ({ chatId: input.sessionId, agents: JSON.stringify(input.agentIds) }),

  ...onSession,

  refusals: {
    session_not_found: sessionNotFound,
    not_a_ticket: {
      when: (v) => sql`EXISTS (SELECT 1 FROM ${sessions} WHERE ${isSession(v)} AND ${sessions.kind} <> 'ticket')`,
      code: "state_forbids",
      violation: () => ({ field: "chat_id", rule: "ticket" }),
      past: "The session was not a ticket.",
    },
    no_responsible_agent: {
      when: (v) =>
        sql`EXISTS (SELECT 1 FROM ${sessions} WHERE ${isSession(v)} AND ${sessions.responsibleAgentId} IS NULL)`,
      code: "state_forbids",
      violation: () => ({ field: "chat_id", rule: "responsible_agent" }),
      past: "The session had no responsible agent.",
    },
    no_new_agents: {
      when: (v) => sql`NOT EXISTS (SELECT 1 FROM (SELECT 1) ${askedToJoin(v)} WHERE ${mayJoin(v)})`,
      code: "state_forbids",
      violation: ({ leftOut }) => ({ field: "kefu_ids", rule: "agent_to_add", agents: leftOut }),
      past: "There was nobody to add.",
    },
  },

  // When an earlier try of this request was accepted, that try added the participants with this very time. They are not left out, even
  // when they were disabled afterwards.
  leftOut: (v) => sql`SELECT asked.value AS id, CASE
      WHEN ${participants.addedAt} = ${v.now} AND ${wasAcceptedBefore(v)} THEN NULL
      WHEN asked.value = ${sessions.responsibleAgentId} OR ${participants.agentId} IS NOT NULL THEN 'already on the session'
      WHEN ${agents.id} IS NULL THEN 'unknown'
      WHEN ${agents.status} <> 'normal' THEN 'disabled' END AS why
    FROM json_each(${v.agents}) AS asked CROSS JOIN ${sessions} ON ${isSession(v)}
    LEFT JOIN ${agents} ON ${agents.siteId} = ${v.siteId} AND ${agents.id} = asked.value
    LEFT JOIN ${participants} ON ${isParticipant(v)}
    WHERE why IS NOT NULL ORDER BY asked.key`,

  writes: [
    (v) =>
      insertAccepted(
        v,
        participants,
        {
          siteId: v.siteId,
          sessionId: v.chatId,
          agentId: sql`asked.value`,
          addedBy: sessions.responsibleAgentId,
          addedAt: v.now,
        },
        { join: askedToJoin(v), where: mayJoin(v) },
      ),
  ],

  event: {
    type: "session.agents_added",
    data: (v) => ({
      chat_id: sessions.id,
      agent_ids: sql`(SELECT json_group_array(id) FROM (SELECT ${agents.id} AS id FROM (SELECT 1) ${askedToJoin(v)}
        WHERE ${mayJoin(v)} ORDER BY id))`,
      added_by: sessions.responsibleAgentId,
    }),
    join: (v) => sql`CROSS JOIN ${sessions} ON ${isSession(v)}`,
    // After the writes, the agents of this call would look like earlier participants.
    beforeWrites: true,
  },

  answer: () => "",
});

const NOT_OPENED_HERE = {
  cause: "The session is not a ticket session, or has no responsible agent.",
  cure: "Add agents only to sessions that `create_gd` opened; `x-error-detail` says which of the two it is.",
};

const longIds = (count: number) => Array.from({ length: count }, (_, i) => 999_999_999_999_999 - i);

export const documentation: Documentation = {
  summary: "Add agents to a session",
  description:
    "Adds agents to a ticket session as participants; its responsible agent counts as the agent who adds them. The session must belong to this app's site.",
  fields: {
    chat_id: {
      description:
        "The session: the `chat_id` that `create_gd` gave. When this site does not have it, the answer is 404.",
      examples: [900220],
    },
    kefu_ids: {
      description:
        "Agents to add: 1 to 100 ids, separated by commas (recommended; spaces around them are allowed) or as an array. One named twice counts once. Agents that are on the session already, unknown, disabled or another site's are ignored; when none is left, 409.",
      // The pattern is narrower than the check, because it can state the whole rule only for ids of up to 15 digits.
      anyOf: [
        { type: "string", pattern: "^[ \\t]*[1-9][0-9]{0,14}[ \\t]*(,[ \\t]*[1-9][0-9]{0,14}[ \\t]*){0,99}$" },
        {
          type: "array",
          items: { type: "integer", minimum: 1, maximum: 9007199254740991 },
          minItems: 1,
          maxItems: 100,
        },
      ],
      examples: ["10427,10428", [10427, 10428]],
    },
  },
  probes: () => ({
    kefu_ids: {
      inside: ["1", " 1 , 2 ", longIds(100).join(" ,\t"), [1], longIds(100)],
      outside: [
        "",
        ",",
        "1,",
        "0",
        "01",
        "1,,2",
        "-1",
        "1.5",
        "a",
        "9".repeat(16),
        longIds(101).join(","),
        [],
        longIds(101),
        [0],
        [1.5],
        ["1"],
        {},
        1,
        true,
        null,
      ],
    },
  }),
  examples: {
    listed: {
      summary: "Ids separated by commas",
      fields: { chat_id: 900220, kefu_ids: "10427,10428" },
      fingerprint: "0451763e3b21e3f4d496d7fb0056ecd4fee40a3605c6bb80cb5850c227ae0feb",
    },
    array: {
      summary: "Ids as an array",
      fields: { chat_id: 900220, kefu_ids: [10427, 10428] },
      fingerprint: "0451763e3b21e3f4d496d7fb0056ecd4fee40a3605c6bb80cb5850c227ae0feb",
    },
  },
  answer: { schema: { type: "string", description: "Always empty.", const: "" }, example: "" },
  event: {
    summary: "Agents were added to a session",
    description: "Names the agents who joined by this call. Those who were on the session before are not among them.",
    properties: {
      chat_id: { type: "integer", description: "The session.", minimum: 1, examples: [900220] },
      agent_ids: {
        type: "array",
        description: "Who joined, by id.",
        items: { type: "integer", minimum: 1 },
        minItems: 1,
        examples: [[10427, 10428]],
      },
      added_by: {
        type: "integer",
        description: "The responsible agent at the time.",
        minimum: 1,
        examples: [10411],
      },
    },
    example: { chat_id: 900220, agent_ids: [10427, 10428], added_by: 10411 },
  },
  statuses: { waiting: "accepted", replied: "accepted" },
  refusals: {
    session_not_found: SESSION_NOT_FOUND,
    no_new_agents: {
      cause: "None of the agents in `kefu_ids` is new to the session, of this site and in normal status.",
      cure: "`x-error-detail` names each and why. Nothing to repeat when they are on the session already; otherwise ask the operator about the agents.",
    },
    not_a_ticket: NOT_OPENED_HERE,
    no_responsible_agent: NOT_OPENED_HERE,
  },
};
