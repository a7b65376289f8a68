import { RULES, type RuleName, type SentAs, type Violation } from "./rules.ts";

/** The JSON type of a value. */
export function jsonTypeOf(value: unknown): SentAs {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : (typeof value as "string" | "number" | "boolean" | "object");
}

/** 20270115080000, as programs write a date without signs: to the day, the minute, the second or the millisecond. */
const DATE = /^20\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])(?:(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d(?:\d{3})?)?)?$/;

/** What a timestamp is in place of Unix seconds; undefined for what may be seconds: no clock shows more than the year 5000. */
export function unitOf(timestamp: number): SentAs | undefined {
  if (DATE.test(String(timestamp))) return "date_in_digits";
  if (timestamp > 1e20) return undefined;
  if (timestamp > 1e18) return "nanoseconds";
  // Of .NET and of Windows.
  if (timestamp > 1e17) return "ticks";
  if (timestamp > 1e14) return "microseconds";
  return timestamp > 1e11 ? "milliseconds" : undefined;
}

/** The byte order marks of UTF-16. */
const MARKS = ["254 255", "255 254"];

/** How a body was sent that is no JSON in UTF-8, when its bytes tell the slip. */
export function bodySentAs(body: ArrayBuffer): Pick<Violation, "sentAs"> {
  const [first, second] = new Uint8Array(body);
  if (first === 0x1f && second === 0x8b) return { sentAs: "compressed" };
  // A bracket in two bytes, or a byte order mark.
  if (first === 0 || second === 0 || MARKS.includes(`${first} ${second}`)) return { sentAs: "utf16" };
  try {
    // "stream" leaves out a character that the end cuts.
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body, { stream: true });
    return leavesOpen(text) ? { sentAs: "left_open" } : {};
  } catch {
    return {};
  }
}

/** Whether a text opens more brackets than it closes, but for those in its strings. */
function leavesOpen(text: string): boolean {
  let [open, inString] = [0, false];
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (character === "\\") i++;
    else if (character === '"') inString = !inString;
    else if (inString) continue;
    else if (character === "{" || character === "[") open++;
    else if (character === "}" || character === "]") open--;
  }
  return open > 0;
}

/** How a value was sent that breaks a rule, when that is the caller's slip. */
export function sentAs(rule: RuleName, value: unknown): Pick<Violation, "sentAs"> {
  const slip = value === undefined ? undefined : slipOf(rule, value);
  return slip === undefined ? {} : { sentAs: slip };
}

function slipOf(rule: RuleName, value: unknown): SentAs | undefined {
  const { takes } = RULES[rule];
  const type = jsonTypeOf(value);
  if (takes !== undefined && !takes.includes(type)) return type;
  // Of a header that comes twice, HTTP makes one value.
  if (rule === "signature_characters" || rule === "visible_ascii")
    return String(value).includes(", ") ? "joined" : undefined;
  if (typeof value !== "number") return undefined;
  if (rule === "unix_seconds" || rule === "near_now") return unitOf(value);
  // The reader of JSON makes a string of an integer before.
  if (rule === "text_or_digits") return "fraction_or_exponent";
  return rule === "integer" && Number.isInteger(value) ? "too_large" : undefined;
}
