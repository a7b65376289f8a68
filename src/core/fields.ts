import * as z from "zod/mini";
import { describeViolations } from "./describe-violations.ts";
import type { RuleName, Violation } from "./rules.ts";

/** A violation that a schema reports. The path of zod's issue names its field. */
export type BrokenRule = Omit<Violation, "field">;

/** A violation as zod's message, which must be a string. Only the schemas of operators' fields have messages in English. */
export const asMessage = (brokenRule: BrokenRule): string => JSON.stringify(brokenRule);

export const broken = (rule: RuleName, ...values: (string | number)[]): string =>
  asMessage({ rule, ...(values.length > 0 && { values }) });

const REQUIRED = broken("required");

/** The error of a field: `required` when it is absent, otherwise `message`. */
const orRequired = (message: string) => ({
  error: (issue: { input?: unknown }) => (issue.input === undefined ? REQUIRED : message),
});

/** The error of a field whose rule is broken, or that is absent. */
export const rule = (name: RuleName, ...values: (string | number)[]) => orRequired(broken(name, ...values));

/** A value in the code's terms, or the rule that it breaks. */
export type Reading<T> = { value: T } | { broken: BrokenRule };

/** A schema that reads its values with `read`. For rules that must stop at the first fault; zod's own checks go on. */
export const readBy = <T>(read: (value: unknown) => Reading<T>) =>
  z.pipe(
    z.unknown(),
    z.transform((value, { issues }): T => {
      const reading: Reading<T> = value === undefined ? { broken: { rule: "required" } } : read(value);
      if ("value" in reading) return reading.value;
      issues.push({ code: "custom", message: asMessage(reading.broken), input: value });
      return z.NEVER;
    }),
  );

/**
 * A schema for text of `min` to `max` Unicode code points. Nothing is trimmed. A lone surrogate is refused, because the database
 * would store another character. `params` gives openapi.json the rule as JSON Schema keywords.
 */
export function text(min: number, max: number, message = broken("text_within", min, max)) {
  const fits = (value: string) => isText(value, min, max);
  const params = { minLength: min, maxLength: max };
  return z.string(orRequired(message)).check(
    z.refine((value) => value.isWellFormed(), { error: broken("well_formed") }),
    z.refine(fits, { error: message, params }),
  );
}

/** Whether a value is well-formed text of `min` to `max` Unicode code points. */
export const isText = (value: unknown, min: number, max: number): value is string =>
  typeof value === "string" && value.isWellFormed() && countWithin(value, min, max);

export const NOT_POSITIVE: BrokenRule = { rule: "integer_within", values: [1, Number.MAX_SAFE_INTEGER] };

export const isPositiveId = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 1;

/** A positive integer up to 2^53 − 1, which JSON and SQLite hold exactly. */
export const positiveId = z.int(orRequired(asMessage(NOT_POSITIVE))).check(z.minimum(1, asMessage(NOT_POSITIVE)));

/** The rule of {@link displayName}. Only operators give names, so the rules of signed calls do not have it. */
export const NAME_RULE =
  "must be a string of 1 to 100 characters, at least one of them visible and none a control character or direction override";

// \p{DI} is Default_Ignorable_Code_Point: joiners, fillers, soft hyphens, variation selectors. U+2800 is an empty braille cell.
const INVISIBLE_RANGES = "\\p{Z}\\p{Cc}\\p{DI}\\u2800\\ufff9-\\ufffb";

const VISIBLE_CHARACTER = new RegExp(`[^${INVISIBLE_RANGES}]`, "u");

/** The characters of a text that nobody sees. Usual blanks count only at its ends, because between words a reader sees them. */
export const UNSEEN_CHARACTERS = new RegExp(`^ +|(?<! ) +$|(?! )[${INVISIBLE_RANGES}]`, "gu");

/**
 * Whether a text has a visible character. Stored names need this check: names from before this rule may be invisible, and a link on them
 * could not be clicked.
 */
export const isVisible = (text: string): boolean => VISIBLE_CHARACTER.test(text);

// Direction embeddings, overrides and isolates reorder the text, so that one name can look like another. Direction marks do not,
// and are allowed.
const MISLEADING_CHARACTER = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

/** The name of a site, an app or an agent. */
export const displayName = text(1, 100, NAME_RULE).check(
  z.refine((value) => isVisible(value) && !MISLEADING_CHARACTER.test(value), { error: NAME_RULE }),
);

/** A customer's `sbs`. The reader of JSON has already turned an integer into its digits. */
export const customerId = text(1, 64, broken("text_or_digits", 1, 64));

export interface FieldIssue {
  /** The path of the field, such as `kefu_id.3`. Empty when the issue is about all fields. */
  field: string;
  message: string;
}

/** The issues in one line: `sbs: is required; fzr_uid: must be one of kefu_id`. */
export function describeIssues(issues: FieldIssue[]): string {
  return issues.map(({ field, message }) => (field === "" ? message : `${field}: ${message}`)).join("; ");
}

/** The issues of an operator's input, in English. */
export const fieldIssues = (error: z.core.$ZodError): FieldIssue[] =>
  firstIssues(error).map(({ field, message }) => ({ field, message: inEnglish(message) }));

/** The violations of a signed call's fields. All messages of their schemas are violations. `path`: the field, and the index of its item. */
export const brokenRules = (error: z.core.$ZodError): { path: string[]; broken: BrokenRule }[] =>
  firstIssues(error).map(({ field, message }) => ({
    path: field.split("."),
    broken: JSON.parse(message) as BrokenRule,
  }));

const inEnglish = (message: string): string =>
  message.startsWith("{") ? describeViolations([JSON.parse(message) as BrokenRule]) : message;

/** The first issue of each field: a list with thousands of wrong elements gives one issue. */
function firstIssues(error: z.core.$ZodError): FieldIssue[] {
  const byField = new Map<string, FieldIssue>();
  const note = (field: PropertyKey, issue: FieldIssue) => {
    if (!byField.has(String(field))) byField.set(String(field), issue);
  };
  for (const issue of error.issues) {
    if (issue.code === "unrecognized_keys") {
      for (const key of issue.keys.slice(0, 10)) note(key, { field: key, message: "is not a field of this call" });
    } else {
      note(issue.path[0] ?? "", { field: issue.path.map(String).join("."), message: issue.message });
    }
  }
  return [...byField.values()];
}

function countWithin(value: string, min: number, max: number): boolean {
  // A code point is one or two UTF-16 units, so the length alone decides for most texts.
  if (value.length < min || value.length > 2 * max) return false;
  if (value.length <= max && value.length >= 2 * min) return true;
  let count = 0;
  for (const _ of value) count++;
  return count >= min && count <= max;
}
