import { type Column, Placeholder, type SQL, sql } from "drizzle-orm";
import { SQLiteSyncDialect, type SQLiteTable } from "drizzle-orm/sqlite-core";

/** What D1 can bind. `undefined`, BigInt and booleans are left out because D1 throws on them or stores them as something else. */
export type Bindable = string | number | null;

/** A statement written once, with the schema's names, and only bound per request. */
export type Statement<Values> = (db: D1Database, values: Values) => D1PreparedStatement;

/** One placeholder per value, by its name. */
export type Placeholders<Values> = { readonly [K in keyof Values]: Placeholder };

const DIALECT = new SQLiteSyncDialect();

/**
 * Compiles a statement to text when the module loads, so that a request pays for binding and nothing else.
 * `write` gets one placeholder per value; drizzle's own `batch()` cannot fill placeholders, hence this.
 */
export function statement<Values extends Record<string, Bindable>>(
  write: (value: Placeholders<Values>) => SQL,
): Statement<Values> {
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

/** `(a, b, c)`: the bare column names an INSERT wants where drizzle would write `table.column`. */
function columns(...list: Column[]): SQL {
  return sql`(${sql.join(
    list.map((column) => sql.identifier(column.name)),
    sql.raw(", "),
  )})`;
}

/** `a = excluded.a, b = excluded.b`: what an upsert takes over from the row it meant to insert. */
export function takeExcluded(...list: Column[]): SQL {
  return sql.join(
    list.map((column) => sql`${sql.identifier(column.name)} = excluded.${sql.identifier(column.name)}`),
    sql.raw(", "),
  );
}

/** `INSERT INTO table (columns)`, to be followed by a SELECT. */
export function insertInto(table: SQLiteTable, ...list: Column[]): SQL {
  return sql`INSERT INTO ${table} ${columns(...list)}`;
}
