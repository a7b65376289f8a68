import { type Runtime, withinTime } from "../runtime.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/**
 * KV as the fast first look for a used ranstr. Only a help: D1 is the authority, so whatever KV does wrong here (throw, hang, lie
 * about a miss) costs at most the wait and never fails a request.
 */

/** The name of a nonce in KV. Hashed, because a ranstr may be longer than a KV key or be a name KV refuses. */
export async function nonceKey(appid: string, ranstr: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify([appid, ranstr])));
  return `nonce:${new Uint8Array(digest).toHex()}`;
}

/** Starts the look; true when KV knows the nonce, false in every other case. Never rejects. */
export async function lookForNonce(kv: KVNamespace | undefined, key: Promise<string> | undefined): Promise<boolean> {
  if (kv === undefined || key === undefined) return false;
  try {
    return (await kv.get(await key)) !== null;
  } catch {
    return false;
  }
}

/** The look's answer if it comes within `milliseconds`, else false. */
export function seenWithin(runtime: Runtime, look: Promise<boolean>, milliseconds: number): Promise<boolean> {
  return withinTime(
    runtime,
    milliseconds,
    () => look,
    () => false,
  );
}

/** How many seconds a timestamp may be off at the most, whatever TIMESTAMP_TOLERANCE_SECONDS says. */
export const MAX_TOLERANCE_SECONDS = 900;

/**
 * How long every ranstr is remembered, in seconds: past both edges of the widest tolerance, with a minute to spare. The same
 * whatever the tolerance is, so that raising it admits no request whose ranstr was forgotten.
 */
export const NONCE_SECONDS = 2 * MAX_TOLERANCE_SECONDS + 60;

/** Tells KV that the nonce is used. For `waitUntil`; never rejects, a failure only means that D1 will do the next refusal. */
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
