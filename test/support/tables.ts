import { is } from "drizzle-orm";
import { getTableConfig, SQLiteTable } from "drizzle-orm/sqlite-core";

const SCHEMAS = import.meta.glob("../../src/**/store/*schema.ts", { eager: true });

/** Every table of every schema. */
export const TABLES = Object.values(SCHEMAS)
  .flatMap((schema) => Object.values(schema))
  .filter((value) => is(value, SQLiteTable))
  .map((table) => getTableConfig(table));
