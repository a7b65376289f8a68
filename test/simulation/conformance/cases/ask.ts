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
