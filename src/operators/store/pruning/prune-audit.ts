import { and, between, notInArray, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { inOneBatch } from "../../../core/store/batch.ts";
import { auditLog, jobs, RECEIPTS } from "../operator-schema.ts";
import { countedCall, type PruneRun } from "./pruner.ts";

/** The job whose place is the id up to which all rows were looked at. Rows that remain below it are never deleted. */
const JOB = "prune audit_log";

/**
 * Deletes the rows of the audit log that are old enough, except {@link RECEIPTS}. Goes from the place of the last run to the first row that
 * is not old enough, so no run reads remaining rows again. The newest row stays too: otherwise its id would be given again.
 */
export async function* pruneAudit(run: PruneRun, db: D1Database): AsyncGenerator<number, void> {
  const store = drizzle(db);
  const { id, at, action } = auditLog;
  // The ids of a chunk limit what SQLite reads for the row that is not old enough.
  const readChunk = () =>
    store.get<{ from: number | null; to: number | null }>(sql`SELECT found.id AS "from", min(found.newest - 1, coalesce(
        (SELECT ${id} FROM ${auditLog} WHERE ${id} >= found.id AND ${id} < found.id + ${run.chunkRows} AND ${at} > ${run.auditKeptUntil}
          ORDER BY ${id} LIMIT 1) - 1, found.id + ${run.chunkRows - 1})) AS "to"
      FROM (SELECT (SELECT min(${id}) FROM ${auditLog} WHERE ${id} > coalesce(
          (SELECT CAST(${jobs.place} AS INTEGER) FROM ${jobs} WHERE ${jobs.name} = ${JOB}), 0)) AS id,
        (SELECT max(${id}) FROM ${auditLog}) AS newest) AS found`);
  for (;;) {
    const { from, to } = await countedCall(run, 1, readChunk);
    if (from === null || to === null || to < from) return;
    const place = String(to);
    const statements = {
      removed: store.delete(auditLog).where(and(between(id, from, to), notInArray(action, [...RECEIPTS]))),
      placed: store.insert(jobs).values({ name: JOB, place }).onConflictDoUpdate({ target: jobs.name, set: { place } }),
    };
    yield (await countedCall(run, 2, () => inOneBatch(db, statements))).removed.meta.changes;
  }
}
