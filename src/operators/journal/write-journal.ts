import type { Config } from "../../config.ts";
import { type Runtime, sleep, withinTime } from "../../core/runtime.ts";
import { inOneBatch } from "../../core/store/batch.ts";
import { rootOf, TRY_LIMIT_MS } from "../../core/store/run-batch.ts";
import type { Telemetry } from "../../core/telemetry/telemetry.ts";
import { insertRefusals } from "../store/home/refusals.ts";
import { type CallRules, countLate } from "../store/usage/count-calls.ts";
import { type ForgedCalls, takeRows } from "./forged-calls.ts";
import type { JournalMessage } from "./journal.ts";

/** A home gets at most one batch in this time, so that the journal leaves its database to signed calls. */
const PAUSE_MS = 1_000;

/** Seconds until a message for a home that is closed or fails comes again: 30 at first, doubled each time, at most an hour. */
const FIRST_RETRY = 30;
const LONGEST_RETRY = 3_600;

/** The values of a statement have at most 2 MB in all. A row has 2 KB at most. */
const ROWS_PER_STATEMENT = 500;

/** An invocation may have six calls waiting at once. Silent homes must leave some of them free. */
const HOMES_AT_ONCE = 4;

/** The result for the messages of a home. */
interface WriteResult {
  rows: number;
  /** The number of messages that come again later. */
  later?: number;
  fault?: string;
}

interface JournalTools {
  runtime: Runtime;
  telemetry: Telemetry;
  config: Pick<Config, "homes" | "closedHomes">;
  callRules: CallRules;
}

/** What a consumer knows between two batches. */
export interface ConsumerMemory {
  /** When each home may be asked again, in milliseconds of the runtime's `now`. */
  notBefore: Map<string, number>;
  forged: ForgedCalls;
}

/** A message of the queue, with the number of its attempts and a way to retry it. */
export interface QueueMessage {
  readonly body: unknown;
  readonly attempts: number;
  retry(options?: QueueRetryOptions): void;
}

/**
 * Writes the refused calls of the messages into the journals of their homes. A message that comes twice changes nothing. The
 * messages for a home that is closed, not bound or fails come again later; the other homes are written all the same.
 *
 * @param memory of the consumer; is changed
 */
export async function writeJournal(
  tools: JournalTools,
  messages: readonly QueueMessage[],
  memory: ConsumerMemory,
): Promise<void> {
  const { runtime, telemetry } = tools;
  const since = runtime.elapsed();
  const homes = Map.groupBy(messages, ({ body }) => (body as JournalMessage).home);
  const results: (readonly [home: string, WriteResult])[] = [];
  // A call that hangs keeps its place in the line. The order is random, so that no home always waits behind the same silent homes.
  const queue = [...homes]
    .map((entry) => ({ entry, place: runtime.random() }))
    .sort((a, b) => a.place - b.place)
    .values();
  const takeTurns = async () => {
    for (const {
      entry: [home, each],
    } of queue)
      results.push([home, await writeHome(tools, home, each, memory)]);
  };
  await Promise.all(Array.from({ length: HOMES_AT_ONCE }, takeTurns));
  const isFailed = results.some(([, { fault }]) => fault !== undefined);
  telemetry.job({
    job: "journal",
    outcome: isFailed ? "failed" : "ok",
    homes: Object.fromEntries(results),
    ms: Math.round(runtime.elapsed() - since),
  });
}

const isObject = (row: unknown): row is { at?: unknown } => typeof row === "object" && row !== null;

async function writeHome(
  { runtime, config, callRules }: JournalTools,
  home: string,
  messages: QueueMessage[],
  { notBefore, forged }: ConsumerMemory,
): Promise<WriteResult> {
  const later = () => {
    for (const message of messages) {
      message.retry({ delaySeconds: Math.min(LONGEST_RETRY, FIRST_RETRY * 2 ** Math.min(message.attempts - 1, 10)) });
    }
    return { rows: 0, later: messages.length };
  };
  const db = config.closedHomes.has(home) ? undefined : config.homes.get(home);
  if (db === undefined) return later();
  const wait = (notBefore.get(home) ?? 0) - runtime.now();
  if (wait > 0) await sleep(runtime, Math.min(wait, PAUSE_MS));
  notBefore.set(home, runtime.now() + PAUSE_MS);
  // A message of another version may hold anything. One row that cannot be read must not hold up the others for days.
  const rowsOf = (messages: QueueMessage[] = []) =>
    messages.flatMap(({ body }) => (body as JournalMessage).refusals).filter(isObject);
  // Rows of a message that comes again may be stored already. Such a message is written whole, so nothing is counted twice.
  const { first, again } = Object.groupBy(messages, ({ attempts }) => (attempts > 1 ? "again" : "first"));
  const takenRows = takeRows(forged, home, rowsOf(first), runtime.now() / 1000);
  const rows = [...rowsOf(again), ...takenRows.rows];
  if (rows.length === 0) {
    takenRows.keep();
    return { rows: 0 };
  }
  // A call is counted when its nonce has expired, or later. So only rows older than that can come too late to be counted.
  const areOld = rows.some(({ at }) => !(Number(at) > runtime.now() / 1000 - callRules.nonceSeconds));
  try {
    const batch = () =>
      inOneBatch(db, {
        written: Array.from({ length: Math.ceil(rows.length / ROWS_PER_STATEMENT) }, (_, i) => {
          const rowsOfStatement = rows.slice(i * ROWS_PER_STATEMENT, (i + 1) * ROWS_PER_STATEMENT);
          return [
            ...(areOld ? Object.values(countLate(db, rowsOfStatement, callRules)) : []),
            insertRefusals(db, rowsOfStatement),
          ];
        }).flat(),
      });
    // One try is made here: the queue makes the next ones.
    const { written } = await withinTime(runtime, TRY_LIMIT_MS, batch, () => {
      throw new Error(`no answer in ${TRY_LIMIT_MS} ms`);
    });
    takenRows.keep();
    return { rows: written.reduce((sum, { meta }) => sum + meta.changes, 0) };
  } catch (error) {
    return { ...later(), fault: rootOf(error).message };
  }
}
