import { ServiceError } from "../errors.ts";
import { type Runtime, sleep, withinTime } from "../runtime.ts";
import { type Batch, type BoundStatement, IncompleteAnswer, inOneBatch, type Results } from "./batch.ts";

/** The most tries of a database call, and the timeouts of each try and of all tries together in milliseconds. */
export const TRIES = 3;
export const TRY_LIMIT_MS = 3_000;
export const WHOLE_LIMIT_MS = 8_000;

/**
 * The faults that D1's documentation says to retry. Also the reset of a database whose storage did not answer, because reports say that
 * D1 serves the next call at once.
 */
const TRANSIENT =
  /network connection lost|client disconnected|caused object to be reset|reset because its code was updated|transient issue/i;

/**
 * SQLite or D1 refused the statement: the transaction is certainly rolled back, and a retry would fail too. SQLite's other codes
 * (busy, full, out of memory, input/output, interrupted) leave the outcome unknown.
 */
const STATEMENT_REFUSED =
  /SQLITE_(ERROR|CONSTRAINT|MISMATCH|TOOBIG|RANGE|AUTH)\b|constraint failed|^D1_TYPE_ERROR|wrong number of parameter/i;

/**
 * The database has another schema than this version needs: it was not migrated, or was restored to an earlier schema. Nothing was
 * written.
 */
const NOT_MIGRATED = /no such (table|column)|has no column named/i;

/** `D1_` is D1's own prefix. The other messages come from the transport. */
const FROM_D1 = /^D1_|network connection lost|^internal error/i;

/** Workers' own words when an invocation has made all the calls that its plan allows. */
const OUT_OF_CALLS = /too many (api requests|subrequests)/i;

/** Whether an invocation failed because it may make no further call. Another invocation may go on. */
export const isOutOfCalls = (error: unknown): boolean => OUT_OF_CALLS.test(rootOf(error).message);

class TryTimedOut extends Error {
  override readonly name = "TryTimedOut";
}

/** Nothing was sent to a database that gives no answers, because another request tries it now. See stalls.ts. */
export class DatabaseStalled extends Error {
  override readonly name = "DatabaseStalled";

  /** @param silentMs milliseconds without an answer */
  constructor(silentMs: number) {
    // The message has D1's prefix, because this error stands for D1's answer.
    super(`D1_STALLED: no answer for ${Math.round(silentMs / 1000)} s`);
  }
}

export interface TryWatch {
  /** A try got no answer, and another one may follow. */
  onFault(): void;
  /** True when nobody waits for the call any more. No further try begins then. */
  isOver(): boolean;
}

/**
 * Runs one database call with retries. The call must be safe to run twice: a try with a lost answer may have committed, and a try
 * that timed out may still commit later. Batches of signed calls are safe, because their claim holds the owner and the try
 * (claim.ts).
 *
 * @param call     gets the number of the try; `before` + 1 for the first
 * @param answerBy deadline in milliseconds of the runtime's `elapsed`; several calls of one request share it
 * @param before   the number of earlier tries of the same request
 * @param watch    is called after each failed try that may be retried, and may stop further tries
 * @throws ServiceError `unavailable` when the outcome is unknown or the database was not migrated, `internal` when D1 refused the
 *   statement
 */
export async function withRetries<T>(
  runtime: Runtime,
  call: (attempt: number) => Promise<T>,
  answerBy = runtime.elapsed() + WHOLE_LIMIT_MS,
  before = 0,
  watch?: TryWatch,
): Promise<T> {
  let fault: unknown;
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    const msLeft = answerBy - runtime.elapsed();
    if (msLeft <= 0) break;
    const limit = Math.min(TRY_LIMIT_MS, msLeft);
    try {
      const throwLate = () => {
        throw new TryTimedOut(`no answer in ${Math.round(limit)} ms`);
      };
      return await withinTime(runtime, limit, () => call(before + attempt), throwLate);
    } catch (error) {
      const { message } = rootOf(error);
      // An earlier try may have committed.
      if (isStalled(error) && before + attempt > 1) break;
      fault = error;
      // The outcome is certain only on the first try. Later, an earlier try may have committed or may still commit.
      if (before + attempt === 1 && STATEMENT_REFUSED.test(message)) throw refusedStatement(error, message);
      if (!(error instanceof TryTimedOut || TRANSIENT.test(message))) break;
      if (attempt === TRIES) break;
      watch?.onFault();
      await jitteredBackoff(runtime, attempt);
      if (watch?.isOver()) break;
    }
  }
  throw noAnswer(fault);
}

/**
 * Runs one database call without retries, unless the deadline is over.
 *
 * @param answerBy see {@link withRetries}
 * @throws ServiceError `unavailable` when the deadline is over; any error of the call
 */
export async function inOneTry<T>(runtime: Runtime, call: () => Promise<T>, answerBy: number): Promise<T> {
  if (runtime.elapsed() >= answerBy) throw noAnswer(undefined);
  return call();
}

/** The refusal for a database error that was thrown outside {@link withRetries}; undefined for any other error. */
export function databaseFault(error: unknown): ServiceError | undefined {
  const { message } = rootOf(error);
  if (!FROM_D1.test(message)) return undefined;
  return STATEMENT_REFUSED.test(message) ? refusedStatement(error, message) : noAnswer(error);
}

/**
 * The innermost error, because drizzle's wrappers quote parameters. Stops at D1's error: its cause repeats the text without the
 * prefix.
 */
export function rootOf(error: unknown): Error {
  let rootError = error;
  while (rootError instanceof Error && rootError.cause !== undefined && !rootError.message.startsWith("D1_"))
    rootError = rootError.cause;
  return rootError instanceof Error ? rootError : new Error(typeof rootError);
}

const refusedStatement = (cause: unknown, message: string) =>
  NOT_MIGRATED.test(message)
    ? new ServiceError("unavailable", {
        reason: "d1_not_migrated",
        detail: "A database is not migrated: npm run deploy migrates all of them.",
        retryAfter: MIGRATION_RETRY_SECONDS,
        cause,
      })
    : new ServiceError("internal", { reason: "d1_statement_refused", cause });
/** The usual duration of a deployment that migrates a database. */
const MIGRATION_RETRY_SECONDS = 30;

const noAnswer = (cause: unknown) => {
  if (cause instanceof IncompleteAnswer) return incomplete();
  if (isStalled(cause))
    return new ServiceError("unavailable", { reason: "d1_stalled", retryAfter: STALLED_RETRY_SECONDS, cause });
  return new ServiceError("unavailable", { reason: "d1_unavailable", retryAfter: 1, cause });
};
/** The longest time that the one try at a stalled database takes. */
const STALLED_RETRY_SECONDS = TRY_LIMIT_MS / 1000;

const isStalled = (error: unknown): boolean => rootOf(error) instanceof DatabaseStalled;

const incomplete = () => new ServiceError("unavailable", { reason: "d1_answer_incomplete", retryAfter: 1 });

/** The limits of a batch's tries. */
export interface TryLimits {
  /** Deadline, see {@link withRetries}. */
  answerBy: number;
  /** The number of earlier tries of the same request. */
  before: number;
  watch?: TryWatch;
}

/**
 * Runs a batch with retries: one round trip, one transaction.
 *
 * @param batch makes the statements of a try from its number, see {@link withRetries}. `outcome` reads the outcome
 * @returns the rows of each statement
 * @throws as {@link withRetries} does; ServiceError `unavailable` also when `outcome` gave no row
 */
export async function runBatch<T extends Batch & { outcome: BoundStatement }>(
  runtime: Runtime,
  db: D1Database,
  batch: (attempt: number) => T,
  { answerBy, before, watch }: TryLimits,
): Promise<Results<T>> {
  const rows = await withRetries(runtime, (attempt) => inOneBatch(db, batch(attempt)), answerBy, before, watch);
  if ((rows as { outcome: readonly unknown[] }).outcome[0] === undefined) {
    throw incomplete();
  }
  return rows;
}

/** Waits 25–50 ms after the first try and 50–100 ms after the second: long enough for a failover, short compared to the timeout. */
function jitteredBackoff(runtime: Runtime, attempt: number): Promise<void> {
  const base = 25 * 2 ** (attempt - 1);
  return sleep(runtime, base + runtime.random() * base);
}
