import * as z from "zod/mini";

const LIMIT_RULE = "must be an integer from 1 to 100";

/** Query of every list: `limit`, and the `next_cursor` of the page before. */
export const pageQuerySchema = z.strictObject({
  limit: z._default(
    z.pipe(
      z.string().check(z.regex(/^\d{1,3}$/, LIMIT_RULE)),
      z.pipe(z.transform(Number), z.int(LIMIT_RULE).check(z.minimum(1, LIMIT_RULE), z.maximum(100, LIMIT_RULE))),
    ),
    20,
  ),
  cursor: z.optional(z.string()),
});

/** Cursors of lists whose key is an integer. */
export const idCursorSchema = z.pipe(
  z.string().check(z.regex(/^\d{1,16}$/, "is not a next_cursor")),
  z.transform(Number),
);

/**
 * One page of a list read with `limit + 1`, so that the last page knows it is the last.
 *
 * @param keyOf what the next page starts after
 */
export function page<Row, Item>(
  rows: Row[],
  limit: number,
  keyOf: (row: Row) => string | number,
  show: (row: Row) => Item,
): { items: Item[]; next_cursor: string | null } {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown.map(show),
    next_cursor: rows.length > limit && last !== undefined ? String(keyOf(last)) : null,
  };
}
