import { type Runtime, withinTime } from "../runtime.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/**
 * KV as a fast first check for a used ranstr. D1 decides, so a KV that throws, hangs or misses a key that it holds costs at most
 * the wait and never fails a request.
 */

/** The key of a nonce in KV. Hashed, because a ranstr may be longer than KV allows or contain what KV refuses. */
export async function nonceKey(appid: string, ranstr: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify([appid, ranstr])));
  return `nonce:${new Uint8Array(digest).toHex()}`;
}

/** Asks KV for a nonce: true when KV has it, false in every other case. Never rejects. */
export async function isKnownToKv(kv: KVNamespace | undefined, key: Promise<string> | undefined): Promise<boolean> {
  if (kv === undefined || key === undefined) return false;
  try {
    return (await kv.get(await key)) !== null;
  } catch {
    return false;
  }
}

/** KV's answer if it comes within `milliseconds`, else false; without any left, only an answer that is there already. */
export function answerWithin(runtime: Runtime, answer: Promise<boolean>, milliseconds: number): Promise<boolean> {
  if (milliseconds <= 0) return Promise.race([answer, Promise.resolve(false)]);
  return withinTime(
    runtime,
    milliseconds,
    () => answer,
    () => false,
  );
}

/** The largest value that TIMESTAMP_TOLERANCE_SECONDS may have. */
export const MAX_TOLERANCE_SECONDS = 900;

/**
 * How long a ranstr is remembered, in seconds: both sides of the largest tolerance and one minute more. It does not depend on the
 * configured tolerance, so that raising the tolerance admits no request whose ranstr was forgotten already.
 */
export const NONCE_SECONDS = 2 * MAX_TOLERANCE_SECONDS + 60;

/** Stores in KV that a nonce is used. For `waitUntil`: never rejects, because D1 refuses a replay that KV does not know. */
export async function rememberNonce(
  kv: KVNamespace | undefined,
  key: Promise<string> | undefined,
  telemetry: Telemetry,
): Promise<void> {
  if (kv === undefined || key === undefined) return;
  try {
    await kv.put(await key, "1", { expirationTtl: NONCE_SECONDS });
  } catch {
    telemetry.warn({ warning: "NONCES did not take a nonce: D1 decides alone" });
  }
}
