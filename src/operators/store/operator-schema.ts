import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { PERSON_ROLES, ROLES } from "../access/role.ts";

/**
 * The tables of operators: people, their sessions and forms, and tokens, which are in the directory, and the audit log, the jobs and the
 * reconciliations, which every database has. schema.ts has the rules for all tables.
 */

/**
 * The kinds of operators: the ADMIN_TOKEN, a token for programs, or a person: somebody with a token of their own, or whose e-mail address
 * Cloudflare Access confirms.
 */
export const WHO_KINDS = ["root", "token", "person"] as const;

/** The sessions of the console. Signing out ends the row, so that a copied cookie becomes useless too. */
export const consoleSessions = sqliteTable("console_sessions", {
  /** SHA-256, in hex, of the cookie's random value, or of the assertion of Access: nobody can sign in with a copy of the table. */
  id: text().primaryKey(),
  createdAt: integer("created_at").notNull(),
  expiresAt: integer("expires_at").notNull(),
  /** Null in rows from before this was stored: then the ADMIN_TOKEN opened the session. */
  whoKind: text("who_kind", { enum: WHO_KINDS }),
  whoId: text("who_id"),
  whoName: text("who_name"),
  /** The browser and its system in a few words; null when its User-Agent shows neither. */
  browser: text(),
  /** The network of the client that opened it: /24 of IPv4, /48 of IPv6. */
  address: text(),
  /** The time of the last use, exact to five minutes. */
  lastUsedAt: integer("last_used_at"),
  /**
   * When it was ended. The row stays for a day, or until the assertion of Access ends: otherwise a late try of the sign-in or the same
   * assertion could open it again.
   */
  endedAt: integer("ended_at"),
});

/** Tokens for programs. */
export const adminTokens = sqliteTable("admin_tokens", {
  /** `tok_` and the first half of the hash. So the key finds a row by its id and by its hash. */
  id: text().primaryKey(),
  /** SHA-256, in hex, of the token: a copy of the table gives no access. */
  hash: text().notNull(),
  name: text().notNull(),
  role: text({ enum: ROLES }).notNull(),
  /** The one site that it may use; null for all sites. */
  siteId: integer("site_id"),
  createdAt: integer("created_at").notNull(),
  /** Null when it never expires. */
  expiresAt: integer("expires_at"),
  /** The hour of its last use; null before its first use. */
  lastUsedAt: integer("last_used_at"),
  /** The row stays for a day after this, so that a late try of the call that made it does not bring it back. */
  deletedAt: integer("deleted_at"),
});

/** The people whom owners let into the console. The vars CONSOLE_OWNERS, CONSOLE_OPERATORS and CONSOLE_VIEWERS name others. */
export const people = sqliteTable(
  "people",
  {
    /** `per_` and the first half of the hash, as {@link adminTokens} has it; random for an e-mail address. */
    id: text().primaryKey(),
    /** Who comes by Cloudflare Access: the address in the form that `plainEmail` gives. Null for somebody with a token. */
    email: text(),
    /** Who signs in with a token of their own. Null for an e-mail address. */
    name: text(),
    /** SHA-256, in hex, of the person's token. */
    hash: text(),
    role: text({ enum: PERSON_ROLES }).notNull(),
    /** The one site that they see; null for all sites. */
    siteId: integer("site_id"),
    createdAt: integer("created_at").notNull(),
    /** Null when it never ends. */
    expiresAt: integer("expires_at"),
    /** The hour of their last visit; null before the first. */
    lastUsedAt: integer("last_used_at"),
    /** The row stays for a day after this, so that a late try of the call that made it does not bring it back. */
    deletedAt: integer("deleted_at"),
  },
  // An e-mail address has one row, so that ending the row leaves no other one that lets the person in.
  (t) => [uniqueIndex("people_by_email").on(t.email).where(sql`deleted_at IS NULL`)],
);

/** The submitted forms of the console. A form that is submitted again changes nothing, and leads to the result of the first submit. */
export const consoleForms = sqliteTable("console_forms", {
  /** SHA-256, in hex, of the form: of its path and its fields, which include a random token. */
  id: text().primaryKey(),
  /** The console session that the form was shown to. */
  sessionId: text("session_id").notNull(),
  /** Path and query of the page that shows the result; null until the result is known. */
  location: text(),
  expiresAt: integer("expires_at").notNull(),
});

/** The surface that an operator used; `worker` for changes by the Worker itself. */
export const ACTORS = ["admin-api", "console", "worker"] as const;

export const AUDIT_ACTIONS = [
  "site.begun",
  "site.created",
  "site.renamed",
  "site.opened",
  "site.closed",
  "site.first_chat_id_set",
  "site.events_on",
  "site.events_off",
  "site.retention_set",
  "site.exported",
  "site.deletion_begun",
  "site.deleted",
  "app.routed",
  "app.released",
  "app.issued",
  "app.imported",
  "app.rotated",
  "app.overlap_ended",
  "app.tested",
  "app.revoked",
  "agent.added",
  "agent.renamed",
  "agent.enabled",
  "agent.disabled",
  "webhook.added",
  "webhook.changed",
  "webhook.enabled",
  "webhook.disabled",
  "webhook.rotated",
  "webhook.overlap_ended",
  "webhook.redelivered",
  "webhook.deleted",
  "webhook.pinged",
  "webhook.drilled",
  "secrets.resealed",
  "home.restored",
  "customer.exported",
  "customer.erasure_begun",
  "customer.erased",
  "token.created",
  "token.deleted",
  "person.added",
  "person.ended",
  "operator.signed_in",
  "operator.signed_out",
  "operator.session_ended",
  "operator.refused",
  "root.read",
] as const;

/** The actions whose rows are kept for ever. They are receipts of erasures and of deletions of sites. */
export const RECEIPTS = [
  "customer.erasure_begun",
  "customer.erased",
  "site.deletion_begun",
  "site.deleted",
] as const satisfies readonly (typeof AUDIT_ACTIONS)[number][];

/**
 * The changes by operators. Each row is written in the batch of its change, so it is in the database that was changed. Copies between the
 * directory and a home leave no rows: reconciling a restored home leaves one row for all of them.
 */
export const auditLog = sqliteTable(
  "audit_log",
  {
    id: integer().primaryKey(),
    /** Null for a change of the whole database. */
    siteId: integer("site_id"),
    at: integer().notNull(),
    actor: text({ enum: ACTORS }).notNull(),
    action: text({ enum: AUDIT_ACTIONS }).notNull(),
    /** The appid or the id of the changed object. */
    subject: text().notNull(),
    /** JSON. Never holds a secret. */
    details: text().notNull(),
    /** The id of the call that made the change; null for changes by the Worker itself, and in rows from before this was stored. */
    requestId: text("request_id"),
    /** Who made the call; null for changes by the Worker itself, for a refused sign-in, and in rows from before this was stored. */
    whoKind: text("who_kind", { enum: WHO_KINDS }),
    /** `root`, the id of the token or of the person with a token, or the e-mail address of the person. */
    whoId: text("who_id"),
    whoName: text("who_name"),
    /** The network of the client: /24 of IPv4, /48 of IPv6. */
    address: text(),
  },
  (t) => [index("audit_log_by_site").on(t.siteId)],
);

/**
 * The reconciliations of restored homes. The row is written in the batch that skips the home's ids, so the same reconciliation
 * skips them once. The directory also has a row for each further home that was reconciled, and a row `main:<home>` for each home
 * that a reconciliation of `main` has copied.
 */
export const reconciliations = sqliteTable(
  "settlings",
  {
    /** The id that the operator gave to the reconciliation, or a random one. */
    id: text().notNull(),
    home: text().notNull(),
    at: integer().notNull(),
    /** No new site gets an id up to this one. Only the reconciliation of `main` needs it; null in the directory's rows for other homes. */
    siteIdFloor: integer("site_id_floor"),
  },
  (t) => [primaryKey({ columns: [t.id, t.home] })],
);

/** The place where a job of several runs continues: the key of the last row that it read, as JSON; or the next home and table. */
export const jobs = sqliteTable("jobs", {
  name: text().primaryKey(),
  place: text().notNull(),
});
