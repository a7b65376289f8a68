import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { deliveries, events, webhooks } from "../../core/store/event-schema.ts";
import {
  agents,
  apps,
  customers,
  idempotencyKeys,
  messages,
  nonces,
  participants,
  sessions,
} from "../../core/store/schema.ts";
import { erasures } from "./erasure-schema.ts";
import { refusals } from "./journal-schema.ts";
import { countedEvents, counters, usage, usageDays } from "./usage-schema.ts";

/** A table of a home with rows of sites. */
export interface SiteTable {
  table: SQLiteTable & { siteId: SQLiteColumn };
  /** The columns of its key after the site. Empty when it has one row for each site. */
  key: SQLiteColumn[];
}

/**
 * The tables with a site's data, in the order in which their rows are deleted: no row is deleted before the rows that refer to it. With
 * `isOfSessions`, the rows are deleted with the sessions. Of all other tables with a column for the site, only `home_sites` loses its row:
 * test/operators/store/site-tables.test.ts names each.
 */
export const SITE_TABLES: Record<string, SiteTable & { isOfSessions?: true }> = {
  deliveries: { table: deliveries, key: [deliveries.webhookId, deliveries.seq] },
  events: { table: events, key: [events.seq] },
  nonces: { table: nonces, key: [nonces.appid, nonces.ranstr] },
  idempotency_keys: {
    table: idempotencyKeys,
    key: [idempotencyKeys.appid, idempotencyKeys.operation, idempotencyKeys.key],
  },
  refusals: { table: refusals, key: [refusals.requestId] },
  participants: { table: participants, key: [participants.sessionId, participants.agentId], isOfSessions: true },
  messages: { table: messages, key: [messages.sessionId, messages.seq], isOfSessions: true },
  sessions: { table: sessions, key: [sessions.id], isOfSessions: true },
  customers: { table: customers, key: [customers.externalId] },
  erasures: { table: erasures, key: [erasures.hash, erasures.id] },
  usage: { table: usage, key: [usage.appid, usage.hour, usage.operation, usage.outcome, usage.secret] },
  usage_days: {
    table: usageDays,
    key: [usageDays.appid, usageDays.day, usageDays.operation, usageDays.outcome, usageDays.secret],
  },
  counters: { table: counters, key: [counters.name, counters.appid, counters.kind, counters.outcome] },
  counted_events: { table: countedEvents, key: [] },
  webhooks: { table: webhooks, key: [webhooks.id] },
  agents: { table: agents, key: [agents.id] },
  apps: { table: apps, key: [apps.appid] },
};
