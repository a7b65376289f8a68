import { env } from "cloudflare:workers";
import { onTestFinished } from "vitest";

/** The tables, in an order in which rows can be inserted. */
const TABLES = [
  "sites",
  "app_routes",
  "home_sites",
  "apps",
  "agents",
  "customers",
  "sessions",
  "participants",
  "messages",
  "nonces",
  "idempotency_keys",
  "events",
  "webhooks",
  "deliveries",
  "audit_log",
  "jobs",
  "settlings",
  "admin_tokens",
  "people",
  "console_sessions",
  "refusals",
  "erasures",
  "erasure_receipts",
  "customer_hash_keys",
  "site_deletions",
  "usage",
  "usage_days",
  "counters",
  "counted_events",
  "folds",
  "home_metrics",
  "site_metrics",
];

/** The highest id of a site that the directory has given. */
async function newestSite(): Promise<number> {
  const ids = "SELECT id FROM sites UNION ALL SELECT site_id FROM site_deletions";
  return (await env.DB.prepare(`SELECT max(id) AS id FROM (${ids})`).first<number>("id")) ?? 0;
}

/**
 * Lets later tests get only site ids above `newest`, by default above all given ids. A site with an old id would have the old
 * site's log and receipts.
 */
export async function keepSiteIds(newest?: number): Promise<void> {
  const keep = `INSERT INTO settlings (id, home, at, site_id_floor) VALUES ('earlier tests', 'main', 0, ?)
    ON CONFLICT DO UPDATE SET site_id_floor = max(site_id_floor, excluded.site_id_floor)`;
  await env.DB.prepare(keep)
    .bind(newest ?? (await newestSite()))
    .run();
}

/**
 * Remembers a database's current rows.
 *
 * @returns a function that restores those rows, as D1's Time Travel does
 */
export async function bookmarkDatabase(db: D1Database): Promise<() => Promise<void>> {
  const results = await db.batch<Record<string, unknown>>(TABLES.map((table) => db.prepare(`SELECT * FROM ${table}`)));
  const inserts = TABLES.flatMap((table, i) => {
    const rows = results[i]?.results ?? [];
    const columns = Object.keys(rows[0] ?? {});
    const values = columns.map((column) => `value ->> '$.${column}'`);
    const insert = `INSERT INTO ${table} (${columns.join(", ")}) SELECT ${values.join(", ")} FROM json_each(?)`;
    return rows.length === 0 ? [] : [db.prepare(insert).bind(JSON.stringify(rows))];
  });
  const deletes = TABLES.toReversed().map((table) => db.prepare(`DELETE FROM ${table}`));
  return async () => {
    const newest = db === env.DB ? await newestSite() : 0;
    await db.batch([...deletes, ...inserts]);
    onTestFinished(() => keepSiteIds(newest));
  };
}
