import { type SQL, sql } from "drizzle-orm";
import { deliveries, events, webhooks } from "../../../core/store/event-schema.ts";
import { agents, apps, customers, sessions } from "../../../core/store/schema.ts";
import { type Statement, statement } from "../../../core/store/statement.ts";

/**
 * This file has the queries of the console's search to a home. Each statement covers several sites and is bounded in each of them, because
 * signed calls wait for the same database. LIKE is not used: D1 refuses a pattern of more than 50 bytes, and `%` would need escapes.
 */

/** How many of a site's newest sessions are searched for words of their titles. */
export const TITLES_SEARCHED = 10_000;

/** How many of a site's newest events are searched for an id. */
export const EVENTS_SEARCHED = 10_000;

/** How many of a site's agents, and of its apps, are searched for words of their names: those with the lowest ids. */
export const NAMES_SEARCHED = 5_000;

/** How many hits of a kind a site gives. One more is read, which shows that there are others. */
export const MOST_FOUND = 20;

const numberLiteral = (value: number) => sql.raw(String(value));
const MOST_HITS = numberLiteral(MOST_FOUND + 1);

/** The sites to search, a JSON array of their ids. */
const sitesOf = (siteIds: SQL) => sql`site(id) AS MATERIALIZED (SELECT value FROM json_each(${siteIds}))`;

/** The words, a JSON array. SQLite's lower() changes only ASCII, here and in the searched texts. */
const wordsOf = (words: SQL) => sql`word(part) AS MATERIALIZED (SELECT lower(value) FROM json_each(${words}))`;

/** Condition: every word occurs in this text, which is in small letters. */
const hasWords = (text: SQL) => sql`NOT EXISTS (SELECT 1 FROM word WHERE instr(${text}, word.part) = 0)`;

export interface SessionHit {
  siteId: number;
  id: number;
  /** The title that readers see. */
  title: string;
  visitorTitle: string | null;
  createdAt: number;
  customerName: string;
}

const title = sql`coalesce(${sessions.agentTitle}, ${sessions.autoTitle})`;

const customerName = sql`(SELECT ${customers.name} FROM ${customers}
  WHERE ${customers.siteId} = ${sessions.siteId} AND ${customers.externalId} = ${sessions.customerExternalId})`;

const sessionHit = sql`${sessions.siteId} AS siteId, ${sessions.id} AS id, ${title} AS title, ${sessions.visitorTitle} AS visitorTitle,
  ${sessions.createdAt} AS createdAt, ${customerName} AS customerName`;

export const findSessions: Statement<{ sites: string; chatId: number }> = statement(
  (v) => sql`WITH ${sitesOf(v.sites)} SELECT ${sessionHit} FROM site CROSS JOIN ${sessions}
    WHERE ${sessions.siteId} = site.id AND ${sessions.id} = ${v.chatId}`,
);

/** Sessions whose titles have every word, the newest of each site first. */
export const findTitles: Statement<{ sites: string; words: string }> = statement(
  (v) => sql`WITH ${sitesOf(v.sites)}, ${wordsOf(v.words)} SELECT ${sessionHit}
    FROM site CROSS JOIN json_each((SELECT json_group_array(chat_id) FROM (
      SELECT chat_id FROM (
        SELECT ${sessions.id} AS chat_id, lower(${title} || char(10) || coalesce(${sessions.visitorTitle}, '')) AS titles
        FROM ${sessions} WHERE ${sessions.siteId} = site.id ORDER BY ${sessions.id} DESC LIMIT ${numberLiteral(TITLES_SEARCHED)})
      WHERE ${hasWords(sql`titles`)} LIMIT ${MOST_HITS}))) AS hit
    CROSS JOIN ${sessions} WHERE ${sessions.siteId} = site.id AND ${sessions.id} = hit.value`,
);

export interface CustomerHit {
  siteId: number;
  externalId: string;
  name: string;
}

export const findCustomers: Statement<{ sites: string; externalId: string }> = statement(
  (
    v,
  ) => sql`WITH ${sitesOf(v.sites)} SELECT ${customers.siteId} AS siteId, ${customers.externalId} AS externalId, ${customers.name} AS name
    FROM site CROSS JOIN ${customers} WHERE ${customers.siteId} = site.id AND ${customers.externalId} = ${v.externalId}`,
);

/** The newest sessions of this customer on each site. */
export const findSessionsOf: Statement<{ sites: string; externalId: string }> = statement(
  (v) => sql`WITH ${sitesOf(v.sites)} SELECT ${sessionHit}
    FROM site CROSS JOIN json_each((SELECT json_group_array(chat_id) FROM (
      SELECT ${sessions.id} AS chat_id FROM ${sessions}
      WHERE ${sessions.siteId} = site.id AND ${sessions.customerExternalId} = ${v.externalId} ORDER BY ${sessions.id} DESC LIMIT ${MOST_HITS}))) AS hit
    CROSS JOIN ${sessions} WHERE ${sessions.siteId} = site.id AND ${sessions.id} = hit.value`,
);

export interface AppHit {
  siteId: number;
  appid: string;
  name: string;
  revokedAt: number | null;
}

const appHit = sql`${apps.siteId} AS siteId, ${apps.appid} AS appid, ${apps.name} AS name, ${apps.revokedAt} AS revokedAt`;

/** Apps with an appid in this range, both ends included. */
export const findApps: Statement<{ sites: string; from: string; to: string }> = statement(
  (v) => sql`WITH ${sitesOf(v.sites)} SELECT ${appHit} FROM site CROSS JOIN ${apps}
    WHERE ${apps.siteId} = site.id AND ${apps.appid} >= ${v.from} AND ${apps.appid} <= ${v.to} LIMIT ${MOST_HITS}`,
);

/** Apps whose names have every word. */
export const findAppNames: Statement<{ sites: string; words: string }> = statement(
  (v) => sql`WITH ${sitesOf(v.sites)}, ${wordsOf(v.words)} SELECT ${appHit}
    FROM site CROSS JOIN json_each((SELECT json_group_array(key) FROM (
      SELECT key FROM (
        SELECT ${apps.appid} AS key, lower(${apps.name}) AS called
        FROM ${apps} WHERE ${apps.siteId} = site.id ORDER BY ${apps.appid} LIMIT ${numberLiteral(NAMES_SEARCHED)})
      WHERE ${hasWords(sql`called`)} LIMIT ${MOST_HITS}))) AS hit
    CROSS JOIN ${apps} WHERE ${apps.siteId} = site.id AND ${apps.appid} = hit.value`,
);

export interface AgentHit {
  siteId: number;
  id: number;
  name: string;
  status: string;
}

const agentHit = sql`${agents.siteId} AS siteId, ${agents.id} AS id, ${agents.name} AS name, ${agents.status} AS status`;

export const findAgents: Statement<{ sites: string; id: number }> = statement(
  (v) => sql`WITH ${sitesOf(v.sites)} SELECT ${agentHit} FROM site CROSS JOIN ${agents}
    WHERE ${agents.siteId} = site.id AND ${agents.id} = ${v.id}`,
);

/** Agents whose names have every word. */
export const findAgentNames: Statement<{ sites: string; words: string }> = statement(
  (v) => sql`WITH ${sitesOf(v.sites)}, ${wordsOf(v.words)} SELECT ${agentHit}
    FROM site CROSS JOIN json_each((SELECT json_group_array(key) FROM (
      SELECT key FROM (
        SELECT ${agents.id} AS key, lower(${agents.name}) AS called
        FROM ${agents} WHERE ${agents.siteId} = site.id ORDER BY ${agents.id} LIMIT ${numberLiteral(NAMES_SEARCHED)})
      WHERE ${hasWords(sql`called`)} LIMIT ${MOST_HITS}))) AS hit
    CROSS JOIN ${agents} WHERE ${agents.siteId} = site.id AND ${agents.id} = hit.value`,
);

export interface WebhookHit {
  siteId: number;
  id: string;
  url: string;
}

export const findWebhooks: Statement<{ sites: string; id: string }> = statement(
  (v) => sql`WITH ${sitesOf(v.sites)} SELECT ${webhooks.siteId} AS siteId, ${webhooks.id} AS id, ${webhooks.url} AS url
    FROM site CROSS JOIN ${webhooks} WHERE ${webhooks.siteId} = site.id AND ${webhooks.id} = ${v.id}`,
);

/** An event as the search shows it: once for each webhook of its site. `delivery` is null for a webhook that does not get it. */
export interface EventHit {
  siteId: number;
  seq: number;
  type: string;
  sessionId: number | null;
  createdAt: number;
  webhookId: string | null;
  url: string | null;
  delivery: string | null;
}

/** Looks for an event among the newest of each site: no index has its id. */
export const findEvents: Statement<{ sites: string; id: string }> = statement(
  (v) => sql`WITH ${sitesOf(v.sites)} SELECT ${events.siteId} AS siteId, ${events.seq} AS seq, ${events.type} AS type,
      ${events.sessionId} AS sessionId, ${events.createdAt} AS createdAt, ${webhooks.id} AS webhookId, ${webhooks.url} AS url, ${deliveries.status} AS delivery
    FROM site CROSS JOIN json_each((SELECT json_group_array(seq) FROM (
      SELECT seq FROM (
        SELECT ${events.seq} AS seq, ${events.id} AS event FROM ${events} WHERE ${events.siteId} = site.id
        ORDER BY ${events.seq} DESC LIMIT ${numberLiteral(EVENTS_SEARCHED)})
      WHERE event = ${v.id} LIMIT 1))) AS hit
    CROSS JOIN ${events} ON ${events.siteId} = site.id AND ${events.seq} = hit.value
    LEFT JOIN ${webhooks} ON ${webhooks.siteId} = ${events.siteId}
    LEFT JOIN ${deliveries} ON ${deliveries.siteId} = ${events.siteId} AND ${deliveries.webhookId} = ${webhooks.id} AND ${deliveries.seq} = ${events.seq}`,
);
