import { type SignedErrorCode, WIRE_ERRORS } from "../../core/errors.ts";
import { FAILURES } from "./failures.ts";
import type { JsonSchema } from "./json-schema.ts";
import { ACCEPTED_VECTOR, VECTOR_SECRET } from "./signature-vectors.ts";

export const integer = (description: string, more: JsonSchema = {}): JsonSchema => ({
  type: "integer",
  description,
  ...more,
});
export const string = (description: string, more: JsonSchema = {}): JsonSchema => ({
  type: "string",
  description,
  ...more,
});
export const orNull = (schema: JsonSchema): JsonSchema => ({ ...schema, type: [schema.type, "null"] });

/** An object with exactly these fields, all required. */
export const strictObject = (properties: Record<string, JsonSchema>, more: JsonSchema = {}): JsonSchema => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
});

const requestId = {
  description: "An id made here for this answer. Quote it to the operator, who finds the call in the log with it.",
  required: true,
  schema: { type: "string", format: "uuid", examples: ["019a0b1c-2d3e-7f40-8a51-6b7c8d9e0f12"] },
};

export const headers = {
  "x-request-id": requestId,
  "x-error-detail": {
    description:
      "Which field broke which rule, in English. It names an item of a list by its position from 1, and an agent by its id with the reason. It comes only when the signature is right, except for faults that depend on no secret: media type, size, encoding, not JSON, no appid, a signature that is not 64 hex digits.",
    schema: { type: "string", examples: ["fzr_uid: must be one of kefu_id"] },
  },
  "x-ignored-agents": {
    description:
      "Whom add_kf left out, each with why: `unknown` (the site has no such agent), `disabled` or `already on the session`. When that would take more than 3,000 characters, each reason stands once, before its ids: `unknown: 777 778, disabled: 10430`. It is never cut. Absent when all joined, and in an answer that is given again for an Idempotency-Key.",
    schema: {
      type: "string",
      examples: [
        "777 unknown, 10430 disabled, 10411 already on the session",
        "unknown: 777 778, disabled: 10430, already on the session: 10411 10412",
      ],
    },
  },
  "idempotency-replayed": {
    description: "`true` when this is the first answer to the Idempotency-Key, given again; absent otherwise.",
    schema: { type: "string", enum: ["true"] },
  },
  "Retry-After": {
    description: "Seconds to wait before the next try.",
    schema: { type: "integer", minimum: 1, examples: [10] },
  },
  Allow: {
    description: "The methods that this path takes.",
    required: true,
    schema: { type: "string", examples: ["POST"] },
  },
  "WWW-Authenticate": { description: "`Bearer`.", required: true, schema: { type: "string", examples: ["Bearer"] } },
};

export const header = (...names: (keyof typeof headers)[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

export const envelopeSchema = (data: JsonSchema): JsonSchema =>
  strictObject({
    code: integer("1 is success.", { const: 1 }),
    msg: string("Always `ok` on success.", { const: "ok" }),
    data,
  });

/** The headers of a refusal by its code, besides x-request-id. */
const MORE_HEADERS: Partial<Record<SignedErrorCode, (keyof typeof headers)[]>> = {
  invalid_parameters: ["x-error-detail"],
  token_invalid: ["x-error-detail"],
  session_not_found: ["x-error-detail"],
  state_forbids: ["x-error-detail"],
  body_too_large: ["x-error-detail"],
  media_type_unsupported: ["x-error-detail"],
  idempotency_key_reused: ["x-error-detail"],
  method_not_allowed: ["x-error-detail", "Allow"],
  too_many_requests: ["Retry-After"],
  unavailable: ["x-error-detail", "Retry-After"],
};

const reasonBullets = (code: SignedErrorCode) =>
  FAILURES[code].causes.map(({ cause, cure }) => `- ${cause} *${cure}*`).join("\n");

/** The answer to a refused signed request. Each code has one message and one status. */
function failure(code: SignedErrorCode) {
  const { status, message } = WIRE_ERRORS[code];
  const value = { code: -1, msg: message, data: "" };
  return {
    description: `${FAILURES[code].name}: \`${message}\`, HTTP ${status}.\n\n${reasonBullets(code)}`,
    headers: header("x-request-id", ...(MORE_HEADERS[code] ?? [])),
    content: {
      "application/json": {
        schema: strictObject({
          code: integer("-1 is failure.", { const: -1 }),
          msg: string("The message, exactly as here.", { const: message }),
          data: string("Always empty on failure.", { const: "" }),
        }),
        examples: { [code]: { summary: FAILURES[code].name, value } },
      },
    },
  };
}

/** All codes except route_not_found, which no path of the document can answer. */
const failureCodes = (Object.keys(WIRE_ERRORS) as SignedErrorCode[]).filter((code) => code !== "route_not_found");

/** References to the responses of these codes, by status. Two codes with the same status would overwrite each other. */
export const failures = (...codes: SignedErrorCode[]) =>
  Object.fromEntries(codes.map((code) => [WIRE_ERRORS[code].status, { $ref: `#/components/responses/${code}` }]));

export const failureResponses = Object.fromEntries(failureCodes.map((code) => [code, failure(code)]));

export const securitySchemes = {
  signature: {
    type: "apiKey",
    in: "header",
    name: "x-chat-signature",
    description: [
      "HMAC-SHA256 of the exact bytes of the body, keyed with the app's secret (its UTF-8 bytes as they are), as 64 hex digits;",
      "lower case is canonical. Serialise the body once, sign that string, send that string: a body that is serialised again after",
      "signing differs in spaces, in `\\u` escapes or in the order of its fields, and fails. `appid` in the body says whose secret it is.",
      "",
      `Check yours: with the key \`${VECTOR_SECRET}\`, the body`,
      "",
      "```json",
      ACCEPTED_VECTOR.body,
      "```",
      "",
      `gives \`${ACCEPTED_VECTOR.signature}\`. Its fields are valid for \`create_gd\`, apart from its fixed timestamp.`,
      "",
      "A missing, malformed or wrong signature is 401 `token验证失败!`. Programs in six languages: [integrating](/docs/integrating/#first-call).",
    ].join("\n"),
  },
  admin: {
    type: "http",
    scheme: "bearer",
    description:
      "The deployment's `ADMIN_TOKEN`, which may do everything, or a token that `POST /admin/tokens` made. Each call names the role that it needs: `metrics`, `viewer`, `operator` or `owner`, and each role may do what those before it may. A token of one site sees that site and nothing else: what is of another site is 404.",
  },
};
