import * as z from "zod/mini";
import { APPID } from "../../core/credentials/resolve-credentials.ts";
import { invalidInput } from "../../core/errors.ts";

const LIMIT_RULE = "must be an integer from 1 to 100";
export const CURSOR_RULE = "is not a next_cursor";

/** Query of every list: `limit`, and as `cursor` the `next_cursor` of the previous page. */
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

const TIME_RULE = "must be a Unix time in seconds";

/**
 * The end of 30 December 9999 in UTC: later years have five digits in some time zones, and a form does not accept them. A time in
 * milliseconds is above this limit.
 */
const LATEST_TIME = 253_402_214_399;

/** A time in a body, in Unix seconds. */
export const unixSecondsSchema = z.int(TIME_RULE).check(z.minimum(0, TIME_RULE), z.maximum(LATEST_TIME, TIME_RULE));

/** A time in the query of a list. */
export const unixTimeSchema = z.pipe(z.string().check(z.regex(/^\d{1,11}$/, TIME_RULE)), z.transform(Number));

/** @throws ServiceError `invalid_input` when `since` is after `until` */
export function checkOrder({ since, until }: { since?: number | undefined; until?: number | undefined }): void {
  if (since !== undefined && until !== undefined && since > until)
    throw invalidInput([{ field: "since", message: "must not be after until" }]);
}

/** The wanted part of a list: at most `limit` items after `cursor`. */
export interface PageInput {
  limit: number;
  /** The `nextCursor` of the previous page; undefined for the first page. */
  cursor?: string | undefined;
}

export interface Page<Item> {
  items: Item[];
  /** Null on the last page. */
  nextCursor: string | null;
}

/** Cursors of lists whose key is an integer. */
export const idCursorSchema = z.pipe(z.string().check(z.regex(/^\d{1,16}$/, CURSOR_RULE)), z.transform(Number));

const appidCursorSchema = z.string().check(z.regex(APPID, CURSOR_RULE));

/** Where a list in descending order of ids starts. */
const NEWEST = Number.MAX_SAFE_INTEGER;

const tokenCursorSchema = z.string().check(z.regex(/^tok_[0-9a-f]{32}$/, CURSOR_RULE));
const personCursorSchema = z.string().check(z.regex(/^per_[0-9a-f]{32}$/, CURSOR_RULE));

/** The id of the token that a list starts after. @throws ServiceError `invalid_input` */
export const afterToken = ({ cursor }: PageInput): string => readCursor(tokenCursorSchema, cursor, "");

/** The id of the person that a list starts after. @throws ServiceError `invalid_input` */
export const afterPerson = ({ cursor }: PageInput): string => readCursor(personCursorSchema, cursor, "");

/** The id that a list in ascending order starts after. @throws ServiceError `invalid_input` */
export const afterId = ({ cursor }: PageInput): number => readCursor(idCursorSchema, cursor, 0);

/** The id that a list in descending order starts before. @throws ServiceError `invalid_input` */
export const beforeId = ({ cursor }: PageInput): number => readCursor(idCursorSchema, cursor, NEWEST);

/** The appid that a list starts after. @throws ServiceError `invalid_input` */
export const afterAppid = ({ cursor }: PageInput): string => readCursor(appidCursorSchema, cursor, "");

function readCursor<Key>(schema: z.ZodMiniType<Key>, cursor: string | undefined, start: Key): Key {
  if (cursor === undefined) return start;
  const result = schema.safeParse(cursor);
  if (!result.success) throw invalidInput([{ field: "cursor", message: CURSOR_RULE }]);
  return result.data;
}

/**
 * One page of a list.
 *
 * @param rows  up to `limit + 1` rows: the last one only shows that there is a next page
 * @param keyOf gives the key that the next page starts after
 */
export function pageOf<Item>(rows: Item[], limit: number, keyOf: (row: Item) => string | number): Page<Item> {
  const items = rows.slice(0, limit);
  const lastItem = items.at(-1);
  return { items, nextCursor: rows.length > limit && lastItem !== undefined ? String(keyOf(lastItem)) : null };
}
