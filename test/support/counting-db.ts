import { replacing } from "./replacing.ts";

interface ResultWatch {
  /** Called with the number of statements before they run. If it throws, they do not run. */
  before?: (statements: number) => void;
  /** Called with each result, except results of `first` and `raw`, which have no count of rows read. */
  after?: (result: D1Result) => void;
}

/** A database that counts its round trips: batches, and statements run on their own. */
export function countingDb(
  db: D1Database,
  { before, after }: ResultWatch = {},
): { db: D1Database; trips: { batches: number; single: number } } {
  const trips = { batches: 0, single: 0 };
  const countingStatement = (statement: D1PreparedStatement): D1PreparedStatement => {
    const { bind, first, all, run, raw } = statement;
    const once = (call: (...args: never[]) => Promise<unknown>, onResult?: (result: D1Result) => void) =>
      async function single(...args: never[]) {
        trips.single += 1;
        before?.(1);
        const result = await call.apply(statement, args);
        onResult?.(result as D1Result);
        return result;
      };
    return Object.assign(statement, {
      bind: (...values: unknown[]) => countingStatement(bind.apply(statement, values)),
      first: once(first),
      all: once(all, after),
      run: once(run, after),
      raw: once(raw),
    });
  };
  return {
    trips,
    db: replacing(db, {
      prepare: (sql: string) => countingStatement(db.prepare(sql)),
      batch: async (statements: D1PreparedStatement[]) => {
        trips.batches += 1;
        before?.(statements.length);
        const results = await db.batch(statements);
        if (after !== undefined) results.forEach(after);
        return results;
      },
    }),
  };
}
