import { sql } from "drizzle-orm";
import {
  type AnySQLiteColumn,
  foreignKey,
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
} from "drizzle-orm/sqlite-core";

/**
 * The tables. Every database has all of them: the directory, which is also the home `main`, and each further home. Times are Unix
 * seconds. D1 charges by written rows, so:
 * - tables whose key is not a single integer are WITHOUT ROWID. drizzle-kit cannot write that, so it is added to the migration by
 *   hand, and test/store/schema.test.ts checks it;
 * - there is no AUTOINCREMENT, and no index that no query uses.
 */

// The directory. In a further home these tables are empty.

export const SITE_STATUSES = ["open", "closed"] as const;

/** Which sites there are, and where. Name, status and first_chat_id are copies: the home has the last word. */
export const sites = sqliteTable("sites", {
  id: integer().primaryKey(),
  name: text().notNull(),
  /** The name of the home: `main`, or `apac` for the binding HOME_APAC. */
  home: text().notNull(),
  /** The first chat_id that was asked for, or a later one: a home that was restored to before it had the site starts there again. */
  firstChatId: integer("first_chat_id").notNull(),
  /** `creating` until the home has the site. */
  status: text({ enum: ["creating", ...SITE_STATUSES] }).notNull(),
  /** The revision of the home's row that was copied. An older copy that comes late changes nothing. */
  revision: integer().notNull(),
  createdAt: integer("created_at").notNull(),
  /** What the settling of a restored home lifted the site's event_seq_floor to. The next restore of the home does not undo it here. */
  eventSeqFloor: integer("event_seq_floor").notNull().default(0),
});

/**
 * The site of each appid that was asked for. The route of an app is never deleted, so no other site can get the appid. A route without
 * an app can be released: then it is deleted, and the appid is free again.
 */
export const appRoutes = sqliteTable("app_routes", {
  appid: text().primaryKey(),
  siteId: integer("site_id")
    .notNull()
    .references(() => sites.id),
  /** A random id of the try that last asked for the route. A route without an app is deleted only while it is still this one. */
  claim: text(),
});

/** The open sessions of the console. Signing out ends the row, so that a copied cookie becomes useless too. */
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

// A home. Everything a site has is in its home, keyed by the site, and nothing refers out of it.

/** The sites of this home. */
export const homeSites = sqliteTable("home_sites", {
  siteId: integer("site_id").primaryKey(),
  name: text().notNull(),
  /** Signed calls of a closed site are refused, and use up no nonce. */
  status: text({ enum: SITE_STATUSES }).notNull(),
  /** No session gets an id up to this one. Whatever deletes the newest sessions of a site lifts it in the same batch. */
  chatIdFloor: integer("chat_id_floor").notNull(),
  /** Counts the changes of this row, and how often an appid of the site was to be released: no app is made that was begun before. */
  revision: integer().notNull(),
  createdAt: integer("created_at").notNull(),
  /** Whether accepted calls leave events. Without it they write nothing more than without this feature. */
  events: integer({ mode: "boolean" }).notNull().default(false),
  /** No event gets a seq up to this one. */
  eventSeqFloor: integer("event_seq_floor").notNull().default(0),
});

const siteId = () =>
  integer("site_id")
    .notNull()
    .references(() => homeSites.siteId);

export const apps = sqliteTable(
  "apps",
  {
    siteId: siteId(),
    appid: text().notNull(),
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
  (t) => [primaryKey({ columns: [t.siteId, t.appid] })],
);

export const AGENT_STATUSES = ["normal", "disabled"] as const;

export const agents = sqliteTable(
  "agents",
  {
    siteId: siteId(),
    id: integer().notNull(),
    name: text().notNull(),
    status: text({ enum: AGENT_STATUSES }).notNull(),
    /** Counts the changes of this row. */
    revision: integer().notNull().default(0),
  },
  (t) => [primaryKey({ columns: [t.siteId, t.id] })],
);

export const customers = sqliteTable(
  "customers",
  {
    siteId: siteId(),
    externalId: text("external_id").notNull(),
    name: text().notNull(),
    ip: text().notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.siteId, t.externalId] })],
);

/** The only list of statuses: all code that lists, counts or checks statuses uses it. */
export const SESSION_STATUSES = ["waiting", "replied"] as const;

export const sessions = sqliteTable(
  "sessions",
  {
    siteId: integer("site_id").notNull(),
    /** Counts per site, from 1 or from the site's first_chat_id. */
    id: integer().notNull(),
    /** The app that opened it. */
    appid: text().notNull(),
    kind: text({ enum: ["ticket", "chat"] }).notNull(),
    customerExternalId: text("customer_external_id").notNull(),
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
    primaryKey({ columns: [t.siteId, t.id] }),
    foreignKey({
      columns: [t.siteId, t.customerExternalId],
      foreignColumns: [customers.siteId, customers.externalId],
    }),
    // Serves the list and the count of one status.
    index("sessions_by_status").on(t.siteId, t.status),
    // Serves the search for a customer's sessions.
    index("sessions_by_customer").on(t.siteId, t.customerExternalId),
  ],
);

const SESSION_NAMES = {
  id: "chat_id",
  kind: "kind",
  status: "status",
  responsibleAgentId: "responsible_agent_id",
  visitorTitle: "visitor_title",
  agentTitle: "agent_title",
  autoTitle: "auto_title",
  metadata: "metadata",
  createdAt: "created_at",
} as const satisfies Record<
  // Said elsewhere: the site by the address, the app beside an event's data, the customer as an object.
  Exclude<keyof typeof sessions.$inferSelect, "siteId" | "appid" | "customerExternalId">,
  string
>;

type SessionColumn = keyof typeof SESSION_NAMES;
export type SessionField = (typeof SESSION_NAMES)[SessionColumn];

/** What is told of a session's row: each column and its name, in this order, in `session.created` and in the admin API. */
export const SESSION_FIELDS = Object.entries(SESSION_NAMES) as [SessionColumn, SessionField][];

const sessionOf = (t: { siteId: AnySQLiteColumn; sessionId: AnySQLiteColumn }) =>
  foreignKey({ columns: [t.siteId, t.sessionId], foreignColumns: [sessions.siteId, sessions.id] });

export const participants = sqliteTable(
  "participants",
  {
    siteId: integer("site_id").notNull(),
    sessionId: integer("session_id").notNull(),
    agentId: integer("agent_id").notNull(),
    addedBy: integer("added_by").notNull(),
    addedAt: integer("added_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.siteId, t.sessionId, t.agentId] }), sessionOf(t)],
);

export const messages = sqliteTable(
  "messages",
  {
    siteId: integer("site_id").notNull(),
    sessionId: integer("session_id").notNull(),
    seq: integer().notNull(),
    sender: text({ enum: ["visitor", "agent"] }).notNull(),
    /** The agent's id; 0 for system-generated text; null for the visitor. */
    senderUid: integer("sender_uid"),
    content: text().notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.siteId, t.sessionId, t.seq] }), sessionOf(t)],
);

/**
 * Used ranstr, each with the outcome of the request that claimed it. The claim is the first statement of every batch, and all later
 * statements depend on its row. So running the same batch again (same owner, another attempt) changes nothing.
 */
export const nonces = sqliteTable(
  "nonces",
  {
    siteId: integer("site_id").notNull(),
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
  (t) => [primaryKey({ columns: [t.siteId, t.appid, t.ranstr] })],
);

/** The answer to the first accepted request with each Idempotency-Key. */
export const idempotencyKeys = sqliteTable(
  "idempotency_keys",
  {
    siteId: integer("site_id").notNull(),
    appid: text().notNull(),
    operation: text().notNull(),
    key: text().notNull(),
    /** The fingerprint of that request: SHA-256 in hex. */
    fingerprint: text().notNull(),
    sessionId: integer("session_id").notNull(),
    expiresAt: integer("expires_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.siteId, t.appid, t.operation, t.key] })],
);

/** What happened on a site: one row for each accepted call, written in the call's own batch. Pings are events too. */
export const events = sqliteTable(
  "events",
  {
    siteId: integer("site_id").notNull(),
    /** Counts per site, from 1. The newest event of a site is never deleted, so no seq is given twice. */
    seq: integer().notNull(),
    /** A random id: the `webhook-id` of every attempt to deliver it. */
    id: text().notNull(),
    type: text().notNull(),
    /** The session that it is about; null for a ping. */
    sessionId: integer("session_id"),
    createdAt: integer("created_at").notNull(),
    /** JSON, the same bytes for every receiver and at every attempt; null once it was erased. */
    data: text(),
  },
  (t) => [primaryKey({ columns: [t.siteId, t.seq] })],
);

export const WEBHOOK_STATUSES = ["enabled", "disabled"] as const;

/** Where a site's events are posted to. */
export const webhooks = sqliteTable(
  "webhooks",
  {
    siteId: siteId(),
    id: text().notNull(),
    url: text().notNull(),
    /** The types of events that it gets, as a JSON array. */
    events: text({ mode: "json" }).$type<string[]>().notNull(),
    status: text({ enum: WEBHOOK_STATUSES }).notNull(),
    /** Why the Worker disabled it; null when an operator did, or when it is enabled. */
    disabledReason: text("disabled_reason"),
    /** A random id of the current secret, as that of an app. */
    version: text().notNull(),
    secret: text().notNull(),
    previousVersion: text("previous_version"),
    previousSecret: text("previous_secret"),
    previousExpiresAt: integer("previous_expires_at"),
    /** The first failure since the last success; null when the last attempt succeeded or there was none. */
    failingSince: integer("failing_since"),
    createdAt: integer("created_at").notNull(),
    /** Counts the changes of URL, events and status. */
    revision: integer().notNull().default(0),
  },
  (t) => [primaryKey({ columns: [t.siteId, t.id] })],
);

export const DELIVERY_STATUSES = ["pending", "delivered", "failed", "skipped"] as const;

/** An event on its way to one webhook. D1 is the truth: a message of the queue only says that a webhook has something due. */
export const deliveries = sqliteTable(
  "deliveries",
  {
    siteId: integer("site_id").notNull(),
    webhookId: text("webhook_id").notNull(),
    /** The event. */
    seq: integer().notNull(),
    status: text({ enum: DELIVERY_STATUSES }).notNull(),
    /** How many attempts were begun. */
    attempts: integer().notNull(),
    /** When the next attempt is due, or the lease of the one in flight ends; null unless it is pending. */
    nextAttemptAt: integer("next_attempt_at"),
    /** A random id, the lease of the attempt in flight; null when there is none. Only its holder may record a failure. */
    lease: text("claim"),
    /** The HTTP status of the last attempt's answer; null without one. */
    lastStatus: integer("last_status"),
    /** Why the last attempt failed. May hold what the receiver answered. */
    lastError: text("last_error"),
    createdAt: integer("created_at").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.siteId, t.webhookId, t.seq] }),
    // Serves leasing and the sweep: what of a webhook is due, and how much of it is in flight.
    index("deliveries_due").on(t.siteId, t.webhookId, t.nextAttemptAt).where(sql`${t.status} = 'pending'`),
    // Serves the list of what failed, and sending all of it again. What succeeds has no row here.
    index("deliveries_failed").on(t.siteId, t.webhookId, t.seq).where(sql`${t.status} = 'failed'`),
  ],
);

// In every database.

/** The face that an operator used; `worker` for what the Worker does by itself. */
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
  "app.routed",
  "app.released",
  "app.issued",
  "app.imported",
  "app.rotated",
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
  "webhook.deleted",
  "secrets.resealed",
  "home.restored",
] as const;

/**
 * What operators did. Each row is written in the batch of the operator's change, so it is in the database that was changed. Copies that
 * are made between the directory and a home leave no rows: the settling of a restored home leaves one for all of them.
 */
export const auditLog = sqliteTable(
  "audit_log",
  {
    id: integer().primaryKey(),
    /** Null for what concerns the whole database. */
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

/**
 * Which homes were settled after a restore. Written in the batch that lifts the home, so that the same settling lifts it once. The
 * directory also has a row for each further home that was settled, and one named `main:<home>` for each that a settling of `main` copied.
 */
export const reconciliations = sqliteTable(
  "settlings",
  {
    /** The operator's id of the settling, or a random one. */
    id: text().notNull(),
    home: text().notNull(),
    at: integer().notNull(),
    /** No new site gets an id up to this one; null unless the directory was restored. */
    siteIdFloor: integer("site_id_floor"),
  },
  (t) => [primaryKey({ columns: [t.id, t.home] })],
);

/** Where a job that works over several runs continues: the key of the last row it read, as JSON, or the next home and its table. */
export const jobs = sqliteTable("jobs", {
  name: text().primaryKey(),
  place: text().notNull(),
});
