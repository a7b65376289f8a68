import type { Cases } from "../case.ts";

/**
 * A result without the part of `meta` that depends on the machine: durations, sizes, rows read and written, the server.
 */
export const seen = ({ success, results, meta }: D1Result<unknown>) => ({
  success,
  results,
  changes: meta.changes,
  lastRowId: meta.last_row_id,
});

/** The answer to one statement. */
export async function ask(db: D1Database, sql: string, ...values: unknown[]) {
  const statement = db.prepare(sql).bind(...values);
  return seen(await statement.all());
}

/** The answers to statements that are sent in separate calls. */
export async function each(db: D1Database, ...statements: string[]) {
  const results: ReturnType<typeof seen>[] = [];
  for (const sql of statements) results.push(await ask(db, sql));
  return results;
}

/** The answers to the statements of a batch. */
export const batch = async (db: D1Database, ...statements: string[]) =>
  (await db.batch(statements.map((sql) => db.prepare(sql)))).map(seen);

/** The statements of a text that parts them with `;;`. A `;` may be in a trigger. */
export const statementsOf = (text: string): string[] => text.trim().split(/\s*;;\s*/);

/** A case for each text of a table: what `run` gives for its statements. */
export const casesOf = (
  prefix: string,
  table: Record<string, string>,
  run: (db: D1Database, statements: string[]) => unknown,
): Cases<D1Database> =>
  Object.fromEntries(Object.entries(table).map(([name, sql]) => [prefix + name, (db) => run(db, statementsOf(sql))]));
