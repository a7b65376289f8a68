import { and, eq, getTableName, lte, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { AnySQLiteColumn, SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Runtime } from "../runtime.ts";
import { rootOf, TRIES, withRetries } from "./run-batch.ts";
import { consoleForms, consoleSessions, idempotencyKeys, jobs, nonces } from "./schema.ts";

/** The most that one run does, over all tables. The next runs do the rest. */
export interface PruneLimits {
  /** Rows read at a time. D1 runs one statement at a time, so a long one would delay signed calls. */
  chunkRows: number;
  /** Statements of one run: D1 allows 1,000 in one invocation. */
  statements: number;
}

const LIMITS: PruneLimits = { chunkRows: 10_000, statements: 900 };

/** At most four, each with its tries: read the place, find the end of the chunk, delete, store the new place. */
const STATEMENTS_PER_CHUNK = 4 * TRIES;

interface Run {
  runtime: Runtime;
  db: D1Database;
  /** Unix seconds. */
  now: number;
  chunkRows: number;
  /** Statements that this run may still use. */
  left: number;
}

/** The key of a row, column by column. Empty texts stand for the start of the table. */
type Place = string[];

/** A column of a key. All keys here consist of text. */
type KeyColumn = AnySQLiteColumn<{ data: string; notNull: true }>;

/** `(a, b)`: SQLite compares such row values from left to right, the order in which the key sorts rows. */
const row = (parts: (KeyColumn | string)[]) =>
  sql`(${sql.join(
    parts.map((part) => sql`${part}`),
    sql`, `,
  )})`;

/**
 * Deletes a table's expired rows chunk by chunk, until every row was read once; yields how many rows each chunk removed.
 * An index on expires_at would cost every request a written row. So the table is read in the order of its key: from the place where
 * the last run stopped to the end, then from the start to that place.
 */
function pruner(table: SQLiteTable, expiresAt: SQLiteColumn, key: KeyColumn[]) {
  const name = `prune ${getTableName(table)}`;
  const start: Place = key.map(() => "");
  const keyOf: Record<string, KeyColumn> = Object.fromEntries(key.map((column) => [column.name, column]));
  const between = (from: Place, to: Place | undefined) =>
    and(sql`${row(key)} > ${row(from)}`, to && sql`${row(key)} <= ${row(to)}`);

  return async function* prune(run: Run): AsyncGenerator<number, void> {
    const store = drizzle(run.db);
    const lastOfChunk = (from: Place, to: Place | undefined) =>
      store
        .select(keyOf)
        .from(table)
        .where(between(from, to))
        .orderBy(...key)
        .limit(1)
        .offset(run.chunkRows - 1)
        .get();
    const removal = (from: Place, to: Place | undefined) =>
      store.delete(table).where(and(between(from, to), lte(expiresAt, run.now)));
    const keeping = (place: string) =>
      store.insert(jobs).values({ name, place }).onConflictDoUpdate({ target: jobs.name, set: { place } });

    const readPlace = () => store.select({ place: jobs.place }).from(jobs).where(eq(jobs.name, name)).get();
    let kept = (await counted(run, 1, readPlace))?.place;
    const began = placeIn(kept, start);
    // Two runs at the same time are harmless: they read rows twice and store the place of either.
    const legs = began === start ? [{ from: start }] : [{ from: began }, { from: start, to: began }];
    for (const { from, to } of legs) {
      let place: Place | undefined = from;
      while (place !== undefined) {
        const chunk: Place = place;
        const last = await counted(run, 1, () => lastOfChunk(chunk, to));
        place = last && Object.values(last);
        const end = place ?? to;
        const next = JSON.stringify(place ?? start);
        const stays = next === (kept ?? JSON.stringify(start));
        const [removed] = await counted(run, stays ? 1 : 2, () =>
          store.batch([removal(chunk, end), ...(stays ? [] : [keeping(next)])]),
        );
        kept = next;
        yield removed.meta.changes;
      }
    }
  };
}

/** Runs a database call with retries and counts the statements of each try. */
function counted<T>(run: Run, statements: number, call: () => Promise<T>): Promise<T> {
  return withRetries(run.runtime, () => {
    run.left -= statements;
    return call();
  });
}

/** The stored place; `start` itself when there is none or when it does not fit the key. */
function placeIn(text: string | undefined, start: Place): Place {
  try {
    const place = JSON.parse(text ?? "") as unknown;
    const fits =
      Array.isArray(place) && place.length === start.length && place.every((part) => typeof part === "string");
    return fits && place.some((part) => part !== "") ? place : start;
  } catch {
    return start;
  }
}

const PRUNERS = {
  nonces: pruner(nonces, nonces.expiresAt, [nonces.appid, nonces.ranstr]),
  idempotency_keys: pruner(idempotencyKeys, idempotencyKeys.expiresAt, [
    idempotencyKeys.appid,
    idempotencyKeys.operation,
    idempotencyKeys.key,
  ]),
  console_sessions: pruner(consoleSessions, consoleSessions.expiresAt, [consoleSessions.id]),
  console_forms: pruner(consoleForms, consoleForms.expiresAt, [consoleForms.id]),
};

type Pruned = Record<keyof typeof PRUNERS, number>;

/**
 * Deletes the rows that have expired at `now`, Unix seconds. The tables take turns, one chunk each, so that none uses up the whole
 * run, and a table that fails stops only itself.
 *
 * @returns the number of removed rows by table, and D1's message for each table that failed
 */
export async function prune(
  runtime: Runtime,
  db: D1Database,
  now: number,
  { chunkRows, statements }: PruneLimits = LIMITS,
): Promise<{ removed: Pruned; faults: Partial<Record<keyof Pruned, string>> }> {
  const run: Run = { runtime, db, now, chunkRows, left: statements };
  const tables = Object.keys(PRUNERS) as (keyof Pruned)[];
  const removed = Object.fromEntries(tables.map((table) => [table, 0])) as Pruned;
  const faults: Partial<Record<keyof Pruned, string>> = {};
  const walks = new Map(tables.map((table) => [table, PRUNERS[table](run)]));
  while (walks.size > 0 && run.left >= STATEMENTS_PER_CHUNK) {
    for (const [table, walk] of walks) {
      if (run.left < STATEMENTS_PER_CHUNK) break;
      try {
        const chunk = await walk.next();
        if (chunk.done) walks.delete(table);
        else removed[table] += chunk.value;
      } catch (error) {
        walks.delete(table);
        faults[table] = rootOf(error).message;
      }
    }
  }
  return { removed, faults };
}
