import { and, eq, getTableName, lte, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { AnySQLiteColumn, SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Runtime } from "../runtime.ts";
import { rootOf, TRIES, withRetries } from "./run-batch.ts";
import { consoleForms, consoleSessions, idempotencyKeys, jobs, nonces } from "./schema.ts";

/** The most that one run does, over all tables of all homes. The next runs do the rest. */
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
  /** Unix seconds. */
  now: number;
  chunkRows: number;
  /** Statements that this run may still use. */
  left: number;
}

/** The key of a row, column by column. Zeros and empty texts stand for the start of the table. */
type Place = (string | number)[];

/** A column of a key. All keys here consist of texts and positive integers. */
type KeyColumn = AnySQLiteColumn<{ data: string | number; notNull: true }>;

/** `(a, b)`: SQLite compares such row values from left to right, the order in which the key sorts rows. */
const row = (parts: (KeyColumn | string | number)[]) =>
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
      Array.isArray(place) &&
      place.length === start.length &&
      place.every((part, i) => typeof part === typeof start[i] && part !== null);
    return fits && place.some((part, i) => part !== start[i]) ? place : start;
  } catch {
    return start;
  }
}

const HOME_PRUNERS = {
  nonces: pruner(nonces, nonces.expiresAt, [nonces.siteId, nonces.appid, nonces.ranstr]),
  idempotency_keys: pruner(idempotencyKeys, idempotencyKeys.expiresAt, [
    idempotencyKeys.siteId,
    idempotencyKeys.appid,
    idempotencyKeys.operation,
    idempotencyKeys.key,
  ]),
};

const DIRECTORY_PRUNERS = {
  console_sessions: pruner(consoleSessions, consoleSessions.expiresAt, [consoleSessions.id]),
  console_forms: pruner(consoleForms, consoleForms.expiresAt, [consoleForms.id]),
};

interface Databases {
  directory: D1Database;
  homes: ReadonlyMap<string, D1Database>;
  closedHomes: ReadonlySet<string>;
}

/** What a run did: by home, then by table. */
export interface Pruned {
  /** How many rows were removed. */
  removed: Record<string, Record<string, number>>;
  /** D1's message for each table that failed. */
  faults: Record<string, Record<string, string>>;
}

/**
 * Deletes the rows that have expired at `now`, Unix seconds, in every home that is not closed. The tables take turns, one chunk each,
 * so that none uses up the whole run, and a table or a home that fails stops only itself. A run that ends early says in the directory
 * which home is next; while `main` is closed, each run starts with any home.
 */
export async function prune(
  runtime: Runtime,
  { directory, homes, closedHomes }: Databases,
  now: number,
  { chunkRows, statements }: PruneLimits = LIMITS,
): Promise<Pruned> {
  const run: Run = { runtime, now, chunkRows, left: statements };
  const pruned: Pruned = { removed: {}, faults: {} };
  const served = [...homes].filter(([home]) => !closedHomes.has(home));
  const isDirectoryServed = served.some(([, db]) => db === directory);
  const first = isDirectoryServed ? await firstHome(run, directory) : anyHome(runtime, served);
  let walks = startingWith(first, served).flatMap(([home, db]) => {
    const pruners = db === directory ? { ...HOME_PRUNERS, ...DIRECTORY_PRUNERS } : HOME_PRUNERS;
    pruned.removed[home] = Object.fromEntries(Object.keys(pruners).map((table) => [table, 0]));
    return Object.entries(pruners).map(([table, prunerOf]) => ({ home, table, walk: prunerOf(run, db) }));
  });
  while (walks.length > 0) {
    const going: typeof walks = [];
    for (const each of walks) {
      const { home, table, walk } = each;
      if (run.left < STATEMENTS_PER_CHUNK) {
        if (isDirectoryServed) await keepFirstHome(run, directory, home);
        return pruned;
      }
      try {
        const chunk = await walk.next();
        if (chunk.done) continue;
        const removed = pruned.removed[home] ?? {};
        removed[table] = (removed[table] ?? 0) + chunk.value;
        going.push(each);
      } catch (error) {
        pruned.faults[home] = { ...pruned.faults[home], [table]: rootOf(error).message };
      }
    }
    walks = going;
  }
  return pruned;
}

const FIRST_HOME = "prune";

/** The home that a run starts with. Any home will do when the directory does not answer. */
function firstHome(run: Run, directory: D1Database): Promise<string | undefined> {
  const read = () => drizzle(directory).select({ place: jobs.place }).from(jobs).where(eq(jobs.name, FIRST_HOME)).get();
  return counted(run, 1, read).then(
    (job) => job?.place,
    () => undefined,
  );
}

const anyHome = (runtime: Runtime, served: [string, D1Database][]): string | undefined =>
  served[Math.floor(runtime.random() * served.length)]?.[0];

async function keepFirstHome(run: Run, directory: D1Database, place: string): Promise<void> {
  const job = { name: FIRST_HOME, place };
  const keep = () =>
    drizzle(directory).insert(jobs).values(job).onConflictDoUpdate({ target: jobs.name, set: { place } }).run();
  await counted(run, 1, keep).catch(() => {});
}

function startingWith(first: string | undefined, homes: [string, D1Database][]): [string, D1Database][] {
  const at = Math.max(
    0,
    homes.findIndex(([home]) => home === first),
  );
  return [...homes.slice(at), ...homes.slice(0, at)];
}
