import { sql } from "drizzle-orm";

/** Rows that are sent with one statement, as one JSON parameter. D1 binds at most 100 parameters, and 2 MB in each. */

/** A list as a table for FROM, one row for each element. A FROM can have only one such table. */
export const eachRow = (list: unknown[]) => sql`json_each(${JSON.stringify(list)}) AS each_row`;

/** A property of the element in a row of {@link eachRow}. */
export const rowField = (name: string) => sql`each_row.value ->> ${name}`;

/** The position of the element in the list of {@link eachRow}. */
export const rowPlace = sql`each_row.key`;
