import { and, eq, getTableName, lte, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { AnySQLiteColumn, SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Runtime } from "../runtime.ts";
import { TRIES, withRetries } from "./run-batch.ts";
import { jobs } from "./schema.ts";

/**
 * A chunk has at most four statements, each with its tries: read the place, find the end of the chunk, delete, store the new place. One
 * of sessions has up to 25, so a run may take 75 more than it has: D1 allows for them.
 */
export const STATEMENTS_PER_CHUNK = 4 * TRIES;

/** A run of the job. */
export interface Run {
  runtime: Runtime;
  /** Unix seconds. */
  now: number;
  /** Unix seconds. Events created then or earlier were kept long enough. */
  keptUntil: number;
  /** Unix seconds. Refused calls of then or earlier were kept long enough. */
  journalKeptUntil: number;
  chunkRows: number;
  /** All types of events that sessions have. */
  sessionEventTypes: readonly string[];
  /** The statements that this run may still use. */
  left: number;
}

/** Where a pruner works. */
export interface Where {
  /** The name of the home. */
  home: string;
  /** Undefined while it is closed: what needs it comes later. */
  directory: D1Database | undefined;
}

/** The key of a row, column by column. Zeros and empty texts are the start of the table. */
type Place = (string | number)[];

/** A column of a key. All keys here consist of texts and positive integers. */
type KeyColumn = AnySQLiteColumn<{ data: string | number; notNull: true }>;

/** `(a, b)`: SQLite compares row values from left to right, which is the order of the key. */
const row = (parts: (KeyColumn | string | number)[]) =>
  sql`(${sql.join(
    parts.map((part) => sql`${part}`),
    sql`, `,
  )})`;

/**
 * Deletes a table's expired rows chunk by chunk until every row was read once. Yields the number of rows that each chunk removed.
 * The table is read in the order of its key: from the place where the last run stopped to the end, then from the start to that
 * place. An index on expires_at would cost every request a written row.
 */
export function pruner(table: SQLiteTable, expiresAt: SQLiteColumn | SQL, key: KeyColumn[]) {
  const name = `prune ${getTableName(table)}`;
  const start: Place = key.map(({ dataType }) => (dataType === "number" ? 0 : ""));
  const keyOf: Record<string, KeyColumn> = Object.fromEntries(key.map((column) => [column.name, column]));
  const between = (from: Place, to: Place | undefined) =>
    and(sql`${row(key)} > ${row(from)}`, to && sql`${row(key)} <= ${row(to)}`);

  return async function* prune(run: Run, db: D1Database): AsyncGenerator<number, void> {
    const store = drizzle(db);
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
      store.delete(table).where(and(between(from, to), lte(sql`${expiresAt}`, run.now)));
    const keeping = (place: string) =>
      store.insert(jobs).values({ name, place }).onConflictDoUpdate({ target: jobs.name, set: { place } });

    const readPlace = () => store.select({ place: jobs.place }).from(jobs).where(eq(jobs.name, name)).get();
    let kept = (await counted(run, 1, readPlace))?.place;
    const began = placeIn(kept, start);
    // Two runs at the same time are harmless: rows are read twice, and one of the two places is stored.
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

/** Runs a database call with retries, and counts the statements of each try. */
export function counted<T>(run: Run, statements: number, call: () => Promise<T>): Promise<T> {
  return withRetries(run.runtime, () => {
    run.left -= statements;
    return call();
  });
}

/**
 * Yields the number of rows that each chunk removed, until one removed fewer than `rows`.
 *
 * @param rows how many a whole chunk removes; by default a further chunk is tried after any that removed some
 */
export async function* inChunks(run: Run, remove: () => Promise<D1Result>, rows = 1): AsyncGenerator<number, void> {
  for (let removed = rows; removed >= rows; ) {
    removed = (await counted(run, 1, remove)).meta.changes;
    yield removed;
  }
}

/** The stored place; `start` itself when there is none or it does not fit the key. */
function placeIn(text: string | undefined, start: Place): Place {
  try {
    const place = JSON.parse(text ?? "") as unknown;
    const fits =
      Array.isArray(place) &&
      place.length === start.length &&
      place.every((part, i) => typeof part === typeof start[i] && part !== null);
    return fits && place.some((part, i) => part !== start[i]) ? place : start;
  } catch {
    return start;
  }
}
