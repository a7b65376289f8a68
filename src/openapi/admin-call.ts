import type { adminSchemas } from "./admin-schemas.ts";
import type { problems } from "./components.ts";
import type { Words } from "./json-schema.ts";
import type { webhookSchemas } from "./webhook-schemas.ts";

type SchemaName = keyof typeof adminSchemas | keyof typeof webhookSchemas;

/** What openapi.json says of a call of the admin API and the call does not say of itself. admin-paths.ts puts both together. */
export interface CallWords {
  summary: string;
  description?: string;
  /** Of the parameters of its query. */
  query?: Words;
  /** The component that describes its body. */
  body?: SchemaName;
  answer: { status: 200 | 201 | 202; schema: SchemaName } | { status: 204 };
  /** Beside those that every call about a site or an app has. */
  refusals?: Parameters<typeof problems>;
  description200: string;
}

export const QUERY_WORDS = {
  limit: { description: "How many at most." },
  cursor: { description: "The `next_cursor` of the page before; leave out for the first page." },
} satisfies Words;
export const ID_CURSOR = { ...QUERY_WORDS, cursor: { ...QUERY_WORDS.cursor, pattern: "^[0-9]{1,16}$" } };
