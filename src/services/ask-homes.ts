import type { Config } from "../config.ts";
import { ServiceError } from "../errors.ts";
import { type Runtime, withinTime } from "../runtime.ts";
import { databaseFault, TRY_LIMIT_MS } from "../store/run-batch.ts";

/** What the homes answered, by their names, and the names of those that did not answer. */
export interface HomeAnswers<T> {
  answers: Map<string, T>;
  down: string[];
}

/**
 * Asks several homes at once. One that fails or takes longer than 3 s is left out and named: it stops no other.
 *
 * @param homes all that are bound unless told otherwise
 * @throws what `ask` throws beside errors of the database
 */
export async function askHomes<T>(
  { runtime, config }: { runtime: Runtime; config: Pick<Config, "homes"> },
  ask: (db: D1Database, home: string) => Promise<T>,
  homes: Iterable<[string, D1Database]> = config.homes,
): Promise<HomeAnswers<T>> {
  const answers = new Map<string, T>();
  const down: string[] = [];
  const asked = [...homes].map(async ([home, db]) => {
    const late = () => {
      throw new ServiceError("unavailable", { reason: "d1_unavailable" });
    };
    try {
      return { home, answer: await withinTime(runtime, TRY_LIMIT_MS, () => ask(db, home), late) };
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      return { home };
    }
  });
  for (const { home, ...answer } of await Promise.all(asked)) {
    if ("answer" in answer) answers.set(home, answer.answer as T);
    else down.push(home);
  }
  return { answers, down };
}

/** A missing table counts too: the database of such a home was not migrated. */
export const isUnavailable = (error: unknown): boolean =>
  (error instanceof ServiceError && error.code === "unavailable") || databaseFault(error) !== undefined;
