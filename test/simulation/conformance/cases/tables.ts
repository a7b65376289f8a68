/** The database of a case: it has inserted rows, so that last_insert_rowid() tells the same when the case begins. */
export interface Tables {
  db: D1Database;
  /** Runs statements of a schema. */
  create(...statements: string[]): Promise<unknown>;
}

/** Makes the database of a case. It inserts twice, because workerd inserts a row of its own after the first call. */
export async function used(tables: Tables): Promise<Tables> {
  await tables.create("CREATE TABLE used (a)");
  for (let i = 0; i < 2; i++) await tables.db.prepare("INSERT INTO used VALUES (1)").run();
  return tables;
}

/** A result without what depends on the machine: durations, sizes, rows read and written, the server. */
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

/** The answers to the statements of a batch. */
export const batch = async (db: D1Database, ...statements: string[]) =>
  (await db.batch(statements.map((sql) => db.prepare(sql)))).map(seen);
