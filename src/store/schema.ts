import { foreignKey, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

/**
 * The tables. Times are Unix seconds. Written rows are the bill, so:
 * - tables whose key is not a single integer are WITHOUT ROWID. drizzle-kit cannot say that, so it is added by hand to the
 *   migration, and test/store/schema.test.ts holds it in place;
 * - no AUTOINCREMENT, and no index that no query uses.
 *
 * agents, customers, sessions, participants, messages, nonces and idempotency_keys are a site's own data and may one day live in
 * a database near that site, so nothing in them refers to sites or apps by foreign key.
 */

export const sites = sqliteTable("sites", {
  id: integer().primaryKey(),
  name: text().notNull(),
  createdAt: integer("created_at").notNull(),
});

export const apps = sqliteTable(
  "apps",
  {
    appid: text().primaryKey(),
    siteId: integer("site_id")
      .notNull()
      .references(() => sites.id),
    name: text().notNull(),
    /** A random id of the current secret. No counter: one that Time Travel undid must never come again for another secret. */
    version: text().notNull(),
    secret: text().notNull(),
    previousVersion: text("previous_version"),
    previousSecret: text("previous_secret"),
    previousExpiresAt: integer("previous_expires_at"),
    revokedAt: integer("revoked_at"),
    createdAt: integer("created_at").notNull(),
  },
  (t) => [index("apps_by_site").on(t.siteId)],
);

export const AGENT_STATUSES = ["normal", "disabled"] as const;

export const agents = sqliteTable(
  "agents",
  {
    siteId: integer("site_id").notNull(),
    id: integer().notNull(),
    name: text().notNull(),
    status: text({ enum: AGENT_STATUSES }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.siteId, t.id] })],
);

export const customers = sqliteTable(
  "customers",
  {
    id: integer().primaryKey(),
    siteId: integer("site_id").notNull(),
    externalId: text("external_id").notNull(),
    name: text().notNull(),
    ip: text().notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (t) => [uniqueIndex("customers_by_external_id").on(t.siteId, t.externalId)],
);

/** The one list of them: whatever lists, counts or checks statuses goes by it. */
export const SESSION_STATUSES = ["waiting", "replied"] as const;

export const sessions = sqliteTable(
  "sessions",
  {
    id: integer().primaryKey(),
    siteId: integer("site_id").notNull(),
    kind: text({ enum: ["ticket", "chat"] }).notNull(),
    customerId: integer("customer_id")
      .notNull()
      .references(() => customers.id),
    responsibleAgentId: integer("responsible_agent_id"),
    status: text({ enum: SESSION_STATUSES }).notNull(),
    visitorTitle: text("visitor_title"),
    agentTitle: text("agent_title"),
    autoTitle: text("auto_title").notNull(),
    createdAt: integer("created_at").notNull(),
    /** What the caller keeps with the session: a JSON object of strings; null when none was given. */
    metadata: text({ mode: "json" }).$type<Record<string, string>>(),
  },
  (t) => [
    // One index serves the list by status and the whole list, which merges the statuses newest first.
    index("sessions_by_site").on(t.siteId, t.status),
    // What operators search by: a customer's sessions.
    index("sessions_by_customer").on(t.customerId),
  ],
);

export const participants = sqliteTable(
  "participants",
  {
    sessionId: integer("session_id")
      .notNull()
      .references(() => sessions.id),
    agentId: integer("agent_id").notNull(),
    addedBy: integer("added_by").notNull(),
    addedAt: integer("added_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.sessionId, t.agentId] })],
);

export const messages = sqliteTable(
  "messages",
  {
    sessionId: integer("session_id").notNull(),
    seq: integer().notNull(),
    sender: text({ enum: ["visitor", "agent"] }).notNull(),
    /** The agent's id; 0 for system-generated text; null for the visitor. */
    senderUid: integer("sender_uid"),
    content: text().notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.sessionId, t.seq] }),
    foreignKey({ columns: [t.sessionId], foreignColumns: [sessions.id] }),
  ],
);

/**
 * A used ranstr, and what was decided for the request that claimed it: the claim is the first statement of every batch, and all
 * later statements follow what it says. Running the same batch again (same owner, another attempt) therefore changes nothing.
 */
export const nonces = sqliteTable(
  "nonces",
  {
    appid: text().notNull(),
    ranstr: text().notNull(),
    /** A random id of the one request that holds the claim; it never leaves the Worker. */
    owner: text().notNull(),
    /** Which of the request's tries made the row, from 1: that one alone writes what follows. */
    attempt: integer().notNull(),
    expiresAt: integer("expires_at").notNull(),
    outcome: text().notNull(),
    sessionId: integer("session_id"),
  },
  (t) => [primaryKey({ columns: [t.appid, t.ranstr] })],
);

/** What was answered to the first accepted request with an Idempotency-Key. */
export const idempotencyKeys = sqliteTable(
  "idempotency_keys",
  {
    appid: text().notNull(),
    operation: text().notNull(),
    key: text().notNull(),
    /** SHA-256, in hex, of what the request asked for. */
    fingerprint: text("meaning").notNull(),
    sessionId: integer("session_id").notNull(),
    expiresAt: integer("expires_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.appid, t.operation, t.key] })],
);

/** Through which face an operator came. */
export const ACTORS = ["admin-api", "console"] as const;

export const AUDIT_ACTIONS = [
  "site.created",
  "app.issued",
  "app.brought_along",
  "app.rotated",
  "app.revoked",
  "agent.added",
  "agent.renamed",
  "agent.enabled",
  "agent.disabled",
  "secrets.resealed",
] as const;

/**
 * What operators did: one row in the same batch as the change itself, and so in the database that is changed. The day sites have
 * databases of their own, whoever lists this table has several to ask.
 */
export const auditLog = sqliteTable(
  "audit_log",
  {
    id: integer().primaryKey(),
    siteId: integer("site_id"),
    at: integer().notNull(),
    actor: text({ enum: ACTORS }).notNull(),
    action: text({ enum: AUDIT_ACTIONS }).notNull(),
    /** The appid or the id of what was changed. */
    subject: text().notNull(),
    /** JSON, never with a secret in it. */
    details: text().notNull(),
  },
  (t) => [index("audit_log_by_site").on(t.siteId)],
);

/** Where a job that works through a table in several runs goes on: the key of the last row it looked at, as JSON. */
export const jobs = sqliteTable("jobs", {
  name: text().primaryKey(),
  place: text().notNull(),
});

/** Who is signed in to the console. Signing out deletes the row, so a copied cookie ends with it. */
export const consoleSessions = sqliteTable("console_sessions", {
  /** SHA-256, in hex, of what the cookie holds: a copy of the table signs nobody in. */
  id: text().primaryKey(),
  createdAt: integer("created_at").notNull(),
  expiresAt: integer("expires_at").notNull(),
});

/** A form of the console that was sent: sent again it changes nothing and leads to where the first one led. */
export const consoleForms = sqliteTable("console_forms", {
  /** SHA-256, in hex, of what was sent: the random token that the form carries, its path and its fields. */
  id: text().primaryKey(),
  /** The console session the form was made for. */
  sessionId: text("session_id").notNull(),
  /** Path and query of the page that shows what came of it; null until that is known. */
  location: text(),
  expiresAt: integer("expires_at").notNull(),
});
