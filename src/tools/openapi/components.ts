import { type SignedErrorCode, WIRE_ERRORS } from "../../core/errors.ts";
import { NAME_RULE } from "../../core/fields.ts";
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
export const exactly = (properties: Record<string, JsonSchema>, more: JsonSchema = {}): JsonSchema => ({
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
  exactly({
    code: integer("1 is success.", { const: 1 }),
    msg: string("Always `ok` on success.", { const: "ok" }),
    data,
  });

/** The headers of a refusal by its code, in addition to x-request-id. */
const MORE_HEADERS: Partial<Record<SignedErrorCode, (keyof typeof headers)[]>> = {
  invalid_parameters: ["x-error-detail"],
  token_invalid: ["x-error-detail"],
  session_not_found: ["x-error-detail"],
  state_forbids: ["x-error-detail"],
  body_too_large: ["x-error-detail"],
  media_type_unsupported: ["x-error-detail"],
  idempotency_key_reused: ["x-error-detail"],
  method_not_allowed: ["Allow"],
  too_many_requests: ["Retry-After"],
  unavailable: ["x-error-detail", "Retry-After"],
};

const bullets = (code: SignedErrorCode) =>
  FAILURES[code].causes.map(({ cause, cure }) => `- ${cause} *${cure}*`).join("\n");

/** The answer to a refused signed request. Each code has one message and one status. */
function failure(code: SignedErrorCode) {
  const { status, message } = WIRE_ERRORS[code];
  const value = { code: -1, msg: message, data: "" };
  return {
    description: `${FAILURES[code].name}: \`${message}\`, HTTP ${status}.\n\n${bullets(code)}`,
    headers: header("x-request-id", ...(MORE_HEADERS[code] ?? [])),
    content: {
      "application/json": {
        schema: exactly({
          code: integer("-1 is failure.", { const: -1 }),
          msg: string("The message, exactly as here.", { const: message }),
          data: string("Always empty on failure.", { const: "" }),
        }),
        examples: { [code]: { summary: FAILURES[code].name, value } },
      },
    },
  };
}

/** All codes but route_not_found: every path of the document exists. */
const failureCodes = (Object.keys(WIRE_ERRORS) as SignedErrorCode[]).filter((code) => code !== "route_not_found");

/** References to the responses of these codes, by status: two codes with one status would overwrite each other. */
export const failures = (...codes: SignedErrorCode[]) =>
  Object.fromEntries(codes.map((code) => [WIRE_ERRORS[code].status, { $ref: `#/components/responses/${code}` }]));

/** The problem details of the admin API: RFC 9457. */
const PROBLEMS = {
  400: {
    title: "Invalid input",
    description: "The body or the query is not as described; `errors` names each field.",
    detail: `name: ${NAME_RULE}`,
    more: [],
  },
  401: {
    title: "Unauthorized",
    description:
      "The bearer token is missing, wrong, deleted or expired, or the deployment has no ADMIN_TOKEN that can be used: `detail` says why.",
    detail: "Send a token as Authorization: Bearer <token>.",
    more: ["WWW-Authenticate"],
  },
  403: {
    title: "Forbidden",
    description:
      "The token's role is too low for this call, or the token is of one site and the call is about the whole deployment; `reason` says which.",
    detail: "This call needs the role operator, and yours is viewer.",
    more: [],
  },
  404: {
    title: "Not found",
    description:
      "There is no such site, app, agent, session, webhook, event, call or home. What cannot be an id is not there either.",
    detail: "There is no such site.",
    more: [],
  },
  405: {
    title: "Method not allowed",
    description: "The path takes other methods: `Allow` names them.",
    detail: "Method not allowed.",
    more: ["Allow"],
  },
  409: {
    title: "Conflict",
    description:
      "It exists already, its state forbids the change, or the site was begun and its home does not have it yet; nothing was written. Or another operator changed the same thing while the database was asked again: look at it, and send the change again if it is still wanted.",
    detail: "appid: is taken",
    more: [],
  },
  413: {
    title: "Body too large",
    description: "The body is longer than 64 KiB.",
    detail: "body: must be at most 65536 bytes",
    more: [],
  },
  415: {
    title: "Unsupported media type",
    description: "The body is not `application/json`, or has a Content-Encoding.",
    detail: "Content-Type: must be application/json, and is text/plain",
    more: [],
  },
  429: {
    title: "Too many requests",
    description:
      "Nothing was done. Too many failed tokens or look-ups from this address: more than 300 a minute, unless the operator set another limit. Or too much by this token for programs: more than 300 changes or 300 reads in 10 s, unless the operator set other limits; or more than 4 changes or 16 reads at a time. `detail` says which.",
    detail: "Too many requests.",
    more: ["Retry-After"],
  },
  500: {
    title: "Internal error",
    description: "A fault of the deployment: the log has a line with the reason under `x-request-id`.",
    detail: "Internal error.",
    more: [],
  },
  503: {
    title: "Temporarily unavailable",
    description:
      "A database did not answer, or not within 8 seconds, or none is bound for the site's home. It is unknown whether a change was made: look before you repeat it.",
    detail: "Temporarily unavailable.",
    more: ["Retry-After"],
  },
} as const;

/** What the 404 of a request id tells in addition. */
const AROUND = {
  at: integer("Of a request id: the time that it holds. Unix seconds.", { examples: [1781683144] }),
  around: {
    type: "array",
    description:
      "Of a request id: up to ten refused calls before it and ten after it, within two minutes, the newest first.",
    items: { $ref: "#/components/schemas/RefusalOfSite" },
  },
  left_out: integer(
    "Of a request id: how many refused calls within two minutes of it have no row, as far as the rows of that time say by now.",
    { minimum: 0, examples: [6] },
  ),
};

type ProblemStatus = keyof typeof PROBLEMS;

function problem(status: ProblemStatus) {
  const { title, description, detail, more } = PROBLEMS[status];
  const errors = [{ field: "name", message: NAME_RULE }];
  const fields = {
    type: string("Always `about:blank`: the status says what kind of problem it is.", { const: "about:blank" }),
    title: string("The kind of problem, for people.", { const: title }),
    status: integer("The HTTP status.", { const: status }),
    detail: string("What is wrong with this request, in English."),
  };
  const named = {
    type: "array",
    description: "One entry for each bad field.",
    minItems: 1,
    items: exactly({
      field: string("Its name; empty when the body as a whole is meant."),
      message: string("The rule that it broke."),
    }),
  };
  const reason =
    status === 403
      ? string("Why, for programs.", { enum: ["role_too_low", "token_of_one_site"], examples: ["role_too_low"] })
      : string("What stands in the way, for programs: `appid_taken`, `overlap_running`, …", {
          examples: ["appid_taken"],
        });
  const homesDown = {
    type: "array",
    description:
      status === 404
        ? "Of a request id: the homes that do not answer what was around it, if there are any."
        : "The homes that do not answer, when the others do not have what is looked for.",
    items: { type: "string" },
    examples: [["apac"]],
  };
  return {
    description,
    headers: header("x-request-id", ...more),
    content: {
      "application/problem+json": {
        schema: {
          ...exactly({
            ...fields,
            ...(status === 400 && { errors: named }),
            ...([403, 409].includes(status) && { reason }),
          }),
          ...(status === 404 && { properties: { ...fields, ...AROUND, homes_down: homesDown } }),
          ...(status === 503 && { properties: { ...fields, homes_down: homesDown } }),
        },
        example: {
          type: "about:blank",
          title,
          status,
          detail,
          ...(status === 400 && { errors }),
          ...([403, 409].includes(status) && { reason: status === 403 ? "role_too_low" : "appid_taken" }),
        },
      },
    },
  };
}

/** References to the problem details, by status. */
export const problems = (...statuses: ProblemStatus[]) =>
  Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/problem_${status}` }]));

export const responses = {
  ...Object.fromEntries(failureCodes.map((code) => [code, failure(code)])),
  ...Object.fromEntries(
    (Object.keys(PROBLEMS) as unknown as ProblemStatus[]).map((status) => [
      `problem_${status}`,
      problem(Number(status) as ProblemStatus),
    ]),
  ),
};

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
