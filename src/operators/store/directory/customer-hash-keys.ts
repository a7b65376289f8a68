import { and, desc, eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { appRoutes } from "../../../core/store/schema.ts";
import { customerHashKeys } from "../erasure-schema.ts";

/** A key as stored. */
export type HashKeyRow = typeof customerHashKeys.$inferSelect;

/** All keys, the newest first. */
export function selectHashKeys(directory: D1Database): Promise<HashKeyRow[]> {
  const { createdAt, id } = customerHashKeys;
  return drizzle(directory).select().from(customerHashKeys).orderBy(desc(createdAt), desc(id)).all();
}

/** All keys, and whether an appid is in use or reserved, in one statement. */
export async function selectCanary(directory: D1Database): Promise<{ keys: HashKeyRow[]; hasApps: boolean }> {
  const { id, sealed, createdAt, keptAt } = customerHashKeys;
  const rows = await drizzle(directory).all<
    { hasApps: number } & { [Name in keyof HashKeyRow]: HashKeyRow[Name] | null }
  >(
    sql`SELECT any_app.has AS hasApps, ${id} AS id, ${sealed} AS sealed, ${createdAt} AS createdAt, ${keptAt} AS keptAt
      FROM (SELECT EXISTS (SELECT 1 FROM ${appRoutes}) AS has) AS any_app LEFT JOIN ${customerHashKeys} ON true
      ORDER BY ${createdAt} DESC, ${id} DESC`,
  );
  const keys = rows.filter((row): row is { hasApps: number } & HashKeyRow => row.id !== null);
  return { keys, hasApps: rows[0]?.hasApps === 1 };
}

/** Stores a key, unless the number of keys in the directory is not `known`: then another call has stored one. */
export async function insertHashKey(directory: D1Database, row: HashKeyRow, known: number): Promise<void> {
  const { id, sealed, createdAt, keptAt } = row;
  const values = sql`SELECT ${id}, ${sealed}, ${createdAt}, ${keptAt}`;
  await drizzle(directory)
    .insert(customerHashKeys)
    .select(sql`${values} WHERE (SELECT count(*) FROM ${customerHashKeys}) = ${known}`)
    // KV may have the same key sealed with another master key, while the seal here does not open.
    .onConflictDoUpdate({ target: customerHashKeys.id, set: { sealed, keptAt } })
    .run();
}

/** Changes a key's row, unless another call has sealed the key again. */
export async function updateHashKey(
  directory: D1Database,
  before: HashKeyRow,
  change: Partial<Pick<HashKeyRow, "sealed" | "keptAt">>,
): Promise<boolean> {
  const isUnchanged = and(eq(customerHashKeys.id, before.id), eq(customerHashKeys.sealed, before.sealed));
  const { meta } = await drizzle(directory).update(customerHashKeys).set(change).where(isUnchanged).run();
  return meta.changes === 1;
}
