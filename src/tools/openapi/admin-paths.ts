import type * as z from "zod/mini";
import { APPID } from "../../core/credentials/resolve-credentials.ts";
import { HOME_NAME } from "../../core/homes.ts";
import { REQUEST_ID } from "../../core/request-id.ts";
import type { AdminCall } from "../../operators/admin/admin-call.ts";
import { ADMIN_CALLS, ADMIN_DOCUMENTATION } from "../../operators/admin/calls.ts";
import type { CallDocumentation, DescribedSchema, JsonSchema } from "../../operators/admin/words.ts";
import { header } from "./components.ts";
import { jsonSchemaOf, responseSchemaOf } from "./json-schema.ts";
import { problems } from "./problems.ts";

const MAX_ID = Number.MAX_SAFE_INTEGER;

const PATH_PARAMETERS: Record<string, { description: string; schema: JsonSchema; example: number | string }> = {
  site_id: { description: "The site's id.", schema: { type: "integer", minimum: 1, maximum: MAX_ID }, example: 1 },
  id: { description: "The agent's id.", schema: { type: "integer", minimum: 1, maximum: MAX_ID }, example: 10411 },
  chat_id: { description: "The session.", schema: { type: "integer", minimum: 1, maximum: MAX_ID }, example: 900220 },
  appid: {
    description: "The application identifier.",
    schema: { type: "string", pattern: APPID.source },
    example: "42d7c13c16e7ed0479f2418eb8894310",
  },
  webhook_id: {
    description: "The webhook's id.",
    schema: { type: "string", pattern: "^wh_[0-9a-f]{32}$" },
    example: "wh_5f0c1e7a9b3d4c2e8f6a7b1d0c9e3f42",
  },
  seq: { description: "The event, by its seq.", schema: { type: "integer", minimum: 1, maximum: MAX_ID }, example: 42 },
  request_id: {
    description: "The `x-request-id` of the call's answer.",
    schema: { type: "string", pattern: REQUEST_ID.source },
    example: "019a0b1c-2d3e-7f40-8a51-6b7c8d9e0f12",
  },
  token_id: {
    description: "The token's id.",
    schema: { type: "string", pattern: "^tok_[0-9a-f]{32}$" },
    example: "tok_5f0c1e7a9b3d4c2e8f6a7b1d0c9e3f42",
  },
  person_id: {
    description: "The person's id.",
    schema: { type: "string", pattern: "^per_[0-9a-f]{32}$" },
    example: "per_5f0c1e7a9b3d4c2e8f6a7b1d0c9e3f42",
  },
  name: {
    description: "The home's name, as `GET /admin/homes` gives it.",
    schema: { type: "string", pattern: HOME_NAME.source },
    example: "apac",
  },
};

const SCOPE_TEXTS: Record<AdminCall["scope"], string> = {
  site: "A token of one site may make it for its site.",
  app: "A token of one site may make it for the apps of its site.",
  sites: "A token of one site gets what is of its site.",
  own: "A token of one site gets what is its own.",
  deployment: "A token of one site may not.",
};

/** Who may make a call, in words. */
function accessText({ role, scope }: AdminCall): string | undefined {
  return role === "anyone" ? undefined : `Needs the role \`${role}\`. ${SCOPE_TEXTS[scope]}`;
}

/** The rows that a call may leave in the audit log, in words. */
function auditText({ audit }: AdminCall): string {
  const actions = (audit as readonly string[]).map((action) => `\`${action}\``).join(", ");
  return actions === "" ? "Leaves nothing in the audit log." : `May leave in the audit log: ${actions}.`;
}

type Method = AdminCall["method"];
type PathItem = { parameters?: object[] } & { [Each in Method]?: ReturnType<typeof operation> };

/** The paths of the admin API: the declaration of each call with its words. */
export const adminPaths: Record<string, PathItem> = {};

/** The named schemas of the calls: of their bodies, of their answers, and of parts of these. */
export const adminSchemas: Record<string, JsonSchema> = {};

for (const call of ADMIN_CALLS) {
  const words = ADMIN_DOCUMENTATION[call.id]();
  const path = `/admin${call.path.replaceAll(/:(\w+)/g, "{$1}")}`;
  adminPaths[path] ??= pathItem(call);
  adminPaths[path][call.method] = operation(call, words);
  addSchemas(call, words);
}

function addSchemas({ id, body, response }: AdminCall, words: CallDocumentation): void {
  const wrongDescription = (what: string) => new Error(`the ${what} of ${id} is not described as it is`);
  if ((body === undefined) !== (words.body === undefined)) throw wrongDescription("body");
  if ((response === undefined) !== (words.response === undefined)) throw wrongDescription("response");
  const parts = words.parts ?? [];
  const names = new Map<unknown, string>(parts.map(({ schema, name }) => [schema, name]));
  const answer = (of: z.ZodMiniType, described: DescribedSchema) =>
    add(described, () => responseSchemaOf(of, described, names));
  if (body && words.body) {
    const { fields = {} } = words.body;
    add(words.body, () => jsonSchemaOf(body, fields));
  }
  if (response && words.response) answer(response, words.response);
  for (const part of parts) answer(part.schema, part);
}

/** @throws Error when two schemas have the same name, and for words that do not fit */
function add({ name }: DescribedSchema, make: () => JsonSchema): void {
  const known = adminSchemas[name];
  const schema = withCallName(name, make);
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema))
    throw new Error(`there are two schemas ${name}`);
  adminSchemas[name] = schema;
}

/** @throws Error with the name of the schema */
function withCallName<Made>(name: string, make: () => Made): Made {
  try {
    return make();
  } catch (error) {
    throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
  }
}

function pathItem({ id, path }: AdminCall): PathItem {
  const parameters = [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => {
    const words = PATH_PARAMETERS[name];
    if (words === undefined) throw new Error(`the path of ${id} has a parameter ${name}, which is not described`);
    return { name, in: "path", required: true, ...words };
  });
  return parameters.length === 0 ? {} : { parameters };
}

function contentOf(media: string, { name }: DescribedSchema) {
  return { content: { [media]: { schema: { $ref: `#/components/schemas/${name}` } } } };
}

function operation(call: AdminCall, { refusals = [], also, ...words }: CallDocumentation) {
  const { id, role, scope, body, bodyOptional, query, status = 200 } = call;
  const answer = {
    headers: header("x-request-id"),
    ...(words.response && contentOf(words.media ?? "application/json", words.response)),
  };
  return {
    tags: ["Admin API"],
    // OpenAPI 3.1 and later allow roles in this list.
    security: role === "anyone" ? [] : [{ admin: [role] }],
    operationId: id,
    summary: words.summary,
    description: [words.description, accessText(call), auditText(call)].filter(Boolean).join("\n\n"),
    ...(query !== undefined && { parameters: withCallName(id, () => queryParameters(query, words.query ?? {})) }),
    ...(words.body !== undefined && {
      requestBody: {
        required: bodyOptional === undefined,
        description: "One JSON object in UTF-8, at most 64 KiB. Fields that are not described are refused.",
        ...contentOf("application/json", words.body),
      },
    }),
    responses: {
      ...(also && { [also.status]: { description: also.description, ...answer } }),
      [words.response === undefined ? 204 : status]: { description: words.answered, ...answer },
      // Every call refuses a parameter that is given twice.
      ...problems(400, 405, 429, 500, 503, ...refusals),
      ...(role !== "anyone" && problems(401, 403)),
      ...((scope === "site" || scope === "app") && problems(404, 409)),
      ...(body !== undefined && problems(413, 415)),
    },
  };
}

function queryParameters(...[schema, words]: Parameters<typeof jsonSchemaOf>) {
  return Object.entries(jsonSchemaOf(schema, words, "output").properties ?? {}).map(
    ([name, { description, ...rest }]) => ({ name, in: "query", description, schema: rest }),
  );
}
