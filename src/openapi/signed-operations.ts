import { addAgentsWireSchema } from "../operations/add-agents-schema.ts";
import { createSessionWireSchema } from "../operations/create-session-schema.ts";
import { requestStampSchema } from "../pipeline/request-stamp.ts";
import { envelope, exactly, failures, header, integer, string } from "./components.ts";
import { type JsonSchema, jsonSchemaOf, type Words } from "./json-schema.ts";

const STAMP_EXAMPLE = {
  appid: "42d7c13c16e7ed0479f2418eb8894310",
  timestamp: 1781683144,
  ranstr: "codex1033048655",
};

const CREATE_EXAMPLE = {
  ...STAMP_EXAMPLE,
  sbs: "customer_001",
  kefu_id: [10411, 10427],
  fzr_uid: 10411,
  ip: "127.0.0.1",
  sbs_mc: "Customer Name",
  content: "Initial message",
  title: "Order Consultation",
};

/** appid is looked at before there is a schema to look with: src/http/routes/signed.ts. */
const APPID = string("The application identifier that the operator issued.", {
  minLength: 1,
  maxLength: 64,
  examples: [STAMP_EXAMPLE.appid],
});

const STAMP_WORDS: Words = {
  timestamp: {
    description:
      "When the request was made, in Unix seconds; at most 300 s off unless the operator set another tolerance, else 401. Any integer has the right form.",
    examples: [STAMP_EXAMPLE.timestamp],
  },
  ranstr: {
    description: "A random string: each is good for one request of an app, a second use is 401.",
    examples: [STAMP_EXAMPLE.ranstr],
  },
};

const CREATE_WORDS: Words = {
  sbs: {
    description:
      'Your identifier of the customer, who is created when there is none of it yet. A string, or an integer: digits without fraction or exponent, as many as the string may have characters, the sign included, and kept digit for digit. 1001 and "1001" are the same customer.',
    examples: ["customer_001", 1001],
  },
  ip: { description: "The customer's IPv4 or IPv6 address.", examples: ["127.0.0.1", "2001:db8::1"] },
  sbs_mc: { description: "The customer's name. The latest request's holds.", examples: ["Customer Name"] },
  content: { description: "The first message of the session.", examples: ["Initial message"] },
  title: {
    description: "The remark title of the session, on the visitor's side and on the agents'.",
    examples: ["Order Consultation"],
  },
  kefu_id: {
    description:
      "Agents of this site in normal status: 1 to 100, one named twice counts once. Those beside `fzr_uid` become participants.",
    examples: [[10411, 10427]],
  },
  fzr_uid: { description: "The responsible agent. Must be one of `kefu_id`, else 400.", examples: [10411] },
  sender_type: {
    description: [
      "Who the first message is from, and so the session's status:",
      "- `1` the customer; the session waits for a reply",
      "- `2` the responsible agent; the session is replied",
      "- `3` the system, as an agent message with uid 0; the session waits for a reply",
    ].join("\n"),
    anyOf: undefined,
    type: "integer",
    enum: [1, 2, 3],
    examples: [1],
  },
};

/** A numeric sbs is validated as its digits, so the schema knows of text only: as many digits as the text may have characters. */
function withNumber(schema: JsonSchema): JsonSchema {
  const { type, minLength, maxLength, ...words } = propertyOf(schema, "sbs");
  const most = Number(maxLength);
  const number = { type: "integer", exclusiveMinimum: -(10 ** (most - 1)), exclusiveMaximum: 10 ** most };
  return {
    ...schema,
    properties: { ...schema.properties, sbs: { ...words, anyOf: [{ type, minLength, maxLength }, number] } },
  };
}

const ADD_WORDS: Words = {
  chat_id: {
    description: "The session, as `create_gd` answered it. One that this site does not have is 404.",
    examples: [900220],
  },
  kefu_ids: {
    description:
      "Agents to add: 1 to 100 ids, between commas (recommended; blanks around them are allowed) or as an array. One named twice counts once. Agents that are on the session already, unknown, disabled or another site's are ignored; when none is left, 409.",
    examples: ["10427,10428", [10427, 10428]],
  },
};

/** The text form within what is certain to be accepted: each id up to 15 digits, so that no rule of size is left unsaid. */
function withListPattern(schema: JsonSchema): JsonSchema {
  const kefuIds = propertyOf(schema, "kefu_ids");
  const [list, array] = kefuIds.anyOf ?? [];
  const id = "[ \\t]*[1-9][0-9]{0,14}[ \\t]*";
  const pattern = `^${id}(,${id}){0,${Number(array?.maxItems) - 1}}$`;
  return {
    ...schema,
    properties: { ...schema.properties, kefu_ids: { ...kefuIds, anyOf: [{ ...list, pattern }, { ...array }] } },
  };
}

function propertyOf(schema: JsonSchema, name: string): JsonSchema {
  const property = schema.properties?.[name];
  if (property === undefined) throw new Error(`the schema has no field ${name}`);
  return property;
}

/** A signed body: the stamp first, as in the documented examples. Unknown fields are ignored, so nothing is said of them. */
function signedBody(operation: JsonSchema): JsonSchema {
  const stamp = jsonSchemaOf(requestStampSchema, STAMP_WORDS);
  return {
    type: "object",
    properties: { appid: APPID, ...stamp.properties, ...operation.properties },
    required: ["appid", ...(stamp.required ?? []), ...(operation.required ?? [])],
  };
}

export const signedSchemas = {
  CreateSession: signedBody(withNumber(jsonSchemaOf(createSessionWireSchema, CREATE_WORDS))),
  AddAgents: signedBody(withListPattern(jsonSchemaOf(addAgentsWireSchema, ADD_WORDS))),
};

const idempotencyKey = {
  name: "Idempotency-Key",
  in: "header",
  description: [
    "Makes a retry safe: 1 to 255 visible ASCII characters, your own id of what you intend. Remembered for 24 hours, for this app and",
    "operation. A later request, freshly signed, with the same key and the same meaning gets the first answer again, with the header",
    "`idempotency-replayed: true`; with another meaning, 422. A refused request does not hold its key. The header is not signed.",
  ].join("\n"),
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]{1,255}$" },
  example: "order-20260617-0042",
};

const answered = (data: JsonSchema, value: unknown, ...more: Parameters<typeof header>) => ({
  description: "Done, and wholly in the store.",
  headers: header("x-request-id", "idempotency-replayed", ...more),
  content: { "application/json": { schema: envelope(data), example: { code: 1, msg: "ok", data: value } } },
});

const body = (schema: keyof typeof signedSchemas, examples: Record<string, { summary: string; value: unknown }>) => ({
  required: true,
  description: "One JSON object in UTF-8, at most 64 KiB. Fields that are not described are ignored.",
  content: { "application/json": { schema: { $ref: `#/components/schemas/${schema}` }, examples } },
});

const COMMON = { tags: ["Signed operations"], security: [{ signature: [] }], parameters: [idempotencyKey] };

const REFUSALS = [
  "invalid_parameters",
  "token_invalid",
  "method_not_allowed",
  "body_too_large",
  "media_type_unsupported",
  "idempotency_key_reused",
  "too_many_requests",
  "internal",
  "unavailable",
] as const;

/** Contract section 4. */
export const signedPaths = {
  "/openapi/chat/create_gd": {
    post: {
      ...COMMON,
      operationId: "createSession",
      summary: "Create a session",
      description:
        "Opens a ticket session: makes or refreshes the customer, sets the responsible agent, adds the other agents as participants and stores the first message. All of it or none. Each accepted request opens a new session.",
      requestBody: body("CreateSession", {
        documented: { summary: "With a title", value: CREATE_EXAMPLE },
        from_customer: {
          summary: "Asked by the customer",
          value: {
            ...STAMP_EXAMPLE,
            sbs: 1001,
            kefu_id: [10411],
            fzr_uid: 10411,
            ip: "2001:db8::1",
            sbs_mc: "王伟",
            content: "我的订单在哪里？",
            sender_type: 1,
          },
        },
      }),
      responses: {
        200: answered(exactly({ chat_id: integer("The id of the session.", { minimum: 1, examples: [900220] }) }), {
          chat_id: 900220,
        }),
        ...failures(...REFUSALS),
      },
    },
  },
  "/openapi/chat/add_kf": {
    post: {
      ...COMMON,
      operationId: "addAgents",
      summary: "Add agents to a session",
      description:
        "Adds agents to a ticket session as participants; its responsible agent acts as the operating user. The session must belong to this app's site.",
      requestBody: body("AddAgents", {
        listed: {
          summary: "Ids between commas",
          value: { ...STAMP_EXAMPLE, chat_id: 900220, kefu_ids: "10427,10428" },
        },
        array: { summary: "Ids as an array", value: { ...STAMP_EXAMPLE, chat_id: 900220, kefu_ids: [10427, 10428] } },
      }),
      responses: {
        200: answered(string("Always empty.", { const: "" }), "", "x-ignored-agents"),
        ...failures(...REFUSALS, "session_not_found", "state_forbids"),
      },
    },
  },
};
