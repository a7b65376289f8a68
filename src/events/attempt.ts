import { type Runtime, unixSeconds } from "../core/runtime.ts";
import { type FailureCause, PING, SESSION_ERASED } from "../core/store/event-schema.ts";
import { webhookBody } from "./body.ts";
import { type Answer, causeText, post } from "./post.ts";
import { nextAttemptAt } from "./schedule.ts";
import { signatureHeaders } from "./sign.ts";
import { type Attempt, type AttemptResult, FIRST_IN_LINE } from "./store/deliveries.ts";
import { webhookUrlMistake } from "./url.ts";

/** The status with which a receiver says that it wants no more events, ever. */
const STATUS_GONE = 410;

export interface EndedAttempt {
  attempt: Attempt;
  result: AttemptResult;
  /** Why the attempt failed; null when it succeeded, or when nothing was posted. */
  cause: FailureCause | null;
  /** Whether anything was posted. If not, the result says nothing about the receiver. */
  wasPosted: boolean;
  /** Whether the receiver answered 410 Gone. */
  isGone: boolean;
}

/**
 * Makes one attempt of a leased delivery. Never rejects.
 *
 * @param keys     the signing keys; undefined when MASTER_KEY does not open the secrets
 * @param loopback see {@link webhookUrlMistake}
 */
export async function makeAttempt(
  runtime: Runtime,
  attempt: Attempt,
  keys: CryptoKey[] | undefined,
  loopback: boolean,
): Promise<EndedAttempt> {
  const { siteId, webhookId, seq, lease, attempts } = attempt;
  const unposted = { nextAttemptAt: null, againAt: null, lastStatus: null, lastError: null, durationMs: null };
  const base = { siteId, webhookId, seq, lease, attempts, ...unposted };
  const { eventId, type, at, data } = attempt;
  if (eventId === null || data === null)
    return { attempt, result: { ...base, status: "skipped" }, cause: null, wasPosted: false, isGone: false };
  const answer = await send(
    runtime,
    { url: attempt.url, eventId, body: webhookBody({ type, at, data }) },
    keys,
    loopback,
  );
  const { status: lastStatus, cause, durationMs, retryAfter, wasPosted } = answer;
  // The receiver's answer may name the erased customer, and no later erasure would find it.
  const keepsWords = type !== SESSION_ERASED || cause !== "status";
  const lastError = keepsWords ? answer.error : causeText("status", lastStatus);
  const ended = { ...base, lastStatus, lastError, durationMs };
  if (lastError === null)
    return { attempt, result: { ...ended, status: "delivered" }, cause, wasPosted, isGone: false };
  if (type === PING)
    return { attempt, result: { ...ended, status: "failed", againAt: FIRST_IN_LINE }, cause, wasPosted, isGone: false };
  const isGone = lastStatus === STATUS_GONE;
  const now = unixSeconds(runtime);
  // `attempts` is 0 when the delivery was sent again before its lease was read, as after a lost answer of D1.
  const next = isGone ? null : nextAttemptAt(runtime, Math.max(1, attempts), now, retryAfter);
  const againAt = nextAttemptAt(runtime, 1, now, retryAfter);
  const status = next === null ? "failed" : "pending";
  return { attempt, cause, wasPosted, result: { ...ended, status, nextAttemptAt: next, againAt }, isGone };
}

async function send(
  runtime: Runtime,
  { url, eventId, body }: { url: string; eventId: string; body: string },
  keys: CryptoKey[] | undefined,
  loopback: boolean,
): Promise<Answer & { wasPosted: boolean }> {
  const fault = webhookUrlMistake(url, { loopback });
  const unposted = { status: null, cause: null, durationMs: null, wasPosted: false };
  if (fault !== undefined) return { ...unposted, error: `the URL ${fault}` };
  if (keys === undefined) return { ...unposted, error: "the secret does not open: MASTER_KEY" };
  const signed = { id: eventId, timestamp: unixSeconds(runtime), body };
  return { ...(await post(runtime, url, await signatureHeaders(keys, signed), body)), wasPosted: true };
}
