import { NAME_RULE } from "../../core/fields.ts";
import { header, integer, strictObject, string } from "./components.ts";

/** The problem details of the admin API: RFC 9457. */
const PROBLEMS = {
  400: {
    title: "Invalid input",
    description:
      "The body or the query is not as described, or the query has a parameter twice; `errors` names each field.",
    detail: `name: ${NAME_RULE}`,
    more: [],
  },
  401: {
    title: "Unauthorized",
    description:
      "The bearer token is missing, wrong, deleted, expired or a person's (`asp_…`), or the deployment has no ADMIN_TOKEN that can be used: `detail` says why.",
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
      "Nothing was done. Too many failed tokens or look-ups from this address: more than 300 a minute, unless the operator set another limit. Or too much by this token for programs: more than 300 changes or 300 reads in 10 s, unless the operator set other limits; or more than 4 changes or 16 reads at a time. Or the drill of a webhook that was drilled less than 60 s ago. `detail` says which.",
    detail: "Too many requests.",
    more: ["Retry-After"],
  },
  500: {
    title: "Internal error",
    description:
      "A fault of the deployment: the log has a line with the reason under `x-request-id`. When `MASTER_KEY` does not open what is sealed, `detail` says so, and nothing was changed.",
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

/** The additional members of the 404 for a request id. */
const CALLS_AROUND = {
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
    items: strictObject({
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
          ...strictObject({
            ...fields,
            ...(status === 400 && { errors: named }),
            ...([403, 409].includes(status) && { reason }),
          }),
          ...(status === 404 && { properties: { ...fields, ...CALLS_AROUND, homes_down: homesDown } }),
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

export const problems = (...statuses: ProblemStatus[]) =>
  Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/problem_${status}` }]));

export const problemResponses = Object.fromEntries(
  (Object.keys(PROBLEMS) as unknown as ProblemStatus[]).map((status) => [
    `problem_${status}`,
    problem(Number(status) as ProblemStatus),
  ]),
);
