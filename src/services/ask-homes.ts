import type { Config } from "../config.ts";
import { ServiceError } from "../errors.ts";
import { type Runtime, withinTime } from "../runtime.ts";
import { databaseFault, TRY_LIMIT_MS } from "../store/run-batch.ts";

/** Workers lets six calls of an invocation wait for an answer and queues the others. One is left for what else is asked. */
const AT_ONCE = 5;

/** Less than an operator waits (WHOLE_LIMIT_MS), so that he gets what the other homes answered. */
const ALL_LIMIT_MS = 6_000;

/** What the homes answered, by their names, and the names of those that did not answer. */
interface HomeAnswers<T> {
  answers: Map<string, T>;
  down: string[];
}

/**
 * Asks several homes, five at a time. One that fails or takes longer than 3 s from its turn on is left out and named: it stops no
 * other. So is one whose turn does not come by `answerBy`.
 *
 * @param homes    all that are bound unless told otherwise
 * @param answerBy deadline in milliseconds of the runtime's `elapsed`, 6 s from now unless told otherwise
 * @throws what `ask` throws beside errors of the database
 */
export async function askHomes<T>(
  { runtime, config }: { runtime: Runtime; config: Pick<Config, "homes"> },
  ask: (db: D1Database, home: string) => Promise<T>,
  homes: Iterable<[string, D1Database]> = config.homes,
  answerBy = runtime.elapsed() + ALL_LIMIT_MS,
): Promise<HomeAnswers<T>> {
  const answers = new Map<string, T>();
  const down: string[] = [];
  const late = () => {
    throw new ServiceError("unavailable", { reason: "d1_unavailable" });
  };
  const asked = await inTurns(homes, async ([home, db]) => {
    try {
      return { home, answer: await inItsTurn(runtime, TRY_LIMIT_MS, answerBy, () => ask(db, home), late) };
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      return { home };
    }
  });
  for (const { home, ...answer } of asked) {
    if ("answer" in answer) answers.set(home, answer.answer as T);
    else down.push(home);
  }
  return { answers, down };
}

/** Does the work for each item, five at a time, in their order. @returns the results in the order of the items */
export async function inTurns<Item, Result>(
  items: Iterable<Item>,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const queue = [...items].entries();
  const takeTurns = async () => {
    for (const [place, item] of queue) results[place] = await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, takeTurns));
  return results;
}

/**
 * The call's answer if it comes within `milliseconds` from now and by `answerBy`, of the runtime's `elapsed`; else what `late` returns
 * or throws. When that time is over, nothing is called.
 */
export async function inItsTurn<T, Late>(
  runtime: Runtime,
  milliseconds: number,
  answerBy: number,
  call: () => Promise<T>,
  late: () => Late,
): Promise<T | Late> {
  const left = Math.min(milliseconds, answerBy - runtime.elapsed());
  return left > 0 ? withinTime(runtime, left, call, late) : late();
}

/** A missing table counts too: the database of such a home was not migrated. */
const isUnavailable = (error: unknown): boolean =>
  (error instanceof ServiceError && error.code === "unavailable") || databaseFault(error) !== undefined;
