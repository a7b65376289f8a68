import { SESSION_PROPERTIES } from "../../services/sessions.ts";
import { type JsonSchema, REQUEST_ID_EXAMPLE, type SchemaWords, time } from "../words.ts";

export const sbs = (): JsonSchema => ({
  description:
    'Your identifier of the customer, as `create_gd` had it. A string, or an integer: 1001 and "1001" are the same customer.',
  // The Zod schema describes text only, because an integer becomes its digits before the check.
  type: undefined,
  minLength: undefined,
  maxLength: undefined,
  anyOf: [
    { type: "string", minLength: 1, maxLength: 64 },
    { type: "integer", exclusiveMinimum: -1e63, exclusiveMaximum: 1e64 },
  ],
  examples: ["customer_001"],
});

/** A session with everything that is stored about it. */
export const exportedSession = (): SchemaWords => {
  const { customer: _, participants: __, messages: ___, ...ofSession } = SESSION_PROPERTIES;
  return {
    ...ofSession,
    appid: { description: "The app that opened it.", examples: ["42d7c13c16e7ed0479f2418eb8894310"] },
    request_id: {
      description: "The `x-request-id` of the call that opened it; null for sessions from before this was kept.",
      examples: [REQUEST_ID_EXAMPLE],
    },
    participants: {
      description: "Agents on the session other than the responsible one.",
      items: {
        properties: {
          agent_id: { description: "The agent.", examples: [10427] },
          added_by: { description: "The agent who acted.", examples: [10411] },
          added_at: time("When."),
        },
      },
    },
    messages: {
      description: "What was said, in order.",
      items: {
        properties: {
          sender: { description: "Whose side.", examples: ["agent"] },
          sender_uid: { description: "The agent; 0 for the system, null for the customer.", examples: [10411] },
          content: { description: "What was said.", examples: ["Initial message"] },
          created_at: time("When."),
        },
      },
    },
  };
};
