import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { homeSites } from "../../core/store/schema.ts";

/** The tables for erasing customers' data and deleting sites. schema.ts has the rules for all tables. */

/**
 * The erasures of a home's customers. A row says how far an erasure is, and stays when it is done. So only somebody who has a customer's id
 * can ask whether this customer was erased.
 */
export const erasures = sqliteTable(
  "erasures",
  {
    siteId: integer("site_id")
      .notNull()
      .references(() => homeSites.siteId),
    /** The keyed hash of the customer's external id: operators/services/customer-hash.ts. */
    hash: text().notNull(),
    /** Ids sort by the time at which their erasures began. */
    id: text().notNull(),
    /** The customer's id; null once the erasure is done. */
    externalId: text("external_id"),
    /** The site's highest session id at the first call that erased. Later sessions are not erased. */
    until: integer().notNull(),
    /** The receipts name the customer's sessions up to this id. Nothing is deleted before this id is `until`. */
    listedTo: integer("listed_to").notNull(),
    /** When its receipts were begun, in Unix seconds. */
    listedAt: integer("listed_at").notNull(),
    /** How many sessions the erasure covers, erased ones too. */
    total: integer().notNull(),
    /** Counts the batches that erased something. Each batch raises it by one, so none is carried out twice. */
    step: integer().notNull(),
    /** The try that made the last step. */
    madeBy: text("made_by"),
    /** How many rows were erased so far, by tables. */
    sessions: integer().notNull(),
    messages: integer().notNull(),
    participants: integer().notNull(),
    events: integer().notNull(),
    deliveries: integer().notNull(),
    /** A JSON object: for each webhook's id, how many events it has or may have received, and how many sessions it is told of. */
    webhooks: text({ mode: "json" })
      .$type<Record<string, Record<"delivered" | "attempted" | "told", number>>>()
      .notNull(),
    begunAt: integer("begun_at").notNull(),
    doneAt: integer("done_at"),
  },
  (t) => [
    primaryKey({ columns: [t.siteId, t.hash, t.id] }),
    // The key of the hashes may be lost during an erasure: then the customer's id finds the row.
    index("erasures_under_way").on(t.siteId, t.externalId).where(sql`external_id IS NOT NULL`),
    // Answers and the audit log name an erasure by its id alone.
    uniqueIndex("erasures_by_id").on(t.siteId, t.id),
  ],
);

/**
 * In the directory: which sessions the erasures of all homes delete, so that a restored home erases them again. Rows are kept for longer
 * than a restore reaches back. KV holds the same.
 */
export const erasureReceipts = sqliteTable(
  "erasure_receipts",
  {
    home: text().notNull(),
    siteId: integer("site_id").notNull(),
    erasureId: text("erasure_id").notNull(),
    /** When the list was begun, in Unix seconds. A later list never replaces an earlier one, because a restored home has other sessions. */
    listedAt: integer("listed_at").notNull(),
    /** The first id of this part. The list of a customer with very many sessions has several parts. */
    firstChatId: integer("first_chat_id").notNull(),
    at: integer().notNull(),
    hash: text().notNull(),
    until: integer().notNull(),
    /** A JSON array, ascending. */
    chatIds: text("chat_ids", { mode: "json" }).$type<number[]>().notNull(),
  },
  (t) => [primaryKey({ columns: [t.home, t.siteId, t.erasureId, t.listedAt, t.firstChatId] })],
);

/** In the directory: the key of the customers' hashes, sealed with a master key. The newest key that opens is in use. */
export const customerHashKeys = sqliteTable("customer_hash_keys", {
  id: text().primaryKey(),
  sealed: text().notNull(),
  createdAt: integer("created_at").notNull(),
  /** When KV got its copy; null before. */
  keptAt: integer("kept_at"),
});

/**
 * The deletions of sites, in the site's home and in the directory, so that a restore of one of them brings no site back. A row holds only
 * the id of the site, and stays for ever: the id is never given again.
 */
export const siteDeletions = sqliteTable("site_deletions", {
  siteId: integer("site_id").primaryKey(),
  id: text().notNull(),
  home: text().notNull(),
  begunAt: integer("begun_at").notNull(),
  /** When the directory and KV had stored it. Nothing of the site is deleted before. */
  keptAt: integer("kept_at"),
  /** When nothing was left of the site. */
  doneAt: integer("done_at"),
});
