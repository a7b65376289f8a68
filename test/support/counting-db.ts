import { replacing } from "./replacing.ts";

/** A database that counts its round trips: batches, and statements run on their own. */
export function countingDb(db: D1Database): { db: D1Database; trips: { batches: number; single: number } } {
  const trips = { batches: 0, single: 0 };
  const counted = (statement: D1PreparedStatement): D1PreparedStatement => {
    const { bind, first, all, run, raw } = statement;
    const once = (call: (...given: never[]) => unknown) =>
      function single(...given: never[]) {
        trips.single += 1;
        return call.apply(statement, given);
      };
    return Object.assign(statement, {
      bind: (...values: unknown[]) => counted(bind.apply(statement, values)),
      first: once(first),
      all: once(all),
      run: once(run),
      raw: once(raw),
    });
  };
  return {
    trips,
    db: replacing(db, {
      prepare: (sql: string) => counted(db.prepare(sql)),
      batch: (statements: D1PreparedStatement[]) => {
        trips.batches += 1;
        return db.batch(statements);
      },
    }),
  };
}
