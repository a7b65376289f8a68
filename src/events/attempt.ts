import { type Runtime, unixSeconds } from "../core/runtime.ts";
import { type FailureCause, PING, SESSION_ERASED } from "../core/store/event-schema.ts";
import { webhookBody } from "./body.ts";
import { type Answer, causeText, post } from "./post.ts";
import { nextAttemptAt } from "./schedule.ts";
import { signatureHeaders } from "./sign.ts";
import { type Attempt, type AttemptResult, FIRST_IN_LINE } from "./store/deliveries.ts";
import { webhookUrlFault } from "./url.ts";

/** The answer of a receiver that wants no more events, ever. */
const GONE = 410;

export interface Ended {
  held: Attempt;
  result: AttemptResult;
  /** Why it failed; null when it did not, or when nothing was posted. */
  cause: FailureCause | null;
  /** Whether anything was posted. If not, the result says nothing about the receiver. */
  posted: boolean;
  /** Whether the receiver answered 410 Gone. */
  gone: boolean;
}

/**
 * Makes one attempt of a leased delivery. Never rejects.
 *
 * @param keys     the signing keys; undefined when MASTER_KEY does not open the secrets
 * @param loopback see {@link webhookUrlFault}
 */
export async function attempt(
  runtime: Runtime,
  held: Attempt,
  keys: CryptoKey[] | undefined,
  loopback: boolean,
): Promise<Ended> {
  const { siteId, webhookId, seq, lease, attempts } = held;
  const unposted = { nextAttemptAt: null, againAt: null, lastStatus: null, lastError: null, durationMs: null };
  const base = { siteId, webhookId, seq, lease, attempts, ...unposted };
  const { eventId, type, at, data } = held;
  if (eventId === null || data === null)
    return { held, result: { ...base, status: "skipped" }, cause: null, posted: false, gone: false };
  const answer = await send(runtime, { url: held.url, eventId, body: webhookBody({ type, at, data }) }, keys, loopback);
  const { status: lastStatus, cause, durationMs, retryAfter, posted } = answer;
  // Its receiver may name who was erased, and no later erasure would find that.
  const keepsWords = type !== SESSION_ERASED || cause !== "status";
  const lastError = keepsWords ? answer.error : causeText("status", lastStatus);
  const ended = { ...base, lastStatus, lastError, durationMs };
  if (lastError === null) return { held, result: { ...ended, status: "delivered" }, cause, posted, gone: false };
  if (type === PING)
    return { held, result: { ...ended, status: "failed", againAt: FIRST_IN_LINE }, cause, posted, gone: false };
  const gone = lastStatus === GONE;
  const now = unixSeconds(runtime);
  // 0 when it was sent again before its lease was read, as after a lost answer of D1.
  const next = gone ? null : nextAttemptAt(runtime, Math.max(1, attempts), now, retryAfter);
  const againAt = nextAttemptAt(runtime, 1, now, retryAfter);
  const status = next === null ? "failed" : "pending";
  return { held, cause, posted, result: { ...ended, status, nextAttemptAt: next, againAt }, gone };
}

async function send(
  runtime: Runtime,
  { url, eventId, body }: { url: string; eventId: string; body: string },
  keys: CryptoKey[] | undefined,
  loopback: boolean,
): Promise<Answer & { posted: boolean }> {
  const fault = webhookUrlFault(url, { loopback });
  const unposted = { status: null, cause: null, durationMs: null, posted: false };
  if (fault !== undefined) return { ...unposted, error: `the URL ${fault}` };
  if (keys === undefined) return { ...unposted, error: "the secret does not open: MASTER_KEY" };
  const signed = { id: eventId, timestamp: unixSeconds(runtime), body };
  return { ...(await post(runtime, url, await signatureHeaders(keys, signed), body)), posted: true };
}
