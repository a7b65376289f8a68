import { RULES, type RuleName, type SentAs, type Violation } from "./rules.ts";

export function jsonTypeOf(value: unknown): SentAs {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : (typeof value as "string" | "number" | "boolean" | "object");
}

/** A date in digits, such as 20270115080000, down to the day, the minute, the second or the millisecond. */
const DATE = /^20\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])(?:(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d(?:\d{3})?)?)?$/;

/** What a timestamp was sent as in place of Unix seconds. Undefined for a value that may be seconds: up to the year 5138. */
export function unitOf(timestamp: number): SentAs | undefined {
  if (DATE.test(String(timestamp))) return "date_in_digits";
  if (timestamp > 1e20) return undefined;
  if (timestamp > 1e18) return "nanoseconds";
  // Ticks of .NET and of Windows.
  if (timestamp > 1e17) return "ticks";
  if (timestamp > 1e14) return "microseconds";
  return timestamp > 1e11 ? "milliseconds" : undefined;
}

/** How a value was sent, when this explains why it breaks the rule. */
export function sentAs(rule: RuleName, value: unknown): Pick<Violation, "sentAs"> {
  const slip = value === undefined ? undefined : slipOf(rule, value);
  return slip === undefined ? {} : { sentAs: slip };
}

function slipOf(rule: RuleName, value: unknown): SentAs | undefined {
  const { takes } = RULES[rule];
  const type = jsonTypeOf(value);
  if (takes !== undefined && !takes.includes(type)) return type;
  // HTTP joins a header that comes twice into one value.
  if (rule === "signature_characters" || rule === "visible_ascii")
    return String(value).includes(", ") ? "joined" : undefined;
  if (typeof value !== "number") return undefined;
  if (rule === "unix_seconds" || rule === "near_now") return unitOf(value);
  // The reader of JSON has already turned an integer into a string.
  if (rule === "text_or_digits") return "fraction_or_exponent";
  return rule === "integer" && Number.isInteger(value) ? "too_large" : undefined;
}
