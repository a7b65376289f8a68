import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Violation } from "../../core/rules.ts";

/**
 * The journal: the refused calls of known apps, a row each. Never holds a body, a signature or a text of a caller. Rows come late, by
 * a queue, and some are left out: src/operators/journal.
 */
export const refusals = sqliteTable(
  "refusals",
  {
    siteId: integer("site_id").notNull(),
    /** A UUIDv7, so the newest call has the highest key. */
    requestId: text("request_id").notNull(),
    at: integer().notNull(),
    appid: text().notNull(),
    /** The operation's name. */
    operation: text().notNull(),
    /** The HTTP status of the answer. */
    status: integer().notNull(),
    reason: text().notNull(),
    /** The text of `violations`, cut off at 500 characters; or a sentence in place of them. */
    detail: text(),
    /** The version of the secret that verified the signature; null when none did. */
    secret: text(),
    /** The network of the client: /24 of IPv4, /48 of IPv6. */
    client: text(),
    /** How many earlier calls of this app, operation and reason were left out since the row before. */
    skipped: integer().notNull(),
    /** 1 when the call was done all the same: it has a nonce, which counts it. Else null. */
    done: integer(),
    /** Which field broke which rule: the violations that `detail` has whole. Null in rows from before this column, and without a detail. */
    violations: text({ mode: "json" }).$type<readonly Violation[]>(),
  },
  (t) => [primaryKey({ columns: [t.siteId, t.requestId] })],
);
