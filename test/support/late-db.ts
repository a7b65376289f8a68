import { replacing } from "./replacing.ts";

/** What happens to the first batch: it is done and its answer is lost, or it is done only when `commitLate` is called. */
export type LateWay = "answer lost" | "late";

/**
 * A database that loses the answer of the first batch, so that the caller tries again.
 *
 * @param between is called before the caller's second try
 * @returns `commitLate` runs the first batch, when `way` is `late`
 */
export function lateDb(db: D1Database, way: LateWay, between: () => Promise<unknown> = async () => {}) {
  let first: D1PreparedStatement[] | undefined;
  const batch = async (statements: D1PreparedStatement[]) => {
    if (first !== undefined) return db.batch(statements);
    first = statements;
    if (way === "answer lost") await db.batch(statements);
    await between();
    throw new Error("D1_ERROR: Network connection lost.");
  };
  const commitLate = async () => {
    if (first === undefined) throw new Error("nothing was tried");
    await db.batch(first);
  };
  return { db: replacing(db, { batch }), commitLate };
}
