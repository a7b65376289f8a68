import { env } from "cloudflare:workers";

type Row = Record<string, unknown>;

/** What operators have stored about a site: its apps, agents and audit log, and the number of all sites. */
export function readOperated(siteId: number, db = env.DB) {
  return readAll(
    {
      routes: ["SELECT appid FROM app_routes WHERE site_id = ? ORDER BY appid", siteId],
      apps: ["SELECT * FROM apps WHERE site_id = ? ORDER BY appid", siteId],
      agents: ["SELECT * FROM agents WHERE site_id = ? ORDER BY id", siteId],
      audit: ["SELECT * FROM audit_log WHERE site_id = ? ORDER BY id", siteId],
      sites: ["SELECT name, status FROM sites WHERE id >= ?", siteId],
      homeSites: ["SELECT name, status, chat_id_floor FROM home_sites WHERE site_id >= ?", siteId],
    },
    db,
  );
}

/** All rows that signed calls have stored for a site and its app, so that a test can check exactly what was written. */
export function readStored({ siteId, appid }: { siteId: number; appid: string }, db: D1Database) {
  return readAll(
    {
      customers: ["SELECT * FROM customers WHERE site_id = ? ORDER BY created_at, external_id", siteId],
      sessions: ["SELECT * FROM sessions WHERE site_id = ? ORDER BY id", siteId],
      participants: ["SELECT * FROM participants WHERE site_id = ? ORDER BY session_id, agent_id", siteId],
      messages: ["SELECT * FROM messages WHERE site_id = ? ORDER BY session_id, seq", siteId],
      nonces: ["SELECT * FROM nonces WHERE appid = ? ORDER BY ranstr", appid],
      keys: ["SELECT * FROM idempotency_keys WHERE appid = ? ORDER BY operation, key", appid],
    },
    db,
  );
}

/** Runs queries with one parameter each in one round trip, because round trips take most of a test's time. */
async function readAll<Name extends string>(
  queries: Record<Name, [sql: string, parameter: number | string]>,
  db: D1Database,
): Promise<Record<Name, Row[]>> {
  const entries = Object.entries<[string, number | string]>(queries);
  const results = await db.batch<Row>(entries.map(([, [sql, parameter]]) => db.prepare(sql).bind(parameter)));
  return Object.fromEntries(entries.map(([name], i) => [name, results[i]?.results ?? []])) as Record<Name, Row[]>;
}

export async function tablesOf(db: D1Database): Promise<Record<string, Row[]>> {
  const query =
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '_cf_%'";
  const { results: tables } = await db.prepare(query).all<{ name: string }>();
  const rows = await db.batch<Row>(tables.map(({ name }) => db.prepare(`SELECT * FROM "${name}"`)));
  return Object.fromEntries(tables.map(({ name }, i) => [name, rows[i]?.results ?? []]));
}
