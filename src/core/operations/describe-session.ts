import { SESSION_STATUSES, type SessionField } from "../store/schema.ts";
import type { JsonSchema } from "./operation.ts";

/**
 * The JSON Schema of a session, for the admin API and for the event. operators/admin/sessions.ts and create-session.ts make the data,
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
    description: "Summed up from the first message.",
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
