import { Column, getTableName, Name, Placeholder, SQL, StringChunk, sql, Table } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { BoundStatement } from "./batch.ts";

/** The types that D1 binds unchanged. Undefined, BigInt and booleans throw, or D1 stores another value. */
export type Bindable = string | number | null;

/** A compiled statement: a request only binds its values. `Row` is what it reads. */
export type Statement<Values, Row = unknown> = (db: D1Database, values: Values) => BoundStatement<Row>;

/** A placeholder for each value, by its name. In the text it is a numbered parameter, such as `?3`. */
export type Placeholders<Values> = { readonly [K in keyof Values]: SQL };

/**
 * Compiles a statement when the module loads, so that a request only binds values, each of them once. A query of drizzle is built
 * anew for each request.
 *
 * @param write gets a placeholder for each value
 * @throws TypeError when the SQL holds a value that is not a placeholder
 */
export function statement<Values extends Record<string, Bindable>, Row = unknown>(
  write: (value: Placeholders<Values>) => SQL,
): Statement<Values, Row> {
  const placeholders = new Proxy({} as Placeholders<Values>, {
    get: (_, name) => sql`${sql.placeholder(String(name))}`,
  });
  const names: string[] = [];
  const text = shortenSql(textOf(write(placeholders), names));
  return (db, values) => db.prepare(text).bind(...names.map((name) => values[name]));
}

/**
 * The SQL text of a part. Drizzle itself would put names into quotes, and no name needs them.
 *
 * @param names receives the name of each value, at the index of its parameter's number
 */
function textOf(part: unknown, names: string[]): string {
  if (part instanceof StringChunk) return part.value.join("");
  if (part instanceof SQL) return part.queryChunks.map((each) => textOf(each, names)).join("");
  if (part instanceof Placeholder) {
    const place = names.indexOf(part.name);
    return `?${place < 0 ? names.push(part.name) : place + 1}`;
  }
  if (part instanceof Column) return `${getTableName(part.table)}.${part.name}`;
  if (part instanceof Table) return getTableName(part);
  if (part instanceof Name) return part.value;
  throw new TypeError(`a value in a statement is not a placeholder: ${typeof part}`);
}

/** A string, a sign with the blanks around it, or other blanks. No statement has a quoted name or a comment. */
const TOKEN = /'[^']*'|\s*([(),=<>])\s*|\s+/g;

/** The same SQL in fewer characters: D1 gets the text with each call. */
const shortenSql = (text: string): string =>
  text.replace(TOKEN, (token, sign?: string) => sign ?? (token.startsWith("'") ? token : " ")).trim();

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
