/** The largest body of any call, in bytes. */
export const MAX_BODY_BYTES = 64 * 1024;

const JSON_MEDIA_TYPE = "application/json";

/** Parameters of a media type. An open quote extends to the end of the text, so the pattern never reads a character twice. */
const PARAMETERS = /;(?:[^",]|"(?:[^"\\]|\\.?)*(?:"|$))*/gs;

/** A Content-Type without its parameters, because they may hold anything. */
export const withoutParameters = (contentType: string): string => contentType.replace(PARAMETERS, "").trim();

/**
 * Whether a Content-Type names JSON and nothing else, with or without parameters. A header that is sent twice is one value with a comma.
 * Empty elements of that list do not count (RFC 9110, 5.6.1).
 */
export function isJsonMediaType(contentType: string): boolean {
  const types = withoutParameters(contentType)
    .split(",")
    .map((type) => type.trim().toLowerCase());
  const namedTypes = types.filter((type) => type !== "");
  return namedTypes.length > 0 && namedTypes.every((type) => type === JSON_MEDIA_TYPE);
}

/** Whether bytes begin as gzip does. */
export const isCompressed = ([first, second]: Uint8Array): boolean => first === 0x1f && second === 0x8b;

/** Whether JSON in UTF-16 may begin with these bytes: a mark, or a bracket in two bytes. */
export const isUtf16 = ([first, second]: Uint8Array): boolean =>
  first === 0 || second === 0 || (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** An integer in plain digits: not `1.0`, not `1e3`. */
const WRITTEN_INTEGER = /^-?(0|[1-9][0-9]*)$/;

export type JsonMistake = "not_utf8" | "byte_order_mark" | "not_json" | "not_an_object";

type ParsedJson =
  | { ok: true; object: Record<string, unknown> }
  /** `value` is the parsed JSON that is not an object. */
  | { ok: false; reason: JsonMistake; value?: unknown };

/**
 * Parses a body that must be one JSON object in strict UTF-8 without BOM. Any error of JSON.parse becomes `not_json`, also the error
 * for too deep nesting.
 *
 * @param exactField a top-level field whose integers are returned as strings of their digits, so that integers beyond 2^53 stay exact
 */
export function parseJsonObject(bytes: ArrayBuffer, exactField?: string): ParsedJson {
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
    return { ok: false, reason: "not_an_object", value };
  const object = value as Record<string, unknown>;
  // The second pass is slow. Most identifiers are strings, which need no second pass.
  if (exactField !== undefined && typeof object[exactField] === "number") {
    const digits = writtenNumber(text, exactField);
    if (WRITTEN_INTEGER.test(digits)) object[exactField] = digits;
  }
  return { ok: true, object };
}

/** A token of JSON: a string, a bracket, a comma, or a run of other characters without blanks and colons. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},]|[^\s:,"[\]{}]+/gs;

/**
 * The digits of a number in a top-level field, as the caller wrote them. When the field occurs twice the last one counts, as in
 * JSON.parse. Reads token by token: a reviver of JSON.parse recurses, so deep nesting would overflow the stack.
 *
 * @param json a text that JSON.parse accepts, with an object at the top
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
