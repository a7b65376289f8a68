import { ServiceError } from "../errors.ts";
import { type Runtime, sleep, withinTime } from "../runtime.ts";

/** At most this many tries, each with its own limit, all within the whole. Milliseconds. */
export const TRIES = 3;
export const TRY_LIMIT_MS = 3_000;
export const WHOLE_LIMIT_MS = 8_000;

/** Faults that D1's documentation says to retry: the same statement may well succeed a moment later. */
const TRANSIENT =
  /network connection lost|storage caused object to be reset|reset because its code was updated|transient issue/i;

/**
 * SQLite or D1 refused the statement itself: the transaction is rolled back for certain, and would be again. SQLite's other codes
 * (busy, full, out of memory, input/output, interrupted) tell of the database's state and stay unknown.
 */
const STATEMENT_REFUSED =
  /SQLITE_(ERROR|CONSTRAINT|MISMATCH|TOOBIG|RANGE|AUTH)\b|constraint failed|^D1_TYPE_ERROR|wrong number of parameter/i;

/** What D1 throws begins with the first; the others come from the way to it. */
const FROM_D1 = /^D1_|network connection lost|^internal error/i;

class TryTimedOut extends Error {
  override readonly name = "TryTimedOut";
}

/**
 * Runs one database call with retries. The call must be safe to run twice: a try whose answer was lost may have committed, and
 * a try that was given up may still commit later. Batches are safe because a claim knows its owner and its try (claim.ts).
 *
 * @param call is told which try it is, from 1, those before counted
 * @param answerBy when to give up at the latest, in milliseconds of the runtime's `elapsed`; several calls of one request share it
 * @throws ServiceError `unavailable` when the outcome is unknown, `internal` when the database refused the statement
 */
export async function withRetries<T>(
  runtime: Runtime,
  call: (attempt: number) => Promise<T>,
  answerBy = runtime.elapsed() + WHOLE_LIMIT_MS,
  before = 0,
): Promise<T> {
  let fault: unknown;
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    const left = answerBy - runtime.elapsed();
    if (left <= 0) break;
    const limit = Math.min(TRY_LIMIT_MS, left);
    try {
      const late = () => {
        throw new TryTimedOut(`no answer in ${limit} ms`);
      };
      return await withinTime(runtime, limit, () => call(before + attempt), late);
    } catch (error) {
      fault = error;
      const { message } = rootOf(error);
      // Only when it is the first try: whatever a later one says, an earlier one may have committed or still commit.
      if (before + attempt === 1 && STATEMENT_REFUSED.test(message)) throw refused(error);
      if (!(error instanceof TryTimedOut || TRANSIENT.test(message))) break;
      if (attempt < TRIES) await jitteredPause(runtime, attempt);
    }
  }
  throw unanswered(fault);
}

/** What a database error thrown outside {@link withRetries} means to a caller, or undefined when it is no database error. */
export function databaseFault(error: unknown): ServiceError | undefined {
  const { message } = rootOf(error);
  if (!FROM_D1.test(message)) return undefined;
  return STATEMENT_REFUSED.test(message) ? refused(error) : unanswered(error);
}

/** The error that was first: wrappers may quote parameters. D1's own cause is its text once more without the prefix, so it stops there. */
export function rootOf(error: unknown): Error {
  let first = error;
  while (first instanceof Error && first.cause !== undefined && !first.message.startsWith("D1_")) first = first.cause;
  return first instanceof Error ? first : new Error(typeof first);
}

const refused = (cause: unknown) => new ServiceError("internal", { reason: "d1_statement_refused", cause });
const unanswered = (cause: unknown) =>
  new ServiceError("unavailable", { reason: "d1_unavailable", retryAfter: 1, cause });

/** When and how often a batch may be tried. */
export interface Tries {
  /** See {@link withRetries}. */
  answerBy: number;
  /** How many tries of the same request came before. */
  before: number;
}

/**
 * Runs a batch (one round trip, one transaction) with retries and gives the rows of each of its statements.
 *
 * @param batch makes the statements of a try, told which of the request's tries it is, from 1
 * @throws as {@link withRetries} does; ServiceError `unavailable` also when the last statement, which tells the outcome, gave no row
 */
export async function runBatch(
  runtime: Runtime,
  db: D1Database,
  batch: (attempt: number) => D1PreparedStatement[],
  { answerBy, before }: Tries,
): Promise<unknown[][]> {
  const results = await withRetries(runtime, (attempt) => db.batch<unknown>(batch(attempt)), answerBy, before);
  const rows = Array.isArray(results) ? results.map((result) => result?.results ?? []) : [];
  if (rows.at(-1)?.[0] === undefined) {
    throw new ServiceError("unavailable", { reason: "d1_answer_incomplete", retryAfter: 1 });
  }
  return rows;
}

/** 25–50 ms after the first try, 50–100 after the second: long enough for a failover, short beside a round trip. */
function jitteredPause(runtime: Runtime, attempt: number): Promise<void> {
  const base = 25 * 2 ** (attempt - 1);
  return sleep(runtime, base + runtime.random() * base);
}
