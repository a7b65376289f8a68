import { sql } from "drizzle-orm";
import * as z from "zod/mini";
import { broken, customerId, positiveId, rule, text } from "../fields.ts";
import { insertAccepted, nextSessionId } from "../store/claim.ts";
import { agents, customers, messages, nonces, participants, sessions } from "../store/schema.ts";
import { type Placeholders, takeExcluded } from "../store/statement.ts";
import { agentIds } from "./agent-ids.ts";
import { autoTitle } from "./auto-title.ts";
import { defineOperation } from "./define-operation.ts";
import { SESSION_DATA, SESSION_PROPERTIES } from "./describe-session.ts";
import { METADATA_WORDS, metadataField, metadataProbes, sortedByName } from "./metadata.ts";
import type { Documentation } from "./operation.ts";

const IP_RULE = rule("ip_address");
/** The values of `sender_type`. Contract section 4.1. */
const SENDERS = { 1: "customer", 2: "responsible_agent", 3: "system" } as const;

/** The session's first status, by the sender of the first message. Contract section 3. */
const OPENINGS = {
  customer: { status: "waiting", messageSender: "visitor" },
  responsible_agent: { status: "replied", messageSender: "agent" },
  // Nobody has replied yet, so the session keeps its initial status.
  system: { status: "waiting", messageSender: "agent" },
} as const;

/** The requested agents that are unknown, of another site or disabled. */
const unfitAgents = (v: Placeholders<{ siteId: number; agents: string }>) =>
  sql`FROM json_each(${v.agents}) AS asked LEFT JOIN ${agents}
    ON ${agents.siteId} = ${v.siteId} AND ${agents.id} = asked.value
    WHERE ${agents.status} IS NOT 'normal'`;

/** The session that the request of a `nonces` row opened. */
const itsSession = sql`${sessions.siteId} = ${nonces.siteId} AND ${sessions.id} = ${nonces.sessionId}`;

/** Opens a session with its customer, agents and first message, in one transaction. Contract section 4.1. */
export default defineOperation({
  name: "create_session",
  wireName: "create_gd",

  fields: z
    .object({
      sbs: customerId,
      ip: z.union([z.ipv4(IP_RULE), z.ipv6(IP_RULE)], IP_RULE),
      sbs_mc: text(1, 30),
      content: text(1, 2000),
      title: z.optional(text(1, 120)),
      kefu_id: agentIds,
      fzr_uid: positiveId,
      sender_type: z._default(z.literal([1, 2, 3], broken("sender")), 2),
      metadata: z.optional(metadataField),
    })
    .check(
      z.refine((fields) => fields.kefu_id.includes(fields.fzr_uid), {
        path: ["fzr_uid"],
        error: broken("one_of", "kefu_id"),
      }),
    ),
  exactField: "sbs",

  read: (fields) => ({
    customer: { externalId: fields.sbs, name: fields.sbs_mc, ip: fields.ip },
    content: fields.content,
    ...(fields.title !== undefined && { title: fields.title }),
    agentIds: fields.kefu_id,
    responsibleAgentId: fields.fzr_uid,
    sender: SENDERS[fields.sender_type],
    ...(fields.metadata !== undefined && { metadata: sortedByName(fields.metadata) }),
  }),

  bind({ customer, agentIds, responsibleAgentId, ...input }) {
    const { status, messageSender } = OPENINGS[input.sender];
    return {
      agents: JSON.stringify(agentIds),
      otherAgents: JSON.stringify(agentIds.filter((id) => id !== responsibleAgentId)),
      responsibleAgentId,
      customerExternalId: customer.externalId,
      customerName: customer.name,
      customerIp: customer.ip,
      status,
      title: input.title ?? null,
      autoTitle: autoTitle(input.content),
      metadata: input.metadata === undefined ? null : JSON.stringify(input.metadata),
      messageSender,
      senderUid: { customer: null, responsible_agent: responsibleAgentId, system: 0 }[input.sender],
      content: input.content,
    };
  },

  sessionId: nextSessionId,

  mayBeItself: (v) => sql`NOT EXISTS (SELECT 1 FROM ${sessions} WHERE ${itsSession})
    OR EXISTS (SELECT 1 FROM ${sessions} JOIN ${messages}
        ON ${messages.siteId} = ${sessions.siteId} AND ${messages.sessionId} = ${sessions.id} AND ${messages.seq} = 1
      WHERE ${itsSession} AND ${sessions.customerExternalId} = ${v.customerExternalId}
        AND ${messages.content} = ${v.content})`,

  refusals: {
    agents_invalid: {
      when: (v) => sql`EXISTS (SELECT 1 ${unfitAgents(v)})`,
      code: "invalid_parameters",
      named: (v) => sql`SELECT json_group_array(json_object('id', asked.value,
        'why', iif(${agents.id} IS NULL, 'unknown', 'disabled'))) ${unfitAgents(v)}`,
      violation: ({ named }) => ({ field: "kefu_id", rule: "agents_fit", agents: named }),
      past: "An agent was unknown, foreign or disabled.",
    },
  },

  writes: [
    (v) =>
      insertAccepted(
        v,
        customers,
        {
          siteId: v.siteId,
          externalId: v.customerExternalId,
          name: v.customerName,
          ip: v.customerIp,
          createdAt: v.now,
          updatedAt: v.now,
        },
        { conflict: sql`DO UPDATE SET ${takeExcluded(customers.name, customers.ip, customers.updatedAt)}` },
      ),

    (v) =>
      insertAccepted(v, sessions, {
        siteId: v.siteId,
        id: nonces.sessionId,
        appid: v.appid,
        kind: sql`'ticket'`,
        customerExternalId: v.customerExternalId,
        responsibleAgentId: v.responsibleAgentId,
        status: v.status,
        visitorTitle: v.title,
        agentTitle: v.title,
        autoTitle: v.autoTitle,
        metadata: v.metadata,
        createdAt: v.now,
        requestId: v.owner,
      }),

    (v) =>
      insertAccepted(
        v,
        participants,
        {
          siteId: v.siteId,
          sessionId: nonces.sessionId,
          agentId: sql`asked.value`,
          addedBy: v.responsibleAgentId,
          addedAt: v.now,
        },
        { join: sql`JOIN json_each(${v.otherAgents}) AS asked` },
      ),

    (v) =>
      insertAccepted(v, messages, {
        siteId: v.siteId,
        sessionId: nonces.sessionId,
        seq: sql`1`,
        sender: v.messageSender,
        senderUid: v.senderUid,
        content: v.content,
        createdAt: v.now,
      }),
  ],

  event: {
    type: "session.created",
    data: () => SESSION_DATA,
    join: () => sql`CROSS JOIN ${sessions} ON ${itsSession} CROSS JOIN ${customers}
      ON ${customers.siteId} = ${sessions.siteId} AND ${customers.externalId} = ${sessions.customerExternalId}`,
  },

  answer: (sessionId) => ({ chat_id: sessionId }),
});

export const documentation: Documentation = {
  summary: "Create a session",
  description:
    "Opens a ticket session: makes or refreshes the customer, sets the responsible agent, adds the other agents as participants and stores the first message. All of it or none. Each accepted request opens a new session.",
  fields: {
    sbs: {
      description:
        'Your identifier of the customer. A new one makes a new customer. A string, or an integer without a fraction or an exponent. An integer has at most 64 digits, the sign included, and every digit is kept. 1001 and "1001" are the same customer.',
      // The Zod schema sees only text, because the reader of JSON turns a numeric sbs into its digits.
      type: undefined,
      minLength: undefined,
      maxLength: undefined,
      anyOf: [
        { type: "string", minLength: 1, maxLength: 64 },
        { type: "integer", exclusiveMinimum: -1e63, exclusiveMaximum: 1e64 },
      ],
      examples: ["customer_001", 1001],
    },
    ip: { description: "The customer's IPv4 or IPv6 address.", examples: ["127.0.0.1", "2001:db8::1"] },
    sbs_mc: { description: "The customer's name. The latest request sets it.", examples: ["Customer Name"] },
    content: { description: "The first message of the session.", examples: ["Initial message"] },
    title: {
      description:
        "The title of the session, for the customer and for the agents. Events have it as `visitor_title` and `agent_title`.",
      examples: ["Order Consultation"],
    },
    kefu_id: {
      description:
        "Agents of this site in normal status: 1 to 100, one named twice counts once. Those other than `fzr_uid` become participants.",
      type: "array",
      items: { type: "integer", minimum: 1, maximum: 9007199254740991 },
      minItems: 1,
      maxItems: 100,
      examples: [[10411, 10427]],
    },
    fzr_uid: { description: "The responsible agent. Must be one of `kefu_id`, else 400.", examples: [10411] },
    sender_type: {
      description: `Who the first message is from, and so the session's status:
- \`1\` the customer; the session waits for a reply
- \`2\` the responsible agent; the session counts as replied
- \`3\` the system, as an agent message with uid 0; the session waits for a reply`,
      type: "integer",
      examples: [1],
    },
    metadata: METADATA_WORDS,
  },
  probes: () => ({
    metadata: metadataProbes(),
  }),
  examples: {
    documented: {
      summary: "With a title",
      fields: {
        sbs: "customer_001",
        kefu_id: [10411, 10427],
        fzr_uid: 10411,
        ip: "127.0.0.1",
        sbs_mc: "Customer Name",
        content: "Initial message",
        title: "Order Consultation",
      },
      fingerprint: "e254d0928e6a269fa8675b26c599e7d39aaa1fcfad378f7002d8411ddffa960e",
    },
    from_customer: {
      summary: "Asked by the customer, with metadata",
      fields: {
        sbs: 1001,
        kefu_id: [10411],
        fzr_uid: 10411,
        ip: "2001:db8::1",
        sbs_mc: "王伟",
        content: "我的订单在哪里？",
        sender_type: 1,
        metadata: { order: "20260617-0042" },
      },
      fingerprint: "36f9c122848bff360c62d32ec62e0d1a74a93ca721887c5e5b1a512f9c89e71f",
    },
  },
  answer: {
    schema: {
      type: "object",
      properties: {
        chat_id: { type: "integer", description: "The id of the session.", minimum: 1, examples: [900220] },
      },
      required: ["chat_id"],
      additionalProperties: false,
    },
    example: { chat_id: 900220 },
  },
  event: {
    summary: "A session was created",
    description:
      "Everything stored about the new session, as `GET /admin/sites/{site_id}/sessions/{chat_id}` gives it.",
    properties: SESSION_PROPERTIES,
    example: {
      chat_id: 900220,
      kind: "ticket",
      status: "replied",
      responsible_agent_id: 10411,
      visitor_title: "Order Consultation",
      agent_title: "Order Consultation",
      auto_title: "Initial message",
      metadata: { order: "20260617-0042" },
      created_at: 1781683144,
      customer: { sbs: "customer_001", name: "Customer Name", ip: "127.0.0.1" },
      participants: [{ agent_id: 10427, added_by: 10411 }],
      messages: [{ sender: "agent", sender_uid: 10411, content: "Initial message" }],
    },
  },
  refusals: {
    agents_invalid: {
      cause: "An agent in `kefu_id` of `create_gd` is unknown, disabled, or another site's.",
      cure: "`x-error-detail` names each and why: `unknown` (the site has no such agent) or `disabled`. Ask the operator which agents the site has, or send only those in normal status.",
    },
  },
};
