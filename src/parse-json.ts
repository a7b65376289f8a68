/** The largest body of any call, in bytes. */
export const MAX_BODY_BYTES = 64 * 1024;

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** An integer as JSON writes it; `1.0` and `1e3` are numbers too, but not integers as written. */
const WRITTEN_INTEGER = /^-?(0|[1-9][0-9]*)$/;

export type JsonFault = "not_utf8" | "byte_order_mark" | "not_json" | "not_an_object";

export type ParsedJson = { ok: true; object: Record<string, unknown> } | { ok: false; reason: JsonFault };

/**
 * Reads a body that must be one JSON object in strict UTF-8 without BOM. Whatever makes the parser throw is `not_json`, thousands
 * of brackets included.
 *
 * @param digitsOf a top-level field whose integers are wanted as their digits, exact beyond 2^53; any other number stays a number
 */
export function parseJsonObject(bytes: ArrayBuffer, digitsOf?: string): ParsedJson {
  let text: string;
  try {
    text = strictUtf8.decode(bytes);
  } catch {
    return { ok: false, reason: "not_utf8" };
  }
  if (text.startsWith("\ufeff")) return { ok: false, reason: "byte_order_mark" };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, reason: "not_json" };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { ok: false, reason: "not_an_object" };
  const object = value as Record<string, unknown>;
  // Only a number needs the second, slower look; most identifiers are strings.
  if (digitsOf !== undefined && typeof object[digitsOf] === "number") {
    const digits = writtenNumber(text, digitsOf);
    if (WRITTEN_INTEGER.test(digits)) object[digitsOf] = digits;
  }
  return { ok: true, object };
}

/** A string, a bracket, a comma, or anything else that is no blank and no colon: what JSON is made of. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},]|[^\s:,"[\]{}]+/gs;

/**
 * How the number in a top-level field was written; of a field named twice the last one, as JSON.parse has it. Reads token by token,
 * because a reviver calls itself for every level of nesting and a caller can nest deeper than the stack is.
 *
 * @param json a text that JSON.parse takes, with an object at the top
 */
function writtenNumber(json: string, field: string): string {
  let written = "";
  let depth = 0;
  let key: string | undefined;
  for (const [token] of json.matchAll(TOKEN)) {
    if (token === "{" || token === "[") depth++;
    else if (token === "}" || token === "]") depth--;
    else if (depth !== 1) continue;
    else if (token === ",") key = undefined;
    else if (key === undefined) key = JSON.parse(token) as string;
    else if (key === field) written = token;
  }
  return written;
}
