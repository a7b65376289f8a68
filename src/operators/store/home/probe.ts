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

/** SQLite reads an unknown quoted name as a text, unless its table stands before it. drizzle writes the table. */
const hasTable = (table: SQLiteTable): SQL =>
  sql`EXISTS (SELECT ${sql.join(Object.values(getTableColumns(table)), sql`, `)} FROM ${table} WHERE 0)`;

/** A SELECT of one row that reads no stored row. It names all tables and columns of this release, so D1 refuses it when one is missing. */
export const ALL_NAMES: SQL = sql`SELECT ${sql.join(TABLES.map(hasTable), sql`, `)}`;

const nameAll: Statement<Record<never, never>> = statement(() => ALL_NAMES);

/**
 * Checks that a database answers and has every table and column of this release.
 *
 * @throws any error of D1; when a table or a column is missing, `databaseFault` gives it the reason `d1_not_migrated`
 */
export async function probeHome(db: D1Database): Promise<void> {
  await nameAll(db, {}).run();
}
