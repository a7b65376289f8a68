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
export interface PruneRun {
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
  statementsLeft: number;
}

/** Where a pruner works. */
export interface PrunedPlace {
  /** The name of the home. */
  home: string;
  /** Undefined while it is closed: work that needs it is done later. */
  directory: D1Database | undefined;
}

/** The key of a row, column by column. Zeros and empty texts are the start of the table. */
type RowKey = (string | number)[];

/** A column of a key. All keys here consist of texts and positive integers. */
type KeyColumn = AnySQLiteColumn<{ data: string | number; notNull: true }>;

/** `(a, b)`: SQLite compares row values from left to right, which is the order of the key. */
const rowValue = (parts: (KeyColumn | string | number)[]) =>
  sql`(${sql.join(
    parts.map((part) => sql`${part}`),
    sql`, `,
  )})`;

type PruneStatements = Readonly<Record<string, BatchItem<"sqlite">>>;

/** Whether a chunk has a last row. Without one, the chunk goes to the end of the table. */
const hasLastRow = (last: Record<string, string | number | null>): last is Record<string, string | number> =>
  Object.values(last).every((part) => part !== null);

/** How rows are counted in the batch of their chunk, before they are deleted. */
interface CountBeforeDeletion {
  count: (run: PruneRun, db: D1Database, isExpired: SQL | undefined) => PruneStatements;
  /** The statements to run once all rows that had expired at `since` (Unix seconds) are counted. */
  whenAllCounted: (run: PruneRun, db: D1Database, since: number) => PruneStatements;
}

/**
 * Deletes a table's expired rows chunk by chunk until every row was read once. Yields the number of rows that each chunk removed.
 * The table is read in the order of its key: from the place where the last run stopped to the end, then from the start to that
 * place. An index on expires_at would cost every request a written row.
 */
export function pruner(
  table: SQLiteTable,
  expiresAt: SQLiteColumn | SQL,
  key: KeyColumn[],
  counting?: CountBeforeDeletion,
) {
  const name = `prune ${getTableName(table)}`;
  const start: RowKey = key.map(({ dataType }) => (dataType === "number" ? 0 : ""));
  const isBetween = (from: RowKey, to: RowKey | undefined) =>
    and(sql`${rowValue(key)} > ${rowValue(from)}`, to && sql`${rowValue(key)} <= ${rowValue(to)}`);

  return async function* prune(run: PruneRun, db: D1Database): AsyncGenerator<number, void> {
    const store = drizzle(db);
    const columns = sql.join(key, sql`, `);
    // Returns whether the chunk has an expired row, and its last row. Without a last row the chunk ends the table.
    const readChunk = (from: RowKey, to: RowKey | undefined) => {
      const chunk = sql`FROM ${table} WHERE ${isBetween(from, to)} ORDER BY ${columns}`;
      return store.get<Record<string, string | number | null>>(sql`SELECT any_row.expired, last.* FROM (SELECT EXISTS (
          SELECT 1 FROM (SELECT ${expiresAt} AS ends_at ${chunk} LIMIT ${run.chunkRows}) WHERE ends_at <= ${run.now}) AS expired) AS any_row
        LEFT JOIN (SELECT ${columns} ${chunk} LIMIT 1 OFFSET ${run.chunkRows - 1}) AS last`);
    };
    const isExpiredBetween = (from: RowKey, to: RowKey | undefined) =>
      and(isBetween(from, to), lte(sql`${expiresAt}`, run.now));
    const storePlace = (place: string) =>
      store.insert(jobs).values({ name, place }).onConflictDoUpdate({ target: jobs.name, set: { place } });

    const readPlace = () => store.select({ place: jobs.place }).from(jobs).where(eq(jobs.name, name)).get();
    let storedPlace = (await countedCall(run, 1, readPlace))?.place;
    const { place: firstPlace, since: firstSince } = parsePlace(storedPlace, start);
    // Two runs at the same time are harmless: rows are read twice, and one of the two places is stored.
    const spans: { from: RowKey; since: number | undefined; to?: RowKey }[] =
      firstPlace === start
        ? [{ from: start, since: run.now }]
        : [
            // The other run that stored this place may have begun later. This run looks only for rows that had expired at its own time.
            { from: firstPlace, since: firstSince === undefined ? undefined : Math.min(firstSince, run.now) },
            { from: start, since: run.now, to: firstPlace },
          ];
    for (const { from, since, to } of spans) {
      let place: RowKey | undefined = from;
      while (place !== undefined) {
        const chunk: RowKey = place;
        const { expired: hasExpired, ...last } = await countedCall(run, 1, () => readChunk(chunk, to));
        place = hasLastRow(last) ? Object.values(last) : undefined;
        const isExpiredInChunk = isExpiredBetween(chunk, place ?? to);
        const next = JSON.stringify(place === undefined ? start : since === undefined ? place : [...place, since]);
        const isEnd = place === undefined && to === undefined;
        const statements = {
          ...(hasExpired === 1 && {
            ...counting?.count(run, db, isExpiredInChunk),
            removed: store.delete(table).where(isExpiredInChunk),
          }),
          ...(isEnd && since !== undefined && counting?.whenAllCounted(run, db, since)),
          ...(next !== (storedPlace ?? JSON.stringify(start)) && { placed: storePlace(next) }),
        };
        const amount = Object.keys(statements).length;
        const results = amount > 0 ? await countedCall(run, amount, () => inOneBatch(db, statements)) : undefined;
        storedPlace = next;
        yield results?.removed?.meta.changes ?? 0;
      }
    }
  };
}

/** Runs a database call with retries, and counts the statements of each try. */
export function countedCall<T>(run: PruneRun, statements: number, call: () => Promise<T>): Promise<T> {
  return withRetries(run.runtime, () => {
    run.statementsLeft -= statements;
    return call();
  });
}

/**
 * Yields the number of rows that each chunk removed, until one removed fewer than `rows`.
 *
 * @param rows how many rows a whole chunk removes; by default another chunk follows each chunk that removed some
 */
export async function* inChunks(
  run: PruneRun,
  remove: () => Promise<D1Result>,
  rows = 1,
): AsyncGenerator<number, void> {
  for (let removed = rows; removed >= rows; ) {
    removed = (await countedCall(run, 1, remove)).meta.changes;
    yield removed;
  }
}

/**
 * The stored place, and when the reading that came there began, in Unix seconds. Returns `start` itself when no place is stored or it does
 * not fit the key.
 */
function parsePlace(text: string | undefined, start: RowKey): { place: RowKey; since?: number } {
  try {
    const storedParts = JSON.parse(text ?? "") as unknown;
    if (!Array.isArray(storedParts)) return { place: start };
    const place: unknown[] = storedParts.slice(0, start.length);
    const since: unknown = storedParts[start.length];
    const fits = place.length === start.length && place.every((part, i) => typeof part === typeof start[i]);
    if (!fits || place.every((part, i) => part === start[i])) return { place: start };
    return { place: place as RowKey, ...(typeof since === "number" && { since }) };
  } catch {
    return { place: start };
  }
}
