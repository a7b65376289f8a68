import { type JsonFault, parseJsonObject } from "../parse-json.ts";
import { ok, type Result, refused } from "../result.ts";
import type { Violation } from "../rules.ts";

/** The fields of a body. `appid` is checked; the others are not. */
export type Fields = Record<string, unknown> & { appid: string };

const FAULTS: Record<JsonFault | "appid_missing", Violation> = {
  not_utf8: { field: "body", rule: "utf8" },
  byte_order_mark: { field: "body", rule: "no_byte_order_mark" },
  not_json: { field: "body", rule: "json" },
  not_an_object: { field: "body", rule: "json_object" },
  appid_missing: { field: "appid", rule: "text_within", values: [1, 64] },
};

/**
 * Reads the body as one JSON object with an appid. Every caller may read the violations of these refusals, because they depend on no
 * secret.
 *
 * @param digitsOf a field whose integers are returned as strings of their digits
 */
export function readFields(body: ArrayBuffer, digitsOf: string | undefined): Result<Fields> {
  const parsed = parseJsonObject(body, digitsOf);
  if (!parsed.ok) return unreadable(parsed.reason);
  const { object } = parsed;
  return isAppid(object.appid) ? ok(object as Fields) : unreadable("appid_missing");
}

const unreadable = (fault: keyof typeof FAULTS) =>
  refused("invalid_parameters", `body_${fault}`, { violations: [FAULTS[fault]], tell: true });

/** The contract sets no form for an appid. The limit of 64 characters keeps cache keys and log lines short. */
const isAppid = (value: unknown): value is string =>
  typeof value === "string" && value.length >= 1 && value.length <= 128 && [...value].length <= 64;
