import { Refusal } from "../errors.ts";

/** At most this many tries, each with its own limit, all within the whole. Milliseconds. */
export const TRIES = 3;
export const TRY_LIMIT_MS = 3_000;
export const WHOLE_LIMIT_MS = 8_000;

/** Faults that D1's documentation calls transient: the same statement may well succeed a moment later. */
const TRANSIENT =
  /network connection lost|storage caused object to be reset|reset because its code was updated|transient issue/i;

/** The database did not answer, or not in time: what it did is unknown. */
const UNANSWERED = /^D1_|network connection|internal error|no answer in/i;

/** SQLite refused the statement, so the transaction is rolled back for certain and the fault is ours. */
const REFUSED_BY_SQLITE = /SQLITE_|constraint failed|no such (table|column)|syntax error/i;

class TryTimedOut extends Error {
  override readonly name = "TryTimedOut";
}

/**
 * Runs one database call with retries. The call must be safe to run twice: a try whose answer was lost may have committed, and
 * a try that was given up may still commit later. Batches are safe because a claim knows its owner (claim.ts).
 *
 * @throws Refusal `unavailable` when the outcome is unknown, `internal` when the database refused the statement
 */
export async function withRetries<T>(call: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + WHOLE_LIMIT_MS;
  let fault: unknown;
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    const left = deadline - Date.now();
    if (left <= 0) break;
    try {
      return await withinLimit(call, Math.min(TRY_LIMIT_MS, left));
    } catch (error) {
      fault = error;
      const message = error instanceof Error ? error.message : String(error);
      if (REFUSED_BY_SQLITE.test(message)) throw refused(error);
      if (!(error instanceof TryTimedOut || TRANSIENT.test(message))) break;
      if (attempt < TRIES) await jitteredPause(attempt);
    }
  }
  throw unanswered(fault);
}

/**
 * What a database error thrown outside {@link withRetries} means to a caller, or undefined when it is no database error.
 * drizzle wraps D1's errors, so the innermost cause counts.
 */
export function databaseFault(error: unknown): Refusal | undefined {
  const innermost = rootOf(error);
  if (REFUSED_BY_SQLITE.test(innermost.message)) return refused(innermost);
  return UNANSWERED.test(innermost.message) ? unanswered(innermost) : undefined;
}

/** The error that was first. */
export function rootOf(error: unknown): Error {
  let innermost = error;
  while (innermost instanceof Error && innermost.cause !== undefined) innermost = innermost.cause;
  return innermost instanceof Error ? innermost : new Error(typeof innermost);
}

const refused = (cause: unknown) => new Refusal("internal", { reason: "d1_statement_refused", cause });
const unanswered = (cause: unknown) => new Refusal("unavailable", { reason: "d1_unavailable", retryAfter: 1, cause });

/** Runs a batch (one round trip, one transaction) with retries and gives the one row of its last statement. */
export async function runBatch<Row>(db: D1Database, statements: D1PreparedStatement[]): Promise<Row> {
  const results = await withRetries(() => db.batch<Row>(statements));
  const row = results.at(-1)?.results[0];
  if (row === undefined) throw new Refusal("unavailable", { reason: "d1_answer_incomplete", retryAfter: 1 });
  return row;
}

async function withinLimit<T>(call: () => Promise<T>, milliseconds: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TryTimedOut(`no answer in ${milliseconds} ms`)), milliseconds);
  });
  // In an async function, so that a call that throws at once is a rejection like any other.
  const answer = (async () => call())();
  answer.catch(() => {});
  try {
    return await Promise.race([answer, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** 25–50 ms after the first try, 50–100 after the second: long enough for a failover, short beside a round trip. */
function jitteredPause(attempt: number): Promise<void> {
  const base = 25 * 2 ** (attempt - 1);
  return new Promise((resolve) => setTimeout(resolve, base + Math.random() * base));
}
