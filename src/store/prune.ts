import { and, eq, getTableName, lte, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { AnySQLiteColumn, SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Runtime } from "../runtime.ts";
import { rootOf, TRIES, withRetries } from "./run-batch.ts";
import { consoleForms, consoleSessions, idempotencyKeys, jobs, nonces } from "./schema.ts";

/** How much one run may do, over all tables. What it does not reach, the next ones do. */
export interface PruneLimits {
  /** Rows looked at in one go: D1 serves one statement at a time, so a bite is kept short. */
  biteRows: number;
  /** D1 allows 1,000 an invocation. */
  statements: number;
}

const LIMITS: PruneLimits = { biteRows: 10_000, statements: 900 };

/** To read the place, to find where the bite ends, to remove, to keep the new place; each may be tried again. */
const STATEMENTS_OF_A_BITE = 4 * TRIES;

interface Run {
  runtime: Runtime;
  db: D1Database;
  /** Unix seconds. */
  now: number;
  biteRows: number;
  /** Statements it may still use. */
  left: number;
}

/** A row's key, column by column; empty texts stand for a table's start. */
type Place = string[];

/** A column of a key that is text, as all keys here are. */
type KeyColumn = AnySQLiteColumn<{ data: string; notNull: true }>;

/** `(a, b)`: SQLite compares such rows from left to right, as it orders them. */
const row = (parts: (KeyColumn | string)[]) =>
  sql`(${sql.join(
    parts.map((part) => sql`${part}`),
    sql`, `,
  )})`;

/**
 * Deletes a table's expired rows bite by bite and yields how many, until every row was looked at once. There is no index on
 * expires_at, because it would cost every request a written row: the table is walked by its key, from where the run before
 * stopped to the end, and from the start to there.
 */
function pruner(table: SQLiteTable, expiresAt: SQLiteColumn, key: KeyColumn[]) {
  const name = `prune ${getTableName(table)}`;
  const start: Place = key.map(() => "");
  const keyOf: Record<string, KeyColumn> = Object.fromEntries(key.map((column) => [column.name, column]));
  const between = (from: Place, to: Place | undefined) =>
    and(sql`${row(key)} > ${row(from)}`, to && sql`${row(key)} <= ${row(to)}`);

  return async function* prune(run: Run): AsyncGenerator<number, void> {
    const store = drizzle(run.db);
    const lastOfBite = (from: Place, to: Place | undefined) =>
      store
        .select(keyOf)
        .from(table)
        .where(between(from, to))
        .orderBy(...key)
        .limit(1)
        .offset(run.biteRows - 1)
        .get();
    const removal = (from: Place, to: Place | undefined) =>
      store.delete(table).where(and(between(from, to), lte(expiresAt, run.now)));
    const keeping = (place: string) =>
      store.insert(jobs).values({ name, place }).onConflictDoUpdate({ target: jobs.name, set: { place } });

    const readPlace = () => store.select({ place: jobs.place }).from(jobs).where(eq(jobs.name, name)).get();
    let kept = (await counted(run, 1, readPlace))?.place;
    const began = placeIn(kept, start);
    // Two runs at once look at rows twice and keep the place of either: no harm.
    const legs = began === start ? [{ from: start }] : [{ from: began }, { from: start, to: began }];
    for (const { from, to } of legs) {
      let place: Place | undefined = from;
      while (place !== undefined) {
        const bite: Place = place;
        const last = await counted(run, 1, () => lastOfBite(bite, to));
        place = last && Object.values(last);
        const end = place ?? to;
        const next = JSON.stringify(place ?? start);
        const stays = next === (kept ?? JSON.stringify(start));
        const [removed] = await counted(run, stays ? 1 : 2, () =>
          store.batch([removal(bite, end), ...(stays ? [] : [keeping(next)])]),
        );
        kept = next;
        yield removed.meta.changes;
      }
    }
  };
}

/** Database calls with retries, each try counted. */
function counted<T>(run: Run, statements: number, call: () => Promise<T>): Promise<T> {
  return withRetries(run.runtime, () => {
    run.left -= statements;
    return call();
  });
}

/** A kept place; `start` itself when there is none, or none that fits the key. */
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
 * Deletes what has expired at `now`, Unix seconds. The tables take turns, a bite each, so that none takes another's share and one
 * that fails stops only itself.
 *
 * @returns how many rows were removed, and by table what D1 said of those that failed
 */
export async function prune(
  runtime: Runtime,
  db: D1Database,
  now: number,
  { biteRows, statements }: PruneLimits = LIMITS,
): Promise<{ removed: Pruned; faults: Partial<Record<keyof Pruned, string>> }> {
  const run: Run = { runtime, db, now, biteRows, left: statements };
  const tables = Object.keys(PRUNERS) as (keyof Pruned)[];
  const removed = Object.fromEntries(tables.map((table) => [table, 0])) as Pruned;
  const faults: Partial<Record<keyof Pruned, string>> = {};
  const walks = new Map(tables.map((table) => [table, PRUNERS[table](run)]));
  while (walks.size > 0 && run.left >= STATEMENTS_OF_A_BITE) {
    for (const [table, walk] of walks) {
      if (run.left < STATEMENTS_OF_A_BITE) break;
      try {
        const bite = await walk.next();
        if (bite.done) walks.delete(table);
        else removed[table] += bite.value;
      } catch (error) {
        walks.delete(table);
        faults[table] = rootOf(error).message;
      }
    }
  }
  return { removed, faults };
}
