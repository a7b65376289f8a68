import { SESSION_PROPERTIES } from "../../core/operations/describe-session.ts";
import { customerErasureSchema, customerExportSchema } from "../../operators/services/customers.ts";
import { EVENT_TYPES } from "../../operators/services/webhooks.ts";
import { TIME } from "./admin-schemas.ts";
import { exactly, integer, orNull, string, time } from "./components.ts";
import { type JsonSchema, jsonSchemaOf } from "./json-schema.ts";

const SBS = {
  description:
    'Your identifier of the customer, as `create_gd` had it. A string, or an integer: 1001 and "1001" are the same customer.',
  // The Zod schema sees only text, because an integer becomes its digits before.
  type: undefined,
  minLength: undefined,
  maxLength: undefined,
  anyOf: [
    { type: "string", minLength: 1, maxLength: 64 },
    { type: "integer", exclusiveMinimum: -1e63, exclusiveMaximum: 1e64 },
  ],
  examples: ["customer_001"],
};

const REQUEST_ID_EXAMPLE = "019a0b1c-2d3e-7f40-8a51-6b7c8d9e0f12";
const counted = (what: string) => integer(what, { minimum: 0, examples: [1] });

const erasureId = string("The erasure's id: its rows of the audit log have it as `subject`.", {
  examples: [REQUEST_ID_EXAMPLE],
});
const chatIds = { type: "array", description: "The sessions.", items: { type: "integer" }, examples: [[900220]] };
const hash = string("The keyed hash of the customer's identifier.", {
  examples: [`1f2e3d4c.${"0".repeat(64)}`],
});

const { customer: _, participants: __, messages: ___, ...ofSession } = SESSION_PROPERTIES;

export const exportedSession = exactly({
  ...ofSession,
  appid: string("The app that opened it.", { examples: ["42d7c13c16e7ed0479f2418eb8894310"] }),
  request_id: orNull(
    string("The `x-request-id` of the call that opened it; null for sessions from before this was kept.", {
      examples: [REQUEST_ID_EXAMPLE],
    }),
  ),
  participants: {
    type: "array",
    description: "Agents on the session other than the responsible one.",
    items: exactly({
      agent_id: integer("The agent.", { examples: [10427] }),
      added_by: integer("The agent who acted.", { examples: [10411] }),
      added_at: time("When.", TIME),
    }),
  },
  messages: {
    type: "array",
    description: "What was said, in order.",
    items: exactly({
      sender: string("Whose side.", { enum: ["visitor", "agent"], examples: ["agent"] }),
      sender_uid: orNull(integer("The agent; 0 for the system, null for the customer.", { examples: [10411] })),
      content: string("What was said.", { examples: ["Initial message"] }),
      created_at: time("When.", TIME),
    }),
  },
});

const receipts = {
  type: "array",
  description: "Only where no KV is bound: keep them for 31 days. Settling a restored home needs them to erase again.",
  items: exactly({
    erasure_id: erasureId,
    site_id: integer("The site.", { minimum: 1, examples: [1] }),
    hash,
    highest_chat_id: integer("Later sessions are not erased.", { minimum: 0, examples: [900220] }),
    chat_ids: chatIds,
  }),
};

const withReceipts = (answer: JsonSchema): JsonSchema => ({
  ...answer,
  properties: { ...answer.properties, receipts },
});

/** The schemas of one customer's data. */
export const customerSchemas = {
  CustomerExport: jsonSchemaOf(customerExportSchema, {
    sbs: SBS,
    cursor: {
      description: "The `next_cursor` of the page before; leave out for the first page.",
      pattern: "^[0-9]{1,16}$",
    },
  }),
  CustomerErasure: jsonSchemaOf(customerErasureSchema, { sbs: SBS }),
  ExportedCustomer: exactly({
    customer: exactly({
      sbs: string("The caller's identifier of the customer, an integer as its digits.", { examples: ["customer_001"] }),
      name: string("As the latest request gave it.", { examples: ["Customer Name"] }),
      ip: string("The customer's address.", { examples: ["127.0.0.1"] }),
      created_at: time("The first request.", TIME),
      updated_at: time("The latest request.", TIME),
    }),
    sessions: { type: "array", description: "The oldest first.", items: exportedSession },
    events: {
      type: "array",
      description: "The events of these sessions that are kept, the oldest first.",
      items: exactly({
        id: string("The `webhook-id` of each attempt.", { examples: ["evt_0d1c2b3a495867768594a3b2c1d0e0f1"] }),
        seq: integer("Counts the site's events.", { minimum: 1, examples: [42] }),
        type: string("What happened.", { enum: EVENT_TYPES, examples: ["session.created"] }),
        chat_id: integer("The session.", { examples: [900220] }),
        created_at: time("When.", TIME),
        data: {
          type: ["object", "null"],
          description: "As receivers got it; null once it is erased.",
          examples: [{ seq: 42, chat_id: 900220 }],
        },
      }),
    },
    next_cursor: orNull(string("`cursor` of the next page; null on the last one.", { examples: ["900269"] })),
  }),
  ErasedCustomer: withReceipts(
    exactly({
      erasure_id: erasureId,
      erased: exactly({
        sessions: counted("Deleted by this call."),
        messages: counted("Deleted by this call."),
        participants: counted("Deleted by this call."),
        events: counted("Events whose data is gone by this call."),
        deliveries: counted("Deliveries that were pending or had failed, and now are `skipped`."),
      }),
      remaining: integer("Sessions that are left: send the same call again until it is 0.", {
        minimum: 0,
        examples: [0],
      }),
      customer_is_back: {
        type: "boolean",
        description:
          "Whether the customer has sessions that came after this erasure began: they stay. Once `remaining` is 0, the same call again erases them too.",
        examples: [false],
      },
      webhooks: {
        type: "array",
        description:
          "The site's webhooks, and those deleted since the erasure began that have got something: tell their receivers where `told` is false.",
        items: exactly({
          id: string("The webhook.", { examples: ["wh_5f0c1e7a9b3d4c2e8f6a7b1d0c9e3f42"] }),
          url: orNull(
            string("Where it posts to; null when it is deleted.", { examples: ["https://hooks.example.com/"] }),
          ),
          delivered: counted("Erased events that its receiver has got, as far as deliveries are kept."),
          may_have_arrived: counted(
            "Other erased events that were posted to it at least once: its receiver may have them.",
          ),
          told: {
            type: "boolean",
            description:
              "Whether `session.erased` was queued for it, for all sessions that are gone so far; before the first is gone, whether it would be.",
            examples: [true],
          },
        }),
      },
      time_travel_until: time("Until then D1's Time Travel can bring the data back.", TIME),
      idempotency_keys_until: time(
        "Until then the texts of the Idempotency-Keys of the customer's calls may be kept, with fingerprints.",
        TIME,
      ),
    }),
  ),
};
