import { APPID } from "../credentials/resolve-credentials.ts";
import { HOME_NAME } from "../homes.ts";
import { pageQuerySchema } from "../services/page.ts";
import type { adminSchemas } from "./admin-schemas.ts";
import { header, problems } from "./components.ts";
import { jsonSchemaOf, type Words } from "./json-schema.ts";
import type { webhookSchemas } from "./webhook-schemas.ts";

const MAX_ID = Number.MAX_SAFE_INTEGER;

type SchemaName = keyof typeof adminSchemas | keyof typeof webhookSchemas;

const PATH_PARAMETERS = {
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
  name: {
    description: "The home's name, as `GET /admin/homes` gives it.",
    schema: { type: "string", pattern: HOME_NAME.source },
    example: "apac",
  },
};

export const parametersIn = (...names: (keyof typeof PATH_PARAMETERS)[]) =>
  names.map((each) => ({ name: each, in: "path", required: true, ...PATH_PARAMETERS[each] }));

export const QUERY_WORDS = {
  limit: { description: "How many at most." },
  cursor: { description: "The `next_cursor` of the page before; leave out for the first page." },
} satisfies Words;
export const ID_CURSOR = { ...QUERY_WORDS, cursor: { ...QUERY_WORDS.cursor, pattern: "^[0-9]{1,16}$" } };

export function query(schema: Parameters<typeof jsonSchemaOf>[0], words: Words) {
  return Object.entries(jsonSchemaOf(schema, words, "output").properties ?? {}).map(
    ([each, { description, ...rest }]) => ({ name: each, in: "query", description, schema: rest }),
  );
}

export const pageQuery = query(pageQuerySchema, ID_CURSOR);

/** A call of the admin API, as {@link operation} describes it. */
interface Call {
  id: string;
  summary: string;
  description?: string;
  /** The parameters of its query. */
  query?: ReturnType<typeof query>;
  body?: SchemaName;
  bodyOptional?: true;
  answer: { status: 200 | 201 | 202; schema: SchemaName } | { status: 204 };
  refusals?: Parameters<typeof problems>;
  description200: string;
}

export function operation({
  id,
  summary,
  description,
  query,
  body,
  bodyOptional,
  answer,
  refusals = [],
  description200,
}: Call) {
  const input = body !== undefined || query !== undefined;
  const content = "schema" in answer && {
    content: { "application/json": { schema: { $ref: `#/components/schemas/${answer.schema}` } } },
  };
  return {
    tags: ["Admin API"],
    security: [{ admin: [] }],
    operationId: id,
    summary,
    ...(description !== undefined && { description }),
    ...(query !== undefined && { parameters: query }),
    ...(body !== undefined && {
      requestBody: {
        required: bodyOptional === undefined,
        description: "One JSON object in UTF-8, at most 64 KiB. Fields that are not described are refused.",
        content: { "application/json": { schema: { $ref: `#/components/schemas/${body}` } } },
      },
    }),
    responses: {
      [answer.status]: { description: description200, headers: header("x-request-id"), ...content },
      ...problems(401, 405, 429, 500, 503, ...refusals),
      ...(input && problems(400)),
      ...(body !== undefined && problems(413, 415)),
    },
  };
}
