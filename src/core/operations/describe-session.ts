import { sql } from "drizzle-orm";
import {
  customers,
  messages,
  participants,
  SESSION_FIELDS,
  SESSION_STATUSES,
  type SessionField,
  sessions,
} from "../store/schema.ts";
import { MOST_CODE_POINTS } from "./auto-title.ts";
import type { JsonSchema } from "./operation.ts";

/**
 * The JSON Schema of a session, for the admin API and for the event. operators/http/session-data.ts and SESSION_DATA make the data,
 * both from SESSION_FIELDS of core/store/schema.ts. Only the documentation uses this schema, so the Worker's bundle leaves it out.
 */
export const SESSION_PROPERTIES = {
  chat_id: {
    type: "integer",
    description: "The session's id, which counts per site.",
    minimum: 1,
    examples: [900220],
  },
  kind: {
    type: "string",
    description: "Agents can be added to tickets only.",
    enum: ["ticket", "chat"],
    examples: ["ticket"],
  },
  status: {
    type: "string",
    description: "Whether the customer waits for a reply.",
    enum: SESSION_STATUSES,
    examples: ["replied"],
  },
  responsible_agent_id: {
    type: ["integer", "null"],
    description: "The responsible agent; null on a session that has none.",
    examples: [10411],
  },
  visitor_title: {
    type: ["string", "null"],
    description: "The title given at creation.",
    examples: ["Order Consultation"],
  },
  agent_title: {
    type: ["string", "null"],
    description: "The title given at creation.",
    examples: ["Order Consultation"],
  },
  auto_title: {
    type: ["string", "null"],
    description: "Summed up from the first message. Empty when nobody would see any of it.",
    maxLength: MOST_CODE_POINTS,
    examples: ["Initial message"],
  },
  metadata: {
    type: "object",
    description: "The pairs that the caller gave; empty without any.",
    additionalProperties: { type: "string" },
    examples: [{ order: "A-17" }],
  },
  created_at: { type: "integer", description: "When it was created. Unix seconds.", examples: [1781683144] },
  customer: {
    type: "object",
    properties: {
      sbs: {
        type: "string",
        description: "The caller's identifier of the customer, an integer as its digits.",
        examples: ["customer_001"],
      },
      name: {
        type: "string",
        description: "The customer's name, as the latest request gave it.",
        examples: ["Customer Name"],
      },
      ip: { type: "string", description: "The customer's address.", examples: ["127.0.0.1"] },
    },
    required: ["sbs", "name", "ip"],
    additionalProperties: false,
  },
  participants: {
    type: "array",
    description: "Agents on the session other than the responsible one.",
    items: { $ref: "#/components/schemas/Participant" },
  },
  messages: {
    type: "array",
    description: "What was said, in order.",
    items: { $ref: "#/components/schemas/Message" },
  },
} satisfies Record<SessionField | "customer" | "participants" | "messages", JsonSchema>;

/** A session as an event holds it: the same shape as the answer to GET /admin/sites/:site_id/sessions/:chat_id. */
export const SESSION_DATA = {
  ...Object.fromEntries(SESSION_FIELDS.map(([column, name]) => [name, sessions[column]])),
  // Replaces the column of SESSION_FIELDS, and keeps its place among the fields.
  metadata: sql`json(coalesce(${sessions.metadata}, '{}'))`,
  customer: sql`json_object('sbs', ${customers.externalId}, 'name', ${customers.name}, 'ip', ${customers.ip})`,
  participants: sql`(SELECT json_group_array(json_object('agent_id', agent_id, 'added_by', added_by)) FROM (
        SELECT agent_id, added_by FROM ${participants}
        WHERE ${participants.siteId} = ${sessions.siteId} AND ${participants.sessionId} = ${sessions.id} ORDER BY agent_id))`,
  messages: sql`(SELECT json_group_array(json_object('sender', sender, 'sender_uid', sender_uid, 'content', content)) FROM (
        SELECT sender, sender_uid, content FROM ${messages}
        WHERE ${messages.siteId} = ${sessions.siteId} AND ${messages.sessionId} = ${sessions.id} ORDER BY seq))`,
};
