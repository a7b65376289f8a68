import { getTableColumns, is, type SQL, sql } from "drizzle-orm";
import { SQLiteTable } from "drizzle-orm/sqlite-core";
import * as eventTables from "../../../core/store/event-schema.ts";
import * as tables from "../../../core/store/schema.ts";
import { type Statement, statement } from "../../../core/store/statement.ts";
import * as erasureTables from "../erasure-schema.ts";
import * as journalTables from "../journal-schema.ts";
import * as operatorTables from "../operator-schema.ts";
import * as usageTables from "../usage-schema.ts";

const TABLES = [tables, eventTables, journalTables, operatorTables, erasureTables, usageTables]
  .flatMap((schema): unknown[] => Object.values(schema))
  .filter((each): each is SQLiteTable => is(each, SQLiteTable));

/** SQLite takes a quoted name that it does not know for a text, unless its table stands before it, as drizzle writes it. */
const isThere = (table: SQLiteTable): SQL =>
  sql`EXISTS (SELECT ${sql.join(Object.values(getTableColumns(table)), sql`, `)} FROM ${table} WHERE 0)`;

/** One row, made of no stored one. D1 refuses it when a table or a column of this release is missing, because it names all of them. */
export const ALL_NAMES: SQL = sql`SELECT ${sql.join(TABLES.map(isThere), sql`, `)}`;

const nameAll: Statement<Record<never, never>> = statement(() => ALL_NAMES);

/**
 * Checks that a database answers and has every table and column of this release.
 *
 * @throws any error of D1; `databaseFault` makes of it the reason `d1_not_migrated` when a table or a column is missing
 */
export async function probeHome(db: D1Database): Promise<void> {
  await nameAll(db, {}).run();
}
