import { type BrokenRule, isText, readBy } from "../fields.ts";
import { sentAs } from "../sent-as.ts";
import type { JsonSchema } from "./operation.ts";

/** Pairs of name and value that a caller gives to a session. An extension of the contract: docs/contract.md, "metadata". */

const NAME = /^[A-Za-z0-9_.-]{1,40}$/;
const NAME_LIMITS = [1, 40, "A-Za-z0-9_.-"];
const NO_PAIRS: BrokenRule = { rule: "pairs", values: [20, 500, ...NAME_LIMITS] };

/** The rule that a value breaks, without a quote from the value; undefined when it breaks none. */
function violationOf(value: unknown): BrokenRule | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return NO_PAIRS;
  if (Object.keys(value).length > 20) return { rule: "most_keys", values: [20] };
  const pairs = Object.entries(value);
  const wrongIndex = pairs.findIndex(([name, each]) => !NAME.test(name) || !isText(each, 0, 500));
  const [name, sentValue] = pairs[wrongIndex] ?? [];
  if (name === undefined) return undefined;
  // JSON.parse puts names that are whole numbers first, so a position would mislead the caller.
  const key = pairs.some(([each]) => /^\d+$/.test(each)) ? "one" : wrongIndex + 1;
  if (!NAME.test(name)) return { rule: "name_of_key", key, values: NAME_LIMITS };
  if (typeof sentValue === "string" && !sentValue.isWellFormed()) return { rule: "well_formed", key };
  return { rule: "value_of_key", key, values: [500], ...sentAs("value_of_key", sentValue) };
}

export const metadataField = readBy<Record<string, string>>((value) => {
  const broken = violationOf(value);
  return broken === undefined ? { value: value as Record<string, string> } : { broken };
});

/** Sorts the pairs, so that their order does not change the fingerprint. */
export const sortedByName = (pairs: Record<string, string>) =>
  Object.fromEntries(Object.entries(pairs).sort(([a], [b]) => (a < b ? -1 : 1)));

/** Only the documentation uses these words. */
export const METADATA_WORDS = {
  description:
    "Your own pairs of name and value, such as an order number: stored and shown with the session, never interpreted. At most 20. An extension of this service; the contract does not have it.",
  type: "object",
  maxProperties: 20,
  propertyNames: { pattern: "^[A-Za-z0-9_.-]{1,40}$" },
  additionalProperties: { type: "string", maxLength: 500 },
  examples: [{ order: "20260617-0042", channel: "app" }],
} satisfies JsonSchema;

const examplePairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, ""]));

/** Values just inside and just outside the rule, for tests. */
export const metadataProbes = () => ({
  inside: [{}, { ["k".repeat(40)]: "" }, { a: "😀".repeat(500) }, examplePairs(20), { "A-Za_z.0": "\u0000" }],
  outside: [
    { ["k".repeat(41)]: "" },
    { a: "a".repeat(501) },
    examplePairs(21),
    { "": "a" },
    { é: "a" },
    { a: 1 },
    { a: null },
    { a: {} },
    { a: "\ud800" },
    [],
    ["a"],
    "a",
    1,
    null,
  ],
});
