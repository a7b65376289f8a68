import { createHash } from "node:crypto";
import { firstRequestIdAt } from "../../../src/core/request-id.ts";

export type Row = Record<string, string | number | null>;

/** Inserts rows. All have the columns of the first row. */
export async function insertRows(db: D1Database, table: string, rows: readonly Row[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  const values = columns.map((column) => `value ->> '$.${column}'`);
  // Without WHERE true, SQLite would read ON CONFLICT as a join.
  await db
    .prepare(
      `INSERT INTO ${table} (${columns.join(", ")}) SELECT ${values.join(", ")} FROM json_each(?) WHERE true ON CONFLICT DO NOTHING`,
    )
    .bind(JSON.stringify(rows))
    .run();
}

/** Hex digits that look random but are the same on each run. */
export const digits = (of: string, length = 32): string =>
  createHash("sha256").update(of).digest("hex").slice(0, length);

/** The request id of a call at a time in Unix seconds. It is the same on each run. */
export function requestIdAt(at: number, of: string): string {
  const random = digits(`${at} ${of}`);
  return `${firstRequestIdAt(at).slice(0, 14)}7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6, 18)}`;
}

/** The item at an index, which begins again after the end of the list. */
export const pick = <Item>(items: readonly Item[], index: number): Item => items[index % items.length] as Item;

export const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
