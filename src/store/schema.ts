import { foreignKey, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

/**
 * The tables. Times are Unix seconds. D1 charges by written rows, so:
 * - tables whose key is not a single integer are WITHOUT ROWID. drizzle-kit cannot write that, so it is added to the migration by
 *   hand, and test/store/schema.test.ts checks it;
 * - there is no AUTOINCREMENT, and no index that no query uses.
 *
 * agents, customers, sessions, participants, messages, nonces and idempotency_keys are a site's own data. They may move to a database
 * near that site one day, so they have no foreign key to sites or apps.
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
    /** A random id of the current secret. Not a counter: after D1's Time Travel, a counter would give an old version to another secret. */
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

/** The only list of statuses: all code that lists, counts or checks statuses uses it. */
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
    /** The caller's own data: a JSON object of strings; null when none was given. */
    metadata: text({ mode: "json" }).$type<Record<string, string>>(),
  },
  (t) => [
    // Serves the list of one status, and the whole list, which merges the newest sessions of each status.
    index("sessions_by_site").on(t.siteId, t.status),
    // Serves the search for a customer's sessions.
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
 * Used ranstr, each with the outcome of the request that claimed it. The claim is the first statement of every batch, and all later
 * statements depend on its row. So running the same batch again (same owner, another attempt) changes nothing.
 */
export const nonces = sqliteTable(
  "nonces",
  {
    appid: text().notNull(),
    ranstr: text().notNull(),
    /** A random id of the request that made the claim. It never leaves the Worker. */
    owner: text().notNull(),
    /** The number of the try that made the row, from 1. Only that try writes anything else. */
    attempt: integer().notNull(),
    expiresAt: integer("expires_at").notNull(),
    outcome: text().notNull(),
    sessionId: integer("session_id"),
  },
  (t) => [primaryKey({ columns: [t.appid, t.ranstr] })],
);

/** The answer to the first accepted request with each Idempotency-Key. */
export const idempotencyKeys = sqliteTable(
  "idempotency_keys",
  {
    appid: text().notNull(),
    operation: text().notNull(),
    key: text().notNull(),
    /** The fingerprint of that request: SHA-256 in hex. The column keeps its first name. */
    fingerprint: text("meaning").notNull(),
    sessionId: integer("session_id").notNull(),
    expiresAt: integer("expires_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.appid, t.operation, t.key] })],
);

/** The face that an operator used. */
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
 * What operators did. Each row is written in the batch of the change, so it is in the database that was changed. Once sites have
 * databases of their own, a list of everything must read them all.
 */
export const auditLog = sqliteTable(
  "audit_log",
  {
    id: integer().primaryKey(),
    siteId: integer("site_id"),
    at: integer().notNull(),
    actor: text({ enum: ACTORS }).notNull(),
    action: text({ enum: AUDIT_ACTIONS }).notNull(),
    /** The appid, or the id, of the thing that was changed. */
    subject: text().notNull(),
    /** JSON. Never holds a secret. */
    details: text().notNull(),
  },
  (t) => [index("audit_log_by_site").on(t.siteId)],
);

/** Where a job that reads a table over several runs continues: the key of the last row it read, as JSON. */
export const jobs = sqliteTable("jobs", {
  name: text().primaryKey(),
  place: text().notNull(),
});

/** The open sessions of the console. Signing out deletes the row, so that a copied cookie becomes useless too. */
export const consoleSessions = sqliteTable("console_sessions", {
  /** SHA-256, in hex, of the cookie's random value, so that a copy of the table signs nobody in. */
  id: text().primaryKey(),
  createdAt: integer("created_at").notNull(),
  expiresAt: integer("expires_at").notNull(),
});

/** The console's forms that were sent. The same form sent again changes nothing and leads to the result of the first. */
export const consoleForms = sqliteTable("console_forms", {
  /** SHA-256, in hex, of the form: its path and its fields, among them a random token. */
  id: text().primaryKey(),
  /** The console session that the form was shown to. */
  sessionId: text("session_id").notNull(),
  /** Path and query of the page that shows the result; null until the result is known. */
  location: text(),
  expiresAt: integer("expires_at").notNull(),
});
