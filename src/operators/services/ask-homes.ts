import type { Config } from "../../config.ts";
import { ServiceError } from "../../core/errors.ts";
import { type Runtime, withinTime } from "../../core/runtime.ts";
import { databaseFault, TRY_LIMIT_MS } from "../../core/store/run-batch.ts";

/** Workers lets six calls of an invocation wait at once and queues the others. The sixth is left for calls to KV and the like. */
const HOMES_AT_ONCE = 5;

/** Less than WHOLE_LIMIT_MS: otherwise one silent home would turn the answers of the others into a 503. */
const ALL_LIMIT_MS = 6_000;

/** The answers by the names of the homes, and the names of the homes that did not answer. */
interface HomeAnswers<T> {
  answers: Map<string, T>;
  silentHomes: string[];
}

/**
 * Asks several homes, five at a time. A home counts as silent when it fails, takes longer than 3 s, or has no turn before `answerBy`; the
 * others still answer.
 *
 * @param homes    by default all that are bound
 * @param answerBy deadline in milliseconds of the runtime's `elapsed`, by default 6 s from now
 * @throws every error of `ask` that is not the database's
 */
export async function askHomes<T>(
  { runtime, config }: { runtime: Runtime; config: Pick<Config, "homes"> },
  ask: (db: D1Database, home: string) => Promise<T>,
  homes: Iterable<[string, D1Database]> = config.homes,
  answerBy = runtime.elapsed() + ALL_LIMIT_MS,
): Promise<HomeAnswers<T>> {
  const answers = new Map<string, T>();
  const silentHomes: string[] = [];
  const throwLate = () => {
    throw new ServiceError("unavailable", { reason: "d1_unavailable" });
  };
  const answersOrSilence = await inTurns(homes, async ([home, db]) => {
    try {
      return { home, answer: await inItsTurn(runtime, TRY_LIMIT_MS, answerBy, () => ask(db, home), throwLate) };
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      return { home };
    }
  });
  for (const { home, ...answer } of answersOrSilence) {
    if ("answer" in answer) answers.set(home, answer.answer as T);
    else silentHomes.push(home);
  }
  return { answers, silentHomes };
}

/** Does the work for five items at a time. @returns the results in the order of the items */
export async function inTurns<Item, Result>(
  items: Iterable<Item>,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const queue = [...items].entries();
  const takeTurns = async () => {
    for (const [place, item] of queue) results[place] = await work(item);
  };
  await Promise.all(Array.from({ length: HOMES_AT_ONCE }, takeTurns));
  return results;
}

/**
 * The call's answer, if it comes within `milliseconds` and before `answerBy` (of the runtime's `elapsed`). Otherwise the result of `whenLate`.
 * After `answerBy` the call is not made.
 */
export async function inItsTurn<T, Late>(
  runtime: Runtime,
  milliseconds: number,
  answerBy: number,
  call: () => Promise<T>,
  whenLate: () => Late,
): Promise<T | Late> {
  const msLeft = Math.min(milliseconds, answerBy - runtime.elapsed());
  return msLeft > 0 ? withinTime(runtime, msLeft, call, whenLate) : whenLate();
}

/** Whether an error means that a database cannot be used. A missing table counts too: that database was not migrated. */
const isUnavailable = (error: unknown): boolean =>
  (error instanceof ServiceError && error.code === "unavailable") || databaseFault(error) !== undefined;
