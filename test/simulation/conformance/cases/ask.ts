/** Of a result, all but the part of `meta` that is about the machine: durations, sizes, rows read and written, who answered. */
export const seen = ({ success, results, meta }: D1Result<unknown>) => ({
  success,
  results,
  changes: meta.changes,
  lastRowId: meta.last_row_id,
});

/** What one statement answers. */
export async function ask(db: D1Database, sql: string, ...values: unknown[]) {
  const statement = db.prepare(sql).bind(...values);
  return seen(await statement.all());
}

/** What statements answer that are sent one call after the other. */
export async function each(db: D1Database, ...statements: string[]) {
  const results: ReturnType<typeof seen>[] = [];
  for (const sql of statements) results.push(await ask(db, sql));
  return results;
}

/** What the statements of a batch answer. */
export const batch = async (db: D1Database, ...statements: string[]) =>
  (await db.batch(statements.map((sql) => db.prepare(sql)))).map(seen);
