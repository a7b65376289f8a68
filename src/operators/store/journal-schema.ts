import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Violation } from "../../core/rules.ts";

/**
 * The journal: the refused calls of known apps, each in a row. It never holds a body, a signature or a text of a caller. Rows come late, by
 * a queue, and some calls have no row of their own: src/operators/journal.
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
    /** The text of `violations`, cut off at 500 characters; or a sentence when there are none. */
    detail: text(),
    /** The version of the secret that verified the signature; null when none did. */
    secret: text(),
    /** The network of the client: /24 of IPv4, /48 of IPv6. */
    client: text(),
    /** How many calls of this app, operation and reason since the row before have no row. */
    skipped: integer().notNull(),
    /** 1 when the call was carried out all the same: then its nonce counts it. Otherwise null. */
    done: integer(),
    /** Which field broke which rule: the violations that are whole in `detail`. Null without a detail, and in rows of earlier releases. */
    violations: text({ mode: "json" }).$type<readonly Violation[]>(),
    /** What the caller drilled; null for any other call, and in rows of earlier releases. */
    drill: text(),
  },
  (t) => [primaryKey({ columns: [t.siteId, t.requestId] })],
);
