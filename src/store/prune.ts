import { eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../runtime.ts";
import { pruneDeliveries, pruneEvents } from "./prune-events.ts";
import { counted, pruner, type Run, STATEMENTS_PER_CHUNK } from "./pruner.ts";
import { rootOf } from "./run-batch.ts";
import { consoleForms, consoleSessions, idempotencyKeys, jobs, nonces } from "./schema.ts";

/** The most that one run does, over all tables of all homes. The next runs do the rest. */
export interface PruneLimits {
  /** Rows read at a time. D1 runs one statement at a time, so a long one would delay signed calls. */
  chunkRows: number;
  /** Statements of one run: D1 allows 1,000 in one invocation. */
  statements: number;
}

const LIMITS: PruneLimits = { chunkRows: 10_000, statements: 900 };

const HOME_PRUNERS = {
  nonces: pruner(nonces, nonces.expiresAt, [nonces.siteId, nonces.appid, nonces.ranstr]),
  idempotency_keys: pruner(idempotencyKeys, idempotencyKeys.expiresAt, [
    idempotencyKeys.siteId,
    idempotencyKeys.appid,
    idempotencyKeys.operation,
    idempotencyKeys.key,
  ]),
  events: pruneEvents,
  deliveries: pruneDeliveries,
};

const DIRECTORY_PRUNERS = {
  console_sessions: pruner(consoleSessions, consoleSessions.expiresAt, [consoleSessions.id]),
  console_forms: pruner(consoleForms, consoleForms.expiresAt, [consoleForms.id]),
};

/** What of the Config is needed. */
interface Settings {
  directory: D1Database;
  homes: ReadonlyMap<string, D1Database>;
  closedHomes: ReadonlySet<string>;
  eventRetentionDays: number;
}

/** What a run did: by home, then by table. */
export interface Pruned {
  /** How many rows were removed. */
  removed: Record<string, Record<string, number>>;
  /** D1's message for each table that failed. */
  faults: Record<string, Record<string, string>>;
}

/**
 * Deletes the rows that have expired at `now`, Unix seconds, and the events that were kept long enough, in every home that is not closed. The tables take turns, one chunk each,
 * so that none uses up the whole run, and a table or a home that fails stops only itself. A run that ends early says in the directory
 * which home is next; while `main` is closed, each run starts with any home.
 */
export async function prune(
  runtime: Runtime,
  { directory, homes, closedHomes, eventRetentionDays }: Settings,
  now: number,
  { chunkRows, statements }: PruneLimits = LIMITS,
): Promise<Pruned> {
  const run: Run = { runtime, now, keptUntil: now - eventRetentionDays * 86_400, chunkRows, left: statements };
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
