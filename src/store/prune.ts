import { type Column, getTableName, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Runtime } from "../runtime.ts";
import { rootOf, TRIES, withRetries } from "./run-batch.ts";
import { consoleForms, consoleSessions, idempotencyKeys, jobs, nonces } from "./schema.ts";
import { type Placeholders, statement } from "./statement.ts";

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
type Values = Record<string, string | number>;

const readPlace = statement<{ name: string }>(
  (v) => sql`SELECT ${jobs.place} FROM ${jobs} WHERE ${jobs.name} = ${v.name}`,
);
const keepPlace = statement<{ name: string; place: string }>(
  (v) => sql`INSERT INTO ${jobs} (name, place) VALUES (${v.name}, ${v.place})
    ON CONFLICT DO UPDATE SET place = excluded.place`,
);

/**
 * Deletes a table's expired rows bite by bite and yields how many, until every row was looked at once. There is no index on
 * expires_at, because it would cost every request a written row: the table is walked by its key, from where the run before
 * stopped to the end, and from the start to there.
 */
function pruner(table: SQLiteTable, expiresAt: Column, key: Column[]) {
  const job = `prune ${getTableName(table)}`;
  const list = (parts: SQL[]) => sql.join(parts, sql.raw(", "));
  const columns = list(key.map((column) => sql`${column}`));
  const placeholders = (v: Placeholders<Values>, of: string) => list(key.map((_, i) => sql`${v[`${of}${i}`]}`));
  const values = (of: string, place: Place) => Object.fromEntries(place.map((text, i) => [`${of}${i}`, text]));
  const after = (v: Placeholders<Values>) => sql`FROM ${table} WHERE (${columns}) > (${placeholders(v, "from")})`;
  const upTo = (v: Placeholders<Values>) => sql`${after(v)} AND (${columns}) <= (${placeholders(v, "to")})`;

  const lastOfBite = (rows: typeof after) =>
    statement<Values>(
      (v) => sql`SELECT ${list(key.map((column, i) => sql`${column} AS ${sql.identifier(`k${i}`)}`))} ${rows(v)}
        ORDER BY ${columns} LIMIT 1 OFFSET ${v.skip}`,
    );
  const removal = (rows: typeof after) => statement<Values>((v) => sql`DELETE ${rows(v)} AND ${expiresAt} <= ${v.now}`);
  const [endAfter, endUpTo] = [lastOfBite(after), lastOfBite(upTo)];
  const [removeAfter, removeUpTo] = [removal(after), removal(upTo)];
  const start: Place = key.map(() => "");

  return async function* prune(run: Run): AsyncGenerator<number, void> {
    const { db, now } = run;
    let kept = await counted(run, 1, () => readPlace(db, { name: job }).first<string>("place"));
    const began = placeIn(kept, start);
    // Two runs at once look at rows twice and keep the place of either: no harm.
    const legs = began === start ? [{ from: start }] : [{ from: began }, { from: start, to: began }];
    for (const { from, to } of legs) {
      let place: Place | undefined = from;
      while (place !== undefined) {
        const bite: Values = { ...values("from", place), ...values("to", to ?? []), now, skip: run.biteRows - 1 };
        const findEnd = to === undefined ? endAfter : endUpTo;
        const last = await counted(run, 1, () => findEnd(db, bite).first<Record<string, string>>());
        place = last === null ? undefined : key.map((_, i) => last[`k${i}`] ?? "");
        const end = place ?? to;
        const next = JSON.stringify(place ?? start);
        const stays = next === (kept ?? JSON.stringify(start));
        const batch = () => [
          end === undefined ? removeAfter(db, bite) : removeUpTo(db, { ...bite, ...values("to", end) }),
          ...(stays ? [] : [keepPlace(db, { name: job, place: next })]),
        ];
        const [removed] = await counted(run, stays ? 1 : 2, () => db.batch(batch()));
        kept = next;
        yield removed?.meta.changes ?? 0;
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
function placeIn(text: string | null, start: Place): Place {
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
