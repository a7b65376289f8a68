import { MAX_TOLERANCE_SECONDS } from "../config.ts";
import { type Runtime, withinTime } from "../runtime.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/**
 * KV is a fast first check for used ranstr, and D1 decides. So a fault or a missing answer of KV costs at most the wait, and never
 * fails a request.
 */

/** The key of a nonce in KV. It is a hash, because a ranstr may be too long for a key of KV, or have characters that KV refuses. */
export async function nonceKey(appid: string, ranstr: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify([appid, ranstr])));
  return `nonce:${new Uint8Array(digest).toHex()}`;
}

/** Whether KV has the nonce; false also when KV fails. Never rejects. */
export async function isKnownToKv(kv: KVNamespace | undefined, key: Promise<string> | undefined): Promise<boolean> {
  if (kv === undefined || key === undefined) return false;
  try {
    return (await kv.get(await key)) !== null;
  } catch {
    return false;
  }
}

/** KV's answer if it comes within `milliseconds`, otherwise false. With no time left, only an answer that is already there counts. */
export function answerWithin(runtime: Runtime, answer: Promise<boolean>, milliseconds: number): Promise<boolean> {
  if (milliseconds <= 0) return Promise.race([answer, Promise.resolve(false)]);
  return withinTime(
    runtime,
    milliseconds,
    () => answer,
    () => false,
  );
}

/**
 * How long a ranstr is remembered: twice the largest tolerance, and one minute more. This time does not depend on the configured
 * tolerance: otherwise a higher tolerance would admit requests whose ranstr was forgotten before.
 */
export const NONCE_SECONDS = 2 * MAX_TOLERANCE_SECONDS + 60;

/** Stores a used nonce in KV. For `waitUntil`: never rejects, because D1 refuses a replay that KV does not know. */
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
