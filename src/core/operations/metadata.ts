import * as z from "zod/mini";
import { isText } from "../fields.ts";

/** Pairs of name and value that a caller gives to a session. An extension of the contract: docs/contract.md, "metadata". */

const NAME = /^[A-Za-z0-9_.-]{1,40}$/;
const RULE =
  "must be an object of up to 20 strings of up to 500 characters, under names of 1 to 40 characters of A-Za-z0-9_.-";

const isMetadata = (value: unknown): value is Record<string, string> => faultOf(value) === undefined;

/** The fault of metadata, without a quote from it; undefined when there is none. */
function faultOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return RULE;
  const pairs = Object.entries(value);
  if (pairs.length > 20) return "must have at most 20 keys";
  const wrong = pairs.findIndex(([name, each]) => !NAME.test(name) || !isText(each, 0, 500));
  const [name] = pairs[wrong] ?? [];
  if (name === undefined) return undefined;
  // JSON.parse puts names that are whole numbers first, so a position would mislead the caller.
  const which = pairs.some(([each]) => /^\d+$/.test(each)) ? "one key" : `key ${wrong + 1}`;
  return NAME.test(name)
    ? `${which} must have a string of up to 500 characters`
    : `${which} must be a name of 1 to 40 characters of A-Za-z0-9_.-`;
}

export const metadataField = z.custom<Record<string, string>>(isMetadata, { error: ({ input }) => faultOf(input) });

/** Sorted, so that the order of the pairs does not change the fingerprint. */
export const sortedByName = (pairs: Record<string, string>) =>
  Object.fromEntries(Object.entries(pairs).sort(([a], [b]) => (a < b ? -1 : 1)));
