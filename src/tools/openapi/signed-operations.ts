import type { SignedErrorCode } from "../../core/errors.ts";
import { DOCUMENTED } from "../../core/operations/index.ts";
import type { Documentation, Operation } from "../../core/operations/operation.ts";
import { freshnessSchema } from "../../core/signed/check-freshness.ts";
import { DRILLS } from "../../core/signed/drill.ts";
import { envelopeSchema, failures, header, string } from "./components.ts";
import { type JsonSchema, jsonSchemaOf, type SchemaWords } from "./json-schema.ts";

const SIGNED_EXAMPLE = {
  appid: "42d7c13c16e7ed0479f2418eb8894310",
  timestamp: 1781683144,
  ranstr: "codex1033048655",
};

/** Written by hand, because no schema checks the appid. See src/core/signed/read-fields.ts. */
const APPID = string("The application identifier that the operator issued.", {
  minLength: 1,
  maxLength: 64,
  examples: [SIGNED_EXAMPLE.appid],
});

const FRESHNESS_WORDS: SchemaWords = {
  timestamp: {
    description:
      "When the request was made, in Unix seconds; at most 300 s off, unless the operator set another tolerance. Otherwise the answer is 401. What is not an integer is 400.",
    examples: [SIGNED_EXAMPLE.timestamp],
  },
  ranstr: {
    description:
      "A random string, a nonce. Each can be used for one request of an app; a second use is refused with 401.",
    examples: [SIGNED_EXAMPLE.ranstr],
  },
};

/** A signed body: appid, timestamp and ranstr first, as in the examples. Unknown fields are allowed, and ignored. */
function signedBody(operation: JsonSchema): JsonSchema {
  const freshness = jsonSchemaOf(freshnessSchema, FRESHNESS_WORDS);
  return {
    type: "object",
    properties: { appid: APPID, ...freshness.properties, ...operation.properties },
    required: ["appid", ...(freshness.required ?? []), ...(operation.required ?? [])],
  };
}

const capitalise = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

/** The name of an operation's schema: `create_session` → `CreateSession`. */
const schemaName = ({ name }: Operation) => name.split("_").map(capitalise).join("");

export const signedSchemas = Object.fromEntries(
  DOCUMENTED.map(({ operation, documentation }) => [
    schemaName(operation),
    signedBody(jsonSchemaOf(operation.fields, documentation.fields)),
  ]),
);

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

const drill = {
  name: "x-drill",
  in: "header",
  description: [
    "Rehearses a bad day: `lost-answer` does the call and answers a bare 502, `busy` answers three of four calls 503 and does nothing, `slow`",
    "answers after 12 s. `lost-answer` and `slow` answer a repetition under its Idempotency-Key, and a refusal, as always. The header is not signed.",
  ].join("\n"),
  schema: { type: "string", enum: DRILLS },
};

const acceptedAnswer = (data: JsonSchema, value: unknown, ...more: Parameters<typeof header>) => ({
  description: "Done, and stored as a whole.",
  headers: header("x-request-id", "idempotency-replayed", ...more),
  content: { "application/json": { schema: envelopeSchema(data), example: { code: 1, msg: "ok", data: value } } },
});

const body = (operation: Operation, { examples }: Documentation) => ({
  required: true,
  description: "One JSON object in UTF-8, at most 64 KiB. Fields that are not described are ignored.",
  content: {
    "application/json": {
      schema: { $ref: `#/components/schemas/${schemaName(operation)}` },
      examples: Object.fromEntries(
        Object.entries(examples).map(([name, { summary, fields }]) => [
          name,
          { summary, value: { ...SIGNED_EXAMPLE, ...fields } },
        ]),
      ),
    },
  },
});

/** The refusals that every operation may give, whatever its own rules are. */
const COMMON_REFUSALS: SignedErrorCode[] = [
  "invalid_parameters",
  "token_invalid",
  "method_not_allowed",
  "body_too_large",
  "media_type_unsupported",
  "idempotency_key_reused",
  "too_many_requests",
  "internal",
  "unavailable",
];

const pathOf = (operation: Operation, documentation: Documentation) => {
  const { summary, description, answer } = documentation;
  const codes = Object.values(operation.refusals).map(({ code }) => code);
  const id = schemaName(operation);
  return {
    post: {
      tags: ["Signed operations"],
      security: [{ signature: [] }],
      parameters: [idempotencyKey, drill],
      operationId: id.charAt(0).toLowerCase() + id.slice(1),
      summary,
      description,
      requestBody: body(operation, documentation),
      responses: {
        200: acceptedAnswer(
          answer.schema,
          answer.example,
          ...(operation.leavesOut ? (["x-ignored-agents"] as const) : []),
        ),
        ...failures(...new Set([...COMMON_REFUSALS, ...codes])),
      },
    },
  };
};

/** The paths of the signed calls: contract section 4. */
export const signedPaths = Object.fromEntries(
  DOCUMENTED.map(({ operation, documentation }) => [operation.path, pathOf(operation, documentation)]),
);
