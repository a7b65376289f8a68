import { sql } from "drizzle-orm";

/** Rows that are sent along with one statement, as JSON: D1 binds 100 parameters at most, and 2 MB in one. */

/** A list as a table for FROM, one row for each element. One FROM takes one. */
export const each = (list: unknown[]) => sql`json_each(${JSON.stringify(list)}) AS each_row`;

/** A property of the element of a row of {@link each}. */
export const field = (name: string) => sql`each_row.value ->> ${name}`;

/** The place of the element in the list of {@link each}. */
export const place = sql`each_row.key`;
