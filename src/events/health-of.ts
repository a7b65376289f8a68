import { PING } from "../core/store/event-schema.ts";
import type { EndedAttempt } from "./attempt.ts";
import type { WebhookHealth } from "./store/webhook-health.ts";

/** A delivery that took longer makes its webhook slow. Most receivers need less time, and a hanging receiver takes 15 s. */
const LONG_MS = 10_000;

export const tookLong = ({ result }: EndedAttempt): boolean => (result.durationMs ?? 0) > LONG_MS;

/**
 * Whether an attempt says something about its receiver. A ping is only a test, and an attempt that posted nothing, for example because of
 * a wrong MASTER_KEY, is no fault of the receiver.
 */
export const isAboutReceiver = ({ wasPosted, attempt }: EndedAttempt): boolean => wasPosted && attempt.type !== PING;

/**
 * The common result of attempts that ended together, for each webhook and URL. `knownFailingSince` says since when the webhook was known to
 * fail.
 */
export function healthOf(
  ended: EndedAttempt[],
  now: number,
): { health: WebhookHealth; knownFailingSince: number | null }[] {
  const attemptsByUrl = Map.groupBy(ended.filter(isAboutReceiver), ({ attempt: { siteId, webhookId, url } }) =>
    JSON.stringify([siteId, webhookId, url]),
  );
  return [...attemptsByUrl.values()].map((attempts) => {
    const { siteId, webhookId, url } = (attempts[0] as EndedAttempt).attempt;
    const hasSucceeded = attempts.some(({ result }) => result.status === "delivered");
    const goneAttempt = attempts.find(({ isGone }) => isGone);
    const newest = attempts.at(-1) as EndedAttempt;
    const { result: lastResult, cause } = goneAttempt ?? newest;
    const usedUp = attempts.filter(({ result, isGone }) => result.status === "failed" && !isGone);
    return {
      health: {
        siteId,
        webhookId,
        url,
        failedAt: hasSucceeded ? null : now,
        slow: Number(tookLong(newest)),
        lastStatus: lastResult.lastStatus,
        lastCause: cause,
        lastSeq: lastResult.seq,
        isGone: goneAttempt !== undefined,
        usedUp: usedUp.map(({ result }) => result.seq),
      },
      knownFailingSince: attempts.reduce<number | null>((since, { attempt }) => since ?? attempt.failingSince, null),
    };
  });
}
