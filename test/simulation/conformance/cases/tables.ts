/** The database of a case. Rows were inserted before, so that both sides begin with the same last_insert_rowid(). */
export interface Tables {
  db: D1Database;
  create(...statements: string[]): Promise<unknown>;
}

/** Prepares the database of a case. It inserts twice, because workerd inserts a row of its own after the first call. */
export async function usedTables(tables: Tables): Promise<Tables> {
  await tables.create("CREATE TABLE used (a)");
  for (let i = 0; i < 2; i++) await tables.db.prepare("INSERT INTO used VALUES (1)").run();
  return tables;
}

/** A result without the fields that depend on the machine: durations, sizes, rows read and written, the server. */
export const comparable = ({ success, results, meta }: D1Result<unknown>) => ({
  success,
  results,
  changes: meta.changes,
  lastRowId: meta.last_row_id,
});

export async function runSql(db: D1Database, sql: string, ...values: unknown[]) {
  const statement = db.prepare(sql).bind(...values);
  return comparable(await statement.all());
}

export const batch = async (db: D1Database, ...statements: string[]) =>
  (await db.batch(statements.map((sql) => db.prepare(sql)))).map(comparable);
