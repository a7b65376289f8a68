/** In an order in which rows can be inserted. */
const TABLES = [
  ...["sites", "app_routes", "home_sites", "apps", "agents", "customers", "sessions", "participants", "messages"],
  ...["nonces", "idempotency_keys", "events", "webhooks", "deliveries", "audit_log", "jobs", "settlings"],
  ...["admin_tokens", "console_sessions", "refusals", "erasures", "erasure_receipts", "customer_hash_keys"],
  "site_deletions",
];

/**
 * Remembers a database's current rows.
 *
 * @returns restores the database to those rows, as D1's Time Travel does
 */
export async function bookmark(db: D1Database): Promise<() => Promise<void>> {
  const rows = await Promise.all(
    TABLES.map(async (table) => (await db.prepare(`SELECT * FROM ${table}`).all<Record<string, unknown>>()).results),
  );
  const inserts = TABLES.flatMap((table, i) =>
    (rows[i] ?? []).map((row) => {
      const columns = Object.keys(row);
      const places = columns.map(() => "?").join(", ");
      const insert = db.prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places})`);
      return insert.bind(...Object.values(row));
    }),
  );
  const deletes = TABLES.toReversed().map((table) => db.prepare(`DELETE FROM ${table}`));
  return async () => void (await db.batch([...deletes, ...inserts]));
}
