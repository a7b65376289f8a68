import { type Column, Placeholder, type SQL, sql } from "drizzle-orm";
import { SQLiteSyncDialect, type SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Bound } from "./batch.ts";

/** The values that D1 binds unchanged. Undefined, BigInt and booleans throw or are stored as something else. */
export type Bindable = string | number | null;

/** A compiled statement: a request only binds its values. `Row` is what it reads. */
export type Statement<Values, Row = unknown> = (db: D1Database, values: Values) => Bound<Row>;

/** A placeholder for each value, by its name. */
export type Placeholders<Values> = { readonly [K in keyof Values]: Placeholder };

const DIALECT = new SQLiteSyncDialect();

/**
 * Compiles a statement when the module loads, so that a request only binds values. A query of
 * drizzle is built anew for each request.
 *
 * @param write gets a placeholder for each value
 * @throws TypeError when the SQL holds a value that is not a placeholder
 */
export function statement<Values extends Record<string, Bindable>, Row = unknown>(
  write: (value: Placeholders<Values>) => SQL,
): Statement<Values, Row> {
  const placeholders = new Proxy({} as Placeholders<Values>, {
    get: (_, name) => sql.placeholder(String(name)),
  });
  const { sql: text, params } = DIALECT.sqlToQuery(write(placeholders));
  const names = params.map((param) => {
    if (param instanceof Placeholder) return param.name;
    throw new TypeError(`a value in a statement is not a placeholder: ${text}`);
  });
  return (db, values) => db.prepare(text).bind(...names.map((name) => values[name]));
}

/** `(a, b, c)`: bare column names, because INSERT refuses drizzle's `table.column`. */
function columns(...list: Column[]): SQL {
  return sql`(${sql.join(
    list.map((column) => sql.identifier(column.name)),
    sql.raw(", "),
  )})`;
}

/** `a = excluded.a, b = excluded.b`: the SET of an upsert that takes the new row's values. */
export function takeExcluded(...list: Column[]): SQL {
  return sql.join(
    list.map((column) => sql`${sql.identifier(column.name)} = excluded.${sql.identifier(column.name)}`),
    sql.raw(", "),
  );
}

/** `INSERT OR IGNORE INTO table (columns)`: rows that break a constraint are left out. A SELECT must follow. */
export function insertOrIgnore(table: SQLiteTable, ...list: Column[]): SQL {
  return sql`INSERT OR IGNORE INTO ${table} ${columns(...list)}`;
}

/** `INSERT INTO table (columns)`. A SELECT must follow. */
export function insertInto(table: SQLiteTable, ...list: Column[]): SQL {
  return sql`INSERT INTO ${table} ${columns(...list)}`;
}
