import { type Runtime, unixSeconds } from "../runtime.ts";
import type { Attempt, AttemptResult } from "../store/home/deliveries.ts";
import { webhookBody } from "./body.ts";
import { type Answer, post } from "./post.ts";
import { nextAttemptAt } from "./schedule.ts";
import { signatureHeaders } from "./sign.ts";
import { webhookUrlFault } from "./url.ts";

/** The answer of a receiver that wants no more events, ever. */
const GONE = 410;

export interface Ended {
  held: Attempt;
  result: AttemptResult;
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
  const { siteId, webhookId, seq, lease } = held;
  const base = { siteId, webhookId, seq, lease, nextAttemptAt: null, lastStatus: null, lastError: null };
  const { eventId, type, at, data } = held;
  if (eventId === null || data === null)
    return { held, result: { ...base, status: "skipped" }, posted: false, gone: false };
  const answer = await send(runtime, { url: held.url, eventId, body: webhookBody({ type, at, data }) }, keys, loopback);
  const { status: lastStatus, error: lastError, retryAfter, posted } = answer;
  if (lastError === null) return { held, result: { ...base, lastStatus, status: "delivered" }, posted, gone: false };
  const gone = lastStatus === GONE;
  const next = gone ? null : nextAttemptAt(runtime, held.attempts, unixSeconds(runtime), retryAfter);
  const status = next === null ? "failed" : "pending";
  return { held, posted, result: { ...base, status, nextAttemptAt: next, lastStatus, lastError }, gone };
}

async function send(
  runtime: Runtime,
  { url, eventId, body }: { url: string; eventId: string; body: string },
  keys: CryptoKey[] | undefined,
  loopback: boolean,
): Promise<Answer & { posted: boolean }> {
  const fault = webhookUrlFault(url, { loopback });
  if (fault !== undefined) return { status: null, error: `the URL ${fault}`, posted: false };
  if (keys === undefined) return { status: null, error: "the secret does not open: MASTER_KEY", posted: false };
  const signed = { id: eventId, timestamp: unixSeconds(runtime), body };
  return { ...(await post(runtime, url, await signatureHeaders(keys, signed), body)), posted: true };
}
