import { eq, lte, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../../core/runtime.ts";
import { isOutOfCalls, rootOf, TRIES } from "../../../core/store/run-batch.ts";
import { idempotencyKeys, nonces } from "../../../core/store/schema.ts";
import { erasureReceipts } from "../erasure-schema.ts";
import { RECEIPT_SECONDS } from "../kv-erasures.ts";
import { adminTokens, consoleForms, consoleSessions, jobs, people } from "../operator-schema.ts";
import { type CallRules, countNonces } from "../usage/count-calls.ts";
import { notePassed } from "../usage/folds.ts";
import { pruneAudit } from "./prune-audit.ts";
import { pruneDeletedSites, pruneEndedSites } from "./prune-deleted-sites.ts";
import { pruneDeliveries, pruneEvents } from "./prune-events.ts";
import { pruneRefusals } from "./prune-refusals.ts";
import { pruneSessions } from "./prune-sessions.ts";
import { foldUsage } from "./prune-usage.ts";
import { countedCall, inChunks, type PruneRun, pruner, STATEMENTS_PER_CHUNK } from "./pruner.ts";

/** The limits of one run, over all tables of all homes. The next runs do the rest. */
export interface PruneLimits {
  /** Rows read at a time. D1 runs one statement at a time, so a long one would delay signed calls. */
  chunkRows: number;
  /** Statements of one run. D1 allows 1,000 per invocation. */
  statements: number;
}

const LIMITS: PruneLimits = { chunkRows: 10_000, statements: 900 };

/**
 * A run saves its place after this many statements. Workers Free ends a run after 50 calls without warning, and the next run starts at the
 * saved place.
 */
const STATEMENTS_PER_SAVE = 30;

/**
 * How long a deleted token, an ended person and an ended session are kept: otherwise a late try of the call that made them could bring
 * them back.
 */
const DELETED_SECONDS = 86_400;

/** There are few receipts: one statement reads them all. */
function pruneReceipts(run: PruneRun, db: D1Database): AsyncGenerator<number, void> {
  const tooOldCondition = lte(erasureReceipts.at, run.now - RECEIPT_SECONDS);
  return inChunks(run, () => drizzle(db).delete(erasureReceipts).where(tooOldCondition).run());
}

/** There are few tokens, and few people: one statement reads them all. */
const pruneDeleted = (table: typeof adminTokens | typeof people) => (run: PruneRun, db: D1Database) =>
  inChunks(run, () =>
    drizzle(db)
      .delete(table)
      .where(lte(table.deletedAt, run.now - DELETED_SECONDS))
      .run(),
  );

const HOME_PRUNERS = {
  nonces: pruner(nonces, nonces.expiresAt, [nonces.siteId, nonces.appid, nonces.ranstr], {
    count: ({ now, callRules }, db, expired) => countNonces(db, expired, now, callRules),
    whenAllCounted: ({ callRules }, db, since) => ({ passed: notePassed(db, since - callRules.nonceSeconds) }),
  }),
  // Usage comes right after the nonces. In most homes the nonces are one chunk, so all of them are counted by then.
  usage: foldUsage,
  idempotency_keys: pruner(idempotencyKeys, idempotencyKeys.expiresAt, [
    idempotencyKeys.siteId,
    idempotencyKeys.appid,
    idempotencyKeys.operation,
    idempotencyKeys.key,
  ]),
  events: pruneEvents,
  deliveries: pruneDeliveries,
  refusals: pruneRefusals,
  sessions: pruneSessions,
  deleted_sites: pruneDeletedSites,
  audit_log: pruneAudit,
};

const DIRECTORY_PRUNERS = {
  console_sessions: pruner(
    consoleSessions,
    sql`coalesce(max(${consoleSessions.expiresAt}, ${consoleSessions.endedAt} + ${DELETED_SECONDS}), ${consoleSessions.expiresAt})`,
    [consoleSessions.id],
  ),
  console_forms: pruner(consoleForms, consoleForms.expiresAt, [consoleForms.id]),
  admin_tokens: pruneDeleted(adminTokens),
  people: pruneDeleted(people),
  erasure_receipts: pruneReceipts,
  freed_appids: pruneEndedSites,
};

interface PruneSettings {
  directory: D1Database;
  homes: ReadonlyMap<string, D1Database>;
  closedHomes: ReadonlySet<string>;
  eventRetentionDays: number;
  journalDays: number;
  auditDays: number;
  /** All types of events that sessions have. */
  sessionEventTypes: readonly string[];
  callRules: CallRules;
}

/** The result of a run, by home and by table. */
interface PruneResult {
  removed: Record<string, Record<string, number>>;
  /** D1's message for each table that failed. */
  faults: Record<string, Record<string, string>>;
  /** The `home.table` that the next run starts with. Set when this run ended early. */
  next?: string;
}

/** The pruning of one table of a home. */
interface TableWalk {
  home: string;
  table: string;
  chunks: AsyncGenerator<number, void>;
}

/** The stored place of a run that is to start here. Usage starts at the nonces, because it must come after them. */
const nameOf = ({ home, table }: TableWalk): string => `${home}.${table === "usage" ? "nonces" : table}`;

/**
 * Deletes in every open home the rows that have expired at `now` (Unix seconds): old events, refused calls and rows of the audit log,
 * sessions after their retention, and all data of deleted sites. Counts calls before it deletes their nonces, and copies the state of each
 * home to the directory.
 *
 * The tables take turns, one chunk each, so that no table uses up the whole run. A fault in a table or a home does not stop the others. The
 * directory stores which table comes next. While `main` is closed or does not answer, each run starts at a random table.
 */
export async function prune(
  runtime: Runtime,
  {
    directory,
    homes,
    closedHomes,
    eventRetentionDays,
    journalDays,
    auditDays,
    sessionEventTypes,
    callRules,
  }: PruneSettings,
  now: number,
  { chunkRows, statements }: PruneLimits = LIMITS,
): Promise<PruneResult> {
  const retentionLimits = {
    keptUntil: now - eventRetentionDays * 86_400,
    journalKeptUntil: now - journalDays * 86_400,
    auditKeptUntil: now - auditDays * 86_400,
  };
  const run: PruneRun = {
    runtime,
    now,
    ...retentionLimits,
    chunkRows,
    sessionEventTypes,
    callRules,
    statementsLeft: statements,
  };
  const pruned: PruneResult = { removed: {}, faults: {} };
  const served = [...homes].filter(([home]) => !closedHomes.has(home));
  const isDirectoryServed = served.some(([, db]) => db === directory);
  const tableWalks = served.flatMap(([home, db]): TableWalk[] => {
    const pruners = db === directory ? { ...HOME_PRUNERS, ...DIRECTORY_PRUNERS } : HOME_PRUNERS;
    const where = { home, directory: isDirectoryServed ? directory : undefined };
    pruned.removed[home] = Object.fromEntries(Object.keys(pruners).map((table) => [table, 0]));
    return Object.entries(pruners).map(([table, prunerOf]) => ({ home, table, chunks: prunerOf(run, db, where) }));
  });
  let walks = await fromItsStart(run, isDirectoryServed ? directory : undefined, tableWalks);
  let savedAt = statements;
  while (walks.length > 0) {
    const remaining: TableWalk[] = [];
    for (const each of walks) {
      const { home, table, chunks } = each;
      const isLast = run.statementsLeft < STATEMENTS_PER_CHUNK;
      const isSaveDue =
        savedAt - run.statementsLeft >= STATEMENTS_PER_SAVE && run.statementsLeft >= STATEMENTS_PER_CHUNK + TRIES;
      if (isDirectoryServed && (isLast || isSaveDue)) {
        await keepStart(run, directory, nameOf(each));
        savedAt = run.statementsLeft;
      }
      if (isLast) return { ...pruned, next: nameOf(each) };
      try {
        const chunk = await chunks.next();
        if (chunk.done) continue;
        const removed = pruned.removed[home] ?? {};
        removed[table] = (removed[table] ?? 0) + chunk.value;
        remaining.push(each);
      } catch (error) {
        if (isOutOfCalls(error)) return { ...pruned, next: nameOf(each) };
        pruned.faults[home] = { ...pruned.faults[home], [table]: rootOf(error).message };
      }
    }
    walks = remaining;
  }
  return pruned;
}

/** The name of the job whose row has the place where the next run starts. */
const PRUNE_JOB = "prune";

/** All walks, beginning with the one where this run starts: a random one when the directory does not answer. */
async function fromItsStart(
  run: PruneRun,
  directory: D1Database | undefined,
  walks: TableWalk[],
): Promise<TableWalk[]> {
  const randomIndex = Math.floor(run.runtime.random() * walks.length);
  const start = directory && (await readStart(run, directory).catch(() => null));
  const isHere = (walk: TableWalk) => nameOf(walk) === start || walk.home === start;
  const at = start === undefined || start === null ? randomIndex : Math.max(0, walks.findIndex(isHere));
  return [...walks.slice(at), ...walks.slice(0, at)];
}

async function readStart(run: PruneRun, directory: D1Database): Promise<string> {
  const readJob = () =>
    drizzle(directory).select({ place: jobs.place }).from(jobs).where(eq(jobs.name, PRUNE_JOB)).get();
  return (await countedCall(run, 1, readJob))?.place ?? "";
}

async function keepStart(run: PruneRun, directory: D1Database, place: string): Promise<void> {
  const job = { name: PRUNE_JOB, place };
  const keep = () =>
    drizzle(directory).insert(jobs).values(job).onConflictDoUpdate({ target: jobs.name, set: { place } }).run();
  await countedCall(run, 1, keep).catch(() => {});
}
