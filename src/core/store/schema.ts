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
 * seconds. D1 charges for written rows, so:
 * - tables whose key is not a single integer are WITHOUT ROWID. drizzle-kit cannot write that, so it is added to the migration by
 *   hand, and test/core/store/schema.test.ts checks it;
 * - there is no AUTOINCREMENT, and no index that no query uses.
 */

// Tables of the directory. In a further home they are empty.

export const SITE_STATUSES = ["open", "closed"] as const;

/** The statuses while a site's data is deleted, and for 31 days after that. */
export const ENDED_STATUSES = ["deleting", "deleted"] as const;

/** All sites and their homes. Name, status and first_chat_id are copies; the home's values count. */
export const sites = sqliteTable("sites", {
  id: integer().primaryKey(),
  name: text().notNull(),
  /** The name of the home: `main`, or `apac` for the binding HOME_APAC. */
  home: text().notNull(),
  /**
   * The first chat_id that the operator asked for, or a later floor. A home that was restored to a time before the site existed
   * starts there again.
   */
  firstChatId: integer("first_chat_id").notNull(),
  /** `creating` until the home has the site. */
  status: text({ enum: ["creating", ...SITE_STATUSES, ...ENDED_STATUSES] }).notNull(),
  /** The revision of the home's row that was copied. An older copy that arrives late changes nothing. */
  revision: integer().notNull(),
  createdAt: integer("created_at").notNull(),
  /** The event_seq_floor that reconciling the home has set. It is stored here too, because a restore of the home does not undo this copy. */
  eventSeqFloor: integer("event_seq_floor").notNull().default(0),
  /** A copy of the home's value: how many days sessions are kept. Null means for ever. */
  retentionDays: integer("retention_days"),
});

/**
 * The site of each reserved appid. The route of an app is never deleted, so no other site can get its appid. A route without an app
 * can be released: it is deleted, and the appid is free again.
 */
export const appRoutes = sqliteTable("app_routes", {
  appid: text().primaryKey(),
  siteId: integer("site_id")
    .notNull()
    .references(() => sites.id),
  /** A random id of the try that last reserved the route. Releasing deletes the route only while it still has this id. */
  reservation: text("claim"),
});

// Tables of a home. All data of a site is in its home, with the site in its key. No row refers to another home.

export const homeSites = sqliteTable("home_sites", {
  siteId: integer("site_id").primaryKey(),
  name: text().notNull(),
  /** While the site is closed, signed calls are refused and use up no nonce. */
  status: text({ enum: SITE_STATUSES }).notNull(),
  /** No new session gets an id up to this one. Code that deletes the newest sessions of a site must raise it in the same batch. */
  chatIdFloor: integer("chat_id_floor").notNull(),
  /**
   * Counts the changes of this row and the releases of the site's appids. An app is inserted only while the site has the revision
   * that was read before.
   */
  revision: integer().notNull(),
  createdAt: integer("created_at").notNull(),
  /** Whether accepted calls leave events. While false, they write no row for events at all. */
  events: integer({ mode: "boolean" }).notNull().default(false),
  /** No new event gets a seq up to this one. */
  eventSeqFloor: integer("event_seq_floor").notNull().default(0),
  /** How many days sessions are kept. Null means for ever. */
  retentionDays: integer("retention_days"),
});

/** The site that a row belongs to. */
export const siteId = () =>
  integer("site_id")
    .notNull()
    .references(() => homeSites.siteId);

export const apps = sqliteTable(
  "apps",
  {
    siteId: siteId(),
    appid: text().notNull(),
    name: text().notNull(),
    /**
     * A random id of the current secret. It is not a counter, because after a restore by D1's Time Travel a counter would give another
     * secret the same version.
     */
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

/** The only list of statuses. All code that lists, counts or checks statuses uses it. */
export const SESSION_STATUSES = ["waiting", "replied"] as const;

export const sessions = sqliteTable(
  "sessions",
  {
    siteId: integer("site_id").notNull(),
    /** Counts per site, from 1 or from the site's first_chat_id. */
    id: integer().notNull(),
    /** The app that opened the session. */
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
    /** The id of the call that opened the session; null for sessions from older releases. */
    requestId: text("request_id"),
  },
  (t) => [
    primaryKey({ columns: [t.siteId, t.id] }),
    foreignKey({
      columns: [t.siteId, t.customerExternalId],
      foreignColumns: [customers.siteId, customers.externalId],
    }),
    // For the list and the count of one status.
    index("sessions_by_status").on(t.siteId, t.status),
    // For the search by customer.
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
  // These are elsewhere: the site is in the URL, the app is beside an event's data, and the customer is an object.
  // Only the console shows the call that opened the session, because it is for operators.
  Exclude<keyof typeof sessions.$inferSelect, "siteId" | "appid" | "customerExternalId" | "requestId">,
  string
>;

type SessionColumn = keyof typeof SESSION_NAMES;
export type SessionField = (typeof SESSION_NAMES)[SessionColumn];

/** The columns of a session for `session.created` and the admin API, with their names on the wire, in this order. */
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
    /** The agent's id; 0 for text by the system; null for the visitor. */
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
    /** The id of the request that made the claim: its `x-request-id`. The Worker makes it, and no caller can set it. */
    owner: text().notNull(),
    /** The number of the try that inserted the row, from 1. Only that try writes other rows. */
    attempt: integer().notNull(),
    expiresAt: integer("expires_at").notNull(),
    outcome: text().notNull(),
    sessionId: integer("session_id"),
    /** The operation's name; null for a nonce from an older release. */
    operation: text(),
    /** The version of the secret that verified the request; null for a nonce from an older release. */
    secret: text(),
    /** The network of the client: /24 of IPv4, /48 of IPv6; null when it is not known, and for a nonce from an older release. */
    client: text(),
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
