import { and, eq, getTableName, lte, type SQL, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import { drizzle } from "drizzle-orm/d1";
import type { AnySQLiteColumn, SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Runtime } from "../../../core/runtime.ts";
import { inOneBatch } from "../../../core/store/batch.ts";
import { TRIES, withRetries } from "../../../core/store/run-batch.ts";
import { jobs } from "../operator-schema.ts";
import type { CallRules } from "../usage/count-calls.ts";

/**
 * A chunk has at most eight statements, each with its tries: read the place, look at the chunk, count in four, delete, store the new place.
 * A chunk of sessions has up to 25, so a run may use 75 more than its limit: D1 allows that.
 */
export const STATEMENTS_PER_CHUNK = 8 * TRIES;

/** A run of the job. */
export interface Run {
  runtime: Runtime;
  /** Unix seconds. */
  now: number;
  /** Unix seconds. Events created at this time or earlier are old enough to delete. */
  keptUntil: number;
  /** Unix seconds. Refused calls of this time or earlier are old enough to delete. */
  journalKeptUntil: number;
  /** Unix seconds. Rows of the audit log of this time or earlier are old enough to delete. */
  auditKeptUntil: number;
  chunkRows: number;
  /** All types of events that sessions have. */
  sessionEventTypes: readonly string[];
  callRules: CallRules;
  /** The statements that this run may still use. */
  left: number;
}

/** Where a pruner works. */
export interface Where {
  /** The name of the home. */
  home: string;
  /** Undefined while it is closed: work that needs it is done later. */
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

type Statements = Readonly<Record<string, BatchItem<"sqlite">>>;

/** Whether a chunk has a last row. Without one, the chunk goes to the end of the table. */
const isPlace = (last: Record<string, string | number | null>): last is Record<string, string | number> =>
  Object.values(last).every((part) => part !== null);

/** How rows are counted in the batch of their chunk, before they are deleted. */
interface Counting {
  count: (run: Run, db: D1Database, expired: SQL | undefined) => Statements;
  /** Called when all rows that had expired at `since` (Unix seconds) are counted. */
  isThrough: (run: Run, db: D1Database, since: number) => Statements;
}

/**
 * Deletes a table's expired rows chunk by chunk until every row was read once. Yields the number of rows that each chunk removed.
 * The table is read in the order of its key: from the place where the last run stopped to the end, then from the start to that
 * place. An index on expires_at would cost every request a written row.
 */
export function pruner(table: SQLiteTable, expiresAt: SQLiteColumn | SQL, key: KeyColumn[], counting?: Counting) {
  const name = `prune ${getTableName(table)}`;
  const start: Place = key.map(({ dataType }) => (dataType === "number" ? 0 : ""));
  const between = (from: Place, to: Place | undefined) =>
    and(sql`${row(key)} > ${row(from)}`, to && sql`${row(key)} <= ${row(to)}`);

  return async function* prune(run: Run, db: D1Database): AsyncGenerator<number, void> {
    const store = drizzle(db);
    const columns = sql.join(key, sql`, `);
    // Returns whether the chunk has an expired row, and its last row. Without a last row the chunk ends the table.
    const look = (from: Place, to: Place | undefined) => {
      const chunk = sql`FROM ${table} WHERE ${between(from, to)} ORDER BY ${columns}`;
      return store.get<Record<string, string | number | null>>(sql`SELECT any_row.expired, last.* FROM (SELECT EXISTS (
          SELECT 1 FROM (SELECT ${expiresAt} AS ends_at ${chunk} LIMIT ${run.chunkRows}) WHERE ends_at <= ${run.now}) AS expired) AS any_row
        LEFT JOIN (SELECT ${columns} ${chunk} LIMIT 1 OFFSET ${run.chunkRows - 1}) AS last`);
    };
    const expired = (from: Place, to: Place | undefined) => and(between(from, to), lte(sql`${expiresAt}`, run.now));
    const keeping = (place: string) =>
      store.insert(jobs).values({ name, place }).onConflictDoUpdate({ target: jobs.name, set: { place } });

    const readPlace = () => store.select({ place: jobs.place }).from(jobs).where(eq(jobs.name, name)).get();
    let kept = (await counted(run, 1, readPlace))?.place;
    const { place: began, since: begun } = placeIn(kept, start);
    // Two runs at the same time are harmless: rows are read twice, and one of the two places is stored.
    const legs: { from: Place; since: number | undefined; to?: Place }[] =
      began === start
        ? [{ from: start, since: run.now }]
        : [
            // The other run that stored this place may have begun later. This run looks only for rows that had expired at its own time.
            { from: began, since: begun === undefined ? undefined : Math.min(begun, run.now) },
            { from: start, since: run.now, to: began },
          ];
    for (const { from, since, to } of legs) {
      let place: Place | undefined = from;
      while (place !== undefined) {
        const chunk: Place = place;
        const { expired: hasExpired, ...last } = await counted(run, 1, () => look(chunk, to));
        place = isPlace(last) ? Object.values(last) : undefined;
        const which = expired(chunk, place ?? to);
        const next = JSON.stringify(place === undefined ? start : since === undefined ? place : [...place, since]);
        const isEnd = place === undefined && to === undefined;
        const statements = {
          ...(hasExpired === 1 && { ...counting?.count(run, db, which), removed: store.delete(table).where(which) }),
          ...(isEnd && since !== undefined && counting?.isThrough(run, db, since)),
          ...(next !== (kept ?? JSON.stringify(start)) && { kept: keeping(next) }),
        };
        const amount = Object.keys(statements).length;
        const results = amount > 0 ? await counted(run, amount, () => inOneBatch(db, statements)) : undefined;
        kept = next;
        yield results?.removed?.meta.changes ?? 0;
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
 * @param rows how many rows a whole chunk removes; by default another chunk follows each chunk that removed some
 */
export async function* inChunks(run: Run, remove: () => Promise<D1Result>, rows = 1): AsyncGenerator<number, void> {
  for (let removed = rows; removed >= rows; ) {
    removed = (await counted(run, 1, remove)).meta.changes;
    yield removed;
  }
}

/**
 * The stored place, and when the reading that came there began, in Unix seconds. Returns `start` itself when no place is stored or it does
 * not fit the key.
 */
function placeIn(text: string | undefined, start: Place): { place: Place; since?: number } {
  try {
    const stored = JSON.parse(text ?? "") as unknown;
    if (!Array.isArray(stored)) return { place: start };
    const place: unknown[] = stored.slice(0, start.length);
    const since: unknown = stored[start.length];
    const fits = place.length === start.length && place.every((part, i) => typeof part === typeof start[i]);
    if (!fits || place.every((part, i) => part === start[i])) return { place: start };
    return { place: place as Place, ...(typeof since === "number" && { since }) };
  } catch {
    return { place: start };
  }
}
