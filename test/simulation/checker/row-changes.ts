import type { Row, RowChange } from "../platform/database.ts";

/** Why a change is not an insert of a row with these columns; undefined when it is. */
export const inserts = ({ before, after }: RowChange, row: Row): string | undefined =>
  before !== null ? "the row was there already" : misses(after, row);

/** Why a change is not an update of exactly these columns; undefined when it is. */
export const wrongRow = ({ before, after }: RowChange, row: Row): string | undefined =>
  before === null ? "there was no such row" : misses(after, { ...before, ...row });

/** Which column of a row has an unexpected value; undefined when none has. */
export const misses = (after: Row | null, row: Row): string | undefined => {
  const wrong = Object.entries(row).find(([column, value]) => after?.[column] !== value);
  return wrong && `${wrong[0]} is ${JSON.stringify(after?.[wrong[0]])}, expected ${JSON.stringify(wrong[1])}`;
};

/**
 * Whether a change inserts a reconciliation of a home. In the same batch the home skips ids, or the directory stores
 * the new floors.
 */
export const isReconciling = ({ table, before, after }: RowChange, home: string): boolean =>
  table === "settlings" && before === null && after?.home === home;
