import { and, desc, eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { customerHashKeys } from "../erasure-schema.ts";

/** A key as stored. */
export type HashKeyRow = typeof customerHashKeys.$inferSelect;

/** The newest first. */
export function selectHashKeys(directory: D1Database): Promise<HashKeyRow[]> {
  const { createdAt, id } = customerHashKeys;
  return drizzle(directory).select().from(customerHashKeys).orderBy(desc(createdAt), desc(id)).all();
}

/** Stores a key, unless the directory has other keys than `known` by now: then another call has stored one. */
export async function insertHashKey(directory: D1Database, row: HashKeyRow, known: number): Promise<void> {
  const { id, sealed, createdAt, keptAt } = row;
  const values = sql`SELECT ${id}, ${sealed}, ${createdAt}, ${keptAt}`;
  await drizzle(directory)
    .insert(customerHashKeys)
    .select(sql`${values} WHERE (SELECT count(*) FROM ${customerHashKeys}) = ${known}`)
    // KV may have another seal of a key that no master key opens here.
    .onConflictDoUpdate({ target: customerHashKeys.id, set: { sealed, keptAt } })
    .run();
}

/** Changes a key's row, unless another call has sealed it anew. */
export async function updateHashKey(
  directory: D1Database,
  before: HashKeyRow,
  change: Partial<Pick<HashKeyRow, "sealed" | "keptAt">>,
): Promise<boolean> {
  const isUnchanged = and(eq(customerHashKeys.id, before.id), eq(customerHashKeys.sealed, before.sealed));
  const { meta } = await drizzle(directory).update(customerHashKeys).set(change).where(isUnchanged).run();
  return meta.changes === 1;
}
