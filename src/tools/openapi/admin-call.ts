import type { adminSchemas } from "./admin-schemas.ts";
import type { auditSchemas } from "./audit-schemas.ts";
import type { problems } from "./components.ts";
import type { customerSchemas } from "./customer-schemas.ts";
import type { journalSchemas } from "./journal-schemas.ts";
import type { Words } from "./json-schema.ts";
import type { siteSchemas } from "./site-schemas.ts";
import type { tokenSchemas } from "./token-schemas.ts";
import type { usageSchemas } from "./usage-schemas.ts";
import type { webhookSchemas } from "./webhook-schemas.ts";

type SchemaName =
  | keyof typeof adminSchemas
  | keyof typeof auditSchemas
  | keyof typeof customerSchemas
  | keyof typeof journalSchemas
  | keyof typeof siteSchemas
  | keyof typeof tokenSchemas
  | keyof typeof usageSchemas
  | keyof typeof webhookSchemas;

/** The words of openapi.json for a call of the admin API. The call itself declares the rest, and admin-paths.ts puts both together. */
export interface CallWords {
  summary: string;
  description?: string;
  /** The words for the parameters of its query. */
  query?: Words;
  /** The name of the component that describes its body. */
  body?: SchemaName;
  answer:
    | { status: 200 | 201 | 202; schema: SchemaName; media?: "application/x-ndjson" | "application/openmetrics-text" }
    | { status: 204 };
  /** In addition to the refusals that every call about a site or an app has. */
  refusals?: Parameters<typeof problems>;
  description200: string;
  /** Another success, with the same schema. */
  also?: { status: 200; description: string };
}

export const QUERY_WORDS = {
  limit: { description: "How many at most." },
  cursor: { description: "The `next_cursor` of the page before; leave out for the first page." },
} satisfies Words;
export const ID_CURSOR = { ...QUERY_WORDS, cursor: { ...QUERY_WORDS.cursor, pattern: "^[0-9]{1,16}$" } };
