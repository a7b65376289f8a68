import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** The tables of usage and metrics. schema.ts has the rules for all tables. */

// Tables of a home.

const countedCalls = {
  siteId: integer("site_id").notNull(),
  appid: text().notNull(),
  /** The operation's name. */
  operation: text().notNull(),
  /** The outcome of a nonce, or the reason of a refusal that left no nonce. */
  outcome: text().notNull(),
  /** The version of the secret that verified the calls; empty when none did. */
  secret: text().notNull(),
  count: integer().notNull(),
  /** When the last of these calls came, in Unix seconds. */
  lastAt: integer("last_at").notNull(),
};

/** The signed calls of each hour. They are written when their nonces are pruned, or half an hour after they were refused. */
export const usage = sqliteTable(
  "usage",
  {
    ...countedCalls,
    /** When the hour begins, in Unix seconds. */
    hour: integer().notNull(),
    /**
     * The networks that verified calls came from, each with the time of its last call. JSON. Only the newest ones. Null when none is
     * known, and in rows of earlier releases.
     */
    networks: text({ mode: "json" }).$type<Record<string, number>>(),
  },
  (t) => [primaryKey({ columns: [t.siteId, t.appid, t.hour, t.operation, t.outcome, t.secret] })],
);

/** The signed calls of earlier days, in UTC. An old hour of {@link usage} is added to its day. */
export const usageDays = sqliteTable(
  "usage_days",
  {
    ...countedCalls,
    /** When the day begins, in Unix seconds. */
    day: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.siteId, t.appid, t.day, t.operation, t.outcome, t.secret] })],
);

export const COUNTER_NAMES = ["calls", "events", "attempts"] as const;

/** Stands in place of a site's id: the counter is of all sites of the home, also of deleted ones. */
export const WHOLE_HOME = 0;

/** Counts that only rise, of each site and of the {@link WHOLE_HOME}. Attempts are counted only for the whole home. */
export const counters = sqliteTable(
  "counters",
  {
    siteId: integer("site_id").notNull(),
    name: text({ enum: COUNTER_NAMES }).notNull(),
    /** Empty for a count that is not of one app. */
    appid: text().notNull(),
    /** The operation's name or the event's type; empty for attempts. */
    kind: text().notNull(),
    /** The outcome of calls and of attempts; empty for events. */
    outcome: text().notNull(),
    count: integer().notNull(),
    /** The value of `copies` in {@link folds} when the count last rose. */
    roseIn: integer("rose_in").notNull(),
  },
  (t) => [primaryKey({ columns: [t.siteId, t.name, t.appid, t.kind, t.outcome] })],
);

/** The event up to which the events of a site are counted. */
export const countedEvents = sqliteTable("counted_events", {
  siteId: integer("site_id").primaryKey(),
  seq: integer().notNull(),
});

/** How far counting is: one row. Times are Unix seconds. */
export const folds = sqliteTable("folds", {
  id: integer().primaryKey(),
  /** All nonces of calls up to this time are counted. */
  noncesUntil: integer("nonces_until"),
  /** All refused calls up to this time are counted. Calls whose rows come later are counted when the rows are written. */
  refusalsUntil: integer("refusals_until"),
  /** How many times the counters were copied to the directory. It is higher than any number that the directory has. */
  copies: integer().notNull().default(0),
});

// Tables of the directory: what a scrape reads.

/** The last report of a home about itself. */
export const homeMetrics = sqliteTable("home_metrics", {
  home: text().primaryKey(),
  /** When the home made it, in Unix seconds. */
  at: integer().notNull(),
  /** The number of the copy: an older copy that arrives late changes nothing. */
  copy: integer().notNull(),
  /** The counters of the whole home. JSON. */
  counters: text().notNull(),
  /** JSON. */
  gauges: text().notNull(),
});

/** The counters of a site, as its home last reported them. */
export const siteMetrics = sqliteTable("site_metrics", {
  siteId: integer("site_id").primaryKey(),
  copy: integer().notNull(),
  /** JSON. */
  counters: text().notNull(),
});
