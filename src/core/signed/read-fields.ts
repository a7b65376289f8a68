import { isCompressed, isUtf16, type JsonMistake, parseJsonObject } from "../parse-json.ts";
import { ok, type Result, refused } from "../result.ts";
import type { Violation } from "../rules.ts";
import { sentAs } from "../sent-as.ts";

/** The fields of a body. Only `appid` is checked. */
export type Fields = Record<string, unknown> & { appid: string };

const VIOLATION_OF_MISTAKE: Record<JsonMistake, Violation> = {
  not_utf8: { field: "body", rule: "utf8" },
  byte_order_mark: { field: "body", rule: "no_byte_order_mark" },
  not_json: { field: "body", rule: "json" },
  not_an_object: { field: "body", rule: "json_object" },
};

/**
 * Reads the body as one JSON object with an appid. Every caller may read the violations of these refusals, because they depend on no
 * secret.
 *
 * @param exactField a field whose integers are returned as strings of their digits
 */
export function readFields(body: ArrayBuffer, exactField: string | undefined): Result<Fields> {
  const parsed = parseJsonObject(body, exactField);
  if (!parsed.ok) {
    if (body.byteLength === 0) return unreadableBody(parsed.reason, { field: "body", rule: "required" });
    const { reason, value } = parsed;
    if (value === undefined)
      return unreadableBody(reason, violationOfBytes(VIOLATION_OF_MISTAKE[reason], new Uint8Array(body)));
    const sentForm = isJson(value) ? ({ sentAs: "json_text" } as const) : sentAs("json_object", value);
    return unreadableBody(reason, { ...VIOLATION_OF_MISTAKE[reason], ...sentForm });
  }
  const { appid } = parsed.object;
  if (isAppid(appid)) return ok(parsed.object as Fields);
  const broken = appid === undefined ? REQUIRED : { ...APPID_RULE, ...sentAs("text_within", appid) };
  return unreadableBody("appid_missing", { field: "appid", ...broken });
}

const APPID_RULE = { rule: "text_within", values: [1, 64] } as const;
const REQUIRED = { rule: "required" } as const;

const unreadableBody = (mistake: JsonMistake | "appid_missing", violation: Violation) =>
  refused("invalid_parameters", `body_${mistake}`, { violations: [violation], tellViolations: true });

/** The violation of a body that is not JSON in UTF-8: the caller's mistake when the bytes show one, otherwise `fallback`. */
function violationOfBytes(fallback: Violation, bytes: Uint8Array): Violation {
  if (isCompressed(bytes)) return { ...fallback, sentAs: "compressed" };
  if (isUtf16(bytes)) return { ...fallback, sentAs: "utf16" };
  const isCut = bytes[0] === 0x7b && bytes.findLast((byte) => byte > 0x20) !== 0x7d;
  return isCut ? { field: "body", rule: "ends_with_bracket" } : fallback;
}

/** Whether a value is a string that holds JSON. */
function isJson(value: unknown): boolean {
  if (typeof value !== "string") return false;
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}

/** The contract sets no form for an appid. The limit of 64 characters keeps cache keys and log lines short. */
const isAppid = (value: unknown): value is string =>
  typeof value === "string" && value.length >= 1 && value.length <= 128 && [...value].length <= 64;
