import type * as z from "zod/mini";

/** The texts of a call in openapi.json. The Worker does not use them, so its bundle leaves them out. */

export type JsonSchema = {
  [keyword: string]: unknown;
  required?: string[];
  properties?: Record<string, JsonSchema>;
  anyOf?: JsonSchema[] | undefined;
};

/**
 * By field, the keywords that its schema cannot give: descriptions, and corrections of output that would mislead a code generator.
 * Words under `properties` and `items` belong to the inner schemas. A keyword that is undefined is removed.
 */
export type SchemaWords = Record<string, JsonSchema>;

/** The name of a schema in openapi.json, and its words. */
export interface DescribedSchema {
  name: string;
  fields?: SchemaWords;
  /** Keywords of the schema itself. */
  whole?: JsonSchema;
}

/** A schema with its words. Other schemas refer to it by its name, so that generated code has this name too. */
export interface NamedSchema extends DescribedSchema {
  schema: z.ZodMiniType;
}

/** The documentation of a call of the admin API. The call declares the rest; src/tools/openapi/admin-paths.ts puts both together. */
export interface CallDocumentation {
  summary: string;
  /** The summary in Chinese. All else of a call is in English on the Chinese pages. */
  chinese: string;
  description?: string;
  query?: SchemaWords;
  body?: DescribedSchema;
  response?: DescribedSchema;
  /** The parts of the response that have a name of their own. */
  parts?: NamedSchema[];
  /** The description of a successful answer. */
  answered: string;
  /** The answer of a dry run of the same call. It has the same schema. */
  also?: { status: 200; description: string };
  /** Refusals that do not follow from the declaration. */
  refusals?: (404 | 409)[];
  /** The media type of a success that is not JSON. */
  media?: "application/x-ndjson" | "application/openmetrics-text";
}

export const TIME = 1781683144;
export const REQUEST_ID_EXAMPLE = "019a0b1c-2d3e-7f40-8a51-6b7c8d9e0f12";

/** A time. The description ends with its unit. */
export const time = (description: string, example = TIME): JsonSchema => ({
  description: `${description} Unix seconds.`,
  examples: [example],
});

export const count = (description: string, example = 0): JsonSchema => ({
  description,
  minimum: 0,
  examples: [example],
});

export const queryTime = (description: string): JsonSchema => ({
  description,
  type: "integer",
  minimum: 0,
  maximum: 99_999_999_999,
});

/** NAME_RULE of fields.ts as a pattern: no control character or direction override, and at least one visible character. */
const CONTROL_RANGES = "\\u0000-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069";
const UNSEEN_RANGES =
  "\\u0020\\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f" +
  "\\u205f-\\u206f\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb";

export const newName = (whose: string, example: string): JsonSchema => ({
  description: `${whose}, for people. At least one character can be seen, and none is a control character or direction override (U+202A-202E, U+2066-2069).`,
  pattern: `^[^${CONTROL_RANGES}]*[^${CONTROL_RANGES}${UNSEEN_RANGES}][^${CONTROL_RANGES}]*$`,
  examples: [example],
});

export const name = (whose: string, example: string): JsonSchema => ({
  description: `${whose}, for people.`,
  examples: [example],
});

export const siteId = (): JsonSchema => ({ description: "The site's id.", minimum: 1, examples: [1] });

export const appid = (): JsonSchema => ({
  description: "The application identifier.",
  examples: ["42d7c13c16e7ed0479f2418eb8894310"],
});

export const homeName = (): JsonSchema => ({
  description: "The name of a home: `main`, or `apac` for the database bound as HOME_APAC.",
  examples: ["main"],
});

export const homesDown = (): JsonSchema => ({
  description: "The homes that do not answer and are left out here.",
  examples: [[]],
});

/** The query of a list. @param cursor the pattern of its cursors */
export const pageQuery = (cursor: string): SchemaWords => ({
  limit: { description: "How many at most." },
  cursor: { description: "The `next_cursor` of the page before; leave out for the first page.", pattern: cursor },
});

export const ID_CURSOR = "^[0-9]{1,16}$";

export const page = (name: string, more: SchemaWords = {}): DescribedSchema => ({
  name,
  fields: {
    items: { description: "At most `limit` of them." },
    next_cursor: { description: "Give it as `cursor` for the next page; null on the last.", examples: ["1"] },
    ...more,
  },
});
