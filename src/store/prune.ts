import { type Column, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { withRetries } from "./run-batch.ts";
import { idempotencyKeys, nonces } from "./schema.ts";
import { type Placeholders, statement } from "./statement.ts";

/** Rows a bite deletes at most, and bites a run takes at most: the rest waits for the next run. */
export const BITE_ROWS = 500;
export const BITES_PER_RUN = 200;

/** A place in a table: the key's columns in order, as `k0`, `k1`, … */
type Place = Record<string, string>;
type Walk = Record<string, string | number>;

/**
 * There is no index on expires_at, because it would cost every request a written row. A run walks the table once by its key
 * instead; each bite goes on where the last one stopped, and reads are a thousand times cheaper than writes.
 */
function pruner(table: SQLiteTable, expiresAt: Column, key: Column[]) {
  const list = (parts: SQL[]) => sql.join(parts, sql.raw(", "));
  const keyOf = sql`(${list(key.map((column) => sql`${column}`))})`;
  const placeholders = (v: Placeholders<Walk>, prefix: string) =>
    sql`(${list(key.map((_, i) => sql`${v[`${prefix}${i}`]}`))})`;
  const dueAfterPlace = (v: Placeholders<Walk>) =>
    sql`FROM ${table} WHERE ${keyOf} > ${placeholders(v, "k")} AND ${expiresAt} <= ${v.now}`;
  const endOfBite = statement<Walk>(
    (v) => sql`SELECT ${list(key.map((column, i) => sql`${column} AS ${sql.identifier(`k${i}`)}`))} ${dueAfterPlace(v)}
      ORDER BY ${list(key.map((column) => sql`${column}`))} LIMIT 1 OFFSET ${sql.raw(String(BITE_ROWS - 1))}`,
  );
  const removeUpTo = statement<Walk>((v) => sql`DELETE ${dueAfterPlace(v)} AND ${keyOf} <= ${placeholders(v, "end")}`);
  const removeAll = statement<Walk>((v) => sql`DELETE ${dueAfterPlace(v)}`);
  return async (db: D1Database, now: number): Promise<number> => {
    let place: Place = Object.fromEntries(key.map((_, i) => [`k${i}`, ""]));
    let removed = 0;
    for (let bite = 0; bite < BITES_PER_RUN; bite++) {
      const from: Walk = { ...place, now };
      const next = await withRetries(() => endOfBite(db, from).first<Place>());
      const ends = key.map((_, i) => [`end${i}`, next?.[`k${i}`] ?? ""]);
      const removal = next === null ? removeAll(db, from) : removeUpTo(db, { ...from, ...Object.fromEntries(ends) });
      removed += (await withRetries(() => removal.run())).meta.changes;
      if (next === null) break;
      place = next;
    }
    return removed;
  };
}

const pruneNonces = pruner(nonces, nonces.expiresAt, [nonces.appid, nonces.ranstr]);
const pruneKeys = pruner(idempotencyKeys, idempotencyKeys.expiresAt, [
  idempotencyKeys.appid,
  idempotencyKeys.operation,
  idempotencyKeys.key,
]);

/**
 * Deletes expired nonces and idempotency keys in bounded bites.
 *
 * @param now Unix seconds
 * @returns how many rows went
 */
export async function prune(db: D1Database, now: number): Promise<{ nonces: number; keys: number }> {
  return { nonces: await pruneNonces(db, now), keys: await pruneKeys(db, now) };
}
