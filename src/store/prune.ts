import { type Column, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { withRetries } from "./run-batch.ts";
import { idempotencyKeys, nonces } from "./schema.ts";
import { type Placeholders, statement } from "./statement.ts";

/**
 * How much one run may do: bites, of so many rows looked at. D1 serves one statement at a time, so a bite is kept short; what a run
 * does not reach is reached when there is less before it.
 */
export interface PruneLimits {
  biteRows: number;
  bites: number;
}

/** 4.5 million rows a run, within D1's 1,000 statements an invocation. */
const LIMITS: PruneLimits = { biteRows: 10_000, bites: 450 };

/** A place in a table: the key's columns in order, as `k0`, `k1`, … */
type Place = Record<string, string>;
type Walk = Record<string, string | number>;

/**
 * Deletes a table's expired rows and gives their number; `now` in Unix seconds. There is no index on expires_at, because it would
 * cost every request a written row: a run walks the table once by its key instead, each bite from where the last one stopped.
 */
function pruner(table: SQLiteTable, expiresAt: Column, key: Column[]) {
  const list = (parts: SQL[]) => sql.join(parts, sql.raw(", "));
  const keyOf = sql`(${list(key.map((column) => sql`${column}`))})`;
  const placeholders = (v: Placeholders<Walk>, prefix: string) =>
    sql`(${list(key.map((_, i) => sql`${v[`${prefix}${i}`]}`))})`;
  const afterPlace = (v: Placeholders<Walk>) => sql`FROM ${table} WHERE ${keyOf} > ${placeholders(v, "k")}`;
  const endOfBite = statement<Walk>(
    (v) => sql`SELECT ${list(key.map((column, i) => sql`${column} AS ${sql.identifier(`k${i}`)}`))} ${afterPlace(v)}
      ORDER BY ${list(key.map((column) => sql`${column}`))} LIMIT 1 OFFSET ${v.skip}`,
  );
  const due = (v: Placeholders<Walk>) => sql`DELETE ${afterPlace(v)} AND ${expiresAt} <= ${v.now}`;
  const removeUpTo = statement<Walk>((v) => sql`${due(v)} AND ${keyOf} <= ${placeholders(v, "end")}`);
  const removeRest = statement<Walk>(due);
  return async (db: D1Database, now: number, { biteRows, bites } = LIMITS): Promise<number> => {
    let place: Place = Object.fromEntries(key.map((_, i) => [`k${i}`, ""]));
    let removed = 0;
    for (let bite = 0; bite < bites; bite++) {
      const from: Walk = { ...place, now, skip: biteRows - 1 };
      const next = await withRetries(() => endOfBite(db, from).first<Place>());
      const ends = key.map((_, i) => [`end${i}`, next?.[`k${i}`] ?? ""]);
      const removal = next === null ? removeRest(db, from) : removeUpTo(db, { ...from, ...Object.fromEntries(ends) });
      removed += (await withRetries(() => removal.run())).meta.changes;
      if (next === null) break;
      place = next;
    }
    return removed;
  };
}

/** Used ranstr: remembered for minutes, so this is for every few minutes. */
export const pruneNonces = pruner(nonces, nonces.expiresAt, [nonces.appid, nonces.ranstr]);

/** Idempotency keys: remembered for a day, most of a walk finds them live, so this is for every hour. */
export const pruneKeys = pruner(idempotencyKeys, idempotencyKeys.expiresAt, [
  idempotencyKeys.appid,
  idempotencyKeys.operation,
  idempotencyKeys.key,
]);
