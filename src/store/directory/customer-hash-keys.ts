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
  const values = sql`SELECT ${row.id}, ${row.sealed}, ${row.createdAt}`;
  await drizzle(directory)
    .insert(customerHashKeys)
    .select(sql`${values} WHERE (SELECT count(*) FROM ${customerHashKeys}) = ${known}`)
    // KV may have another seal of a key that no master key opens here.
    .onConflictDoUpdate({ target: customerHashKeys.id, set: { sealed: row.sealed } })
    .run();
}

/** Replaces the seal of a key, unless another call did. */
export async function updateHashKeySeal(directory: D1Database, before: HashKeyRow, sealed: string): Promise<boolean> {
  const isUnchanged = and(eq(customerHashKeys.id, before.id), eq(customerHashKeys.sealed, before.sealed));
  const { meta } = await drizzle(directory).update(customerHashKeys).set({ sealed }).where(isUnchanged).run();
  return meta.changes === 1;
}
