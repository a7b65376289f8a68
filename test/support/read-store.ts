import { env } from "cloudflare:workers";

type Row = Record<string, unknown>;

/** What operators made of a site: its apps, agents and audit log, and how many sites there are. */
export function readOperated(siteId: number) {
  return readAll({
    apps: ["SELECT * FROM apps WHERE site_id = ? ORDER BY appid", siteId],
    agents: ["SELECT * FROM agents WHERE site_id = ? ORDER BY id", siteId],
    audit: ["SELECT * FROM audit_log WHERE site_id = ? ORDER BY id", siteId],
    sites: ["SELECT name FROM sites WHERE id >= ?", siteId],
  });
}

/** What signed calls stored of a site and its app, whole: for "nothing was written" and for "exactly this was". */
export function readStored({ siteId, appid }: { siteId: number; appid: string }) {
  const ofSessions = (table: string) =>
    `SELECT t.* FROM ${table} t JOIN sessions s ON s.id = t.session_id WHERE s.site_id = ? ORDER BY 1, 2`;
  return readAll({
    customers: ["SELECT * FROM customers WHERE site_id = ? ORDER BY id", siteId],
    sessions: ["SELECT * FROM sessions WHERE site_id = ? ORDER BY id", siteId],
    participants: [ofSessions("participants"), siteId],
    messages: [ofSessions("messages"), siteId],
    nonces: ["SELECT * FROM nonces WHERE appid = ? ORDER BY ranstr", appid],
    keys: ["SELECT * FROM idempotency_keys WHERE appid = ? ORDER BY operation, key", appid],
  });
}

/** Runs queries of one parameter each, in one round trip: most of a test's time is its round trips. */
async function readAll<Name extends string>(
  queries: Record<Name, [sql: string, parameter: number | string]>,
): Promise<Record<Name, Row[]>> {
  const asked = Object.entries<[string, number | string]>(queries);
  const results = await env.DB.batch<Row>(asked.map(([, [sql, parameter]]) => env.DB.prepare(sql).bind(parameter)));
  return Object.fromEntries(asked.map(([name], i) => [name, results[i]?.results ?? []])) as Record<Name, Row[]>;
}
