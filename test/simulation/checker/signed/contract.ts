import { createHmac } from "node:crypto";
import { modelAt } from "../../operations/index.ts";
import type { OperationModel } from "../../operations/shared/model.ts";
import { isText } from "../../operations/shared/rules.ts";
import type { Wire } from "../../world/call.ts";

/**
 * The contract implemented again, from its text and not from the code: the content of a request, and whether its form
 * is right. It follows sections 4 and 8, and docs/decisions.md where the contract is silent. Rules of one operation are
 * in test/simulation/operations/.
 */

/** The content of a request that can be read without a secret. */
export interface Reading {
  operation: OperationModel;
  appid: string;
  /** Undefined when `timestamp` or `ranstr` breaks its rules. */
  freshness: { timestamp: number; ranstr: string } | undefined;
  /** Undefined when a field breaks its rule. */
  asked: object | undefined;
  /** Two requests with one Idempotency-Key count as the same if their fingerprints are equal. */
  fingerprint: string;
  /** Null without a key, undefined when it breaks its rule. */
  key: string | null | undefined;
  signature: string;
}

/** Whether a signed request is refused for its form alone: a field, its timestamp or ranstr, or its Idempotency-Key. */
export const isMalformed = ({ freshness, asked, key }: Reading): boolean =>
  freshness === undefined || asked === undefined || key === undefined;

/** The statuses of requests that are refused before their signature is checked. */
export type Unreadable = 400 | 404 | 405 | 413 | 415;

const MOST_BYTES = 65_536;

/** Sections 4 and 5. @returns the status of an unreadable request, or its content */
export function read({ method, path, headers, body }: Wire): Unreadable | Reading {
  const operation = modelAt(path);
  if (operation === undefined) return 404;
  if (method !== "POST") return 405;
  if (!/^application\/json\s*(;|$)/i.test(headers["content-type"] ?? "")) return 415;
  if (headers["content-encoding"] !== undefined) return 415;
  if (Buffer.byteLength(body) > MOST_BYTES) return 413;
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(body) as Record<string, unknown>;
  } catch {
    return 400;
  }
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) return 400;
  const { appid, timestamp, ranstr } = fields;
  if (typeof appid !== "string" || appid === "" || [...appid].length > 64) return 400;
  const asked = operation.read(fields, numbersOf(body));
  const key = headers["idempotency-key"];
  return {
    operation,
    appid,
    freshness:
      Number.isSafeInteger(timestamp) && isText(ranstr, 128) ? { timestamp: timestamp as number, ranstr } : undefined,
    asked,
    // docs/retrying.md, "When two requests mean the same".
    fingerprint: asked === undefined ? "" : JSON.stringify(asked),
    key: key === undefined ? null : /^[\x21-\x7e]{1,255}$/.test(key) ? key : undefined,
    signature: headers["x-chat-signature"] ?? "",
  };
}

/** The numbers of a body's top-level fields, digit for digit. */
function numbersOf(body: string): Map<string, string> {
  const found = new Map<object, Map<string, string>>();
  const fields = JSON.parse(body, function (this: object, name, value, context?: { source: string }) {
    if (typeof value === "number") {
      const own = found.get(this) ?? new Map<string, string>();
      found.set(this, own.set(name, String(context?.source)));
    }
    return value;
  }) as object;
  return found.get(fields) ?? new Map();
}

/** Section 5: HMAC-SHA256 of the body as sent, in hex, upper or lower case. */
export const isSignedWith = (secret: string, body: string, signature: string): boolean =>
  createHmac("sha256", secret).update(body).digest("hex") === signature.toLowerCase();
