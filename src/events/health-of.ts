import { PING } from "../core/store/event-schema.ts";
import type { Ended } from "./attempt.ts";
import type { Health } from "./store/webhook-health.ts";

/** An ended delivery that took longer makes its webhook slow. Most of what a receiver does takes less, and a hanging one takes 15 s. */
const LONG_MS = 10_000;

export const tookLong = ({ result }: Ended): boolean => (result.durationMs ?? 0) > LONG_MS;

/**
 * Whether an attempt tells of its receiver. One that posted nothing, for example because of a wrong MASTER_KEY, is no fault of the receiver; a
 * ping only asks.
 */
export const tells = ({ posted, held }: Ended): boolean => posted && held.type !== PING;

/**
 * The common result of attempts that ended together, for each webhook and URL. `known` says since when the webhook was known to
 * fail.
 */
export function healthOf(ended: Ended[], now: number): { health: Health; known: number | null }[] {
  const together = Map.groupBy(ended.filter(tells), ({ held: { siteId, webhookId, url } }) =>
    JSON.stringify([siteId, webhookId, url]),
  );
  return [...together.values()].map((attempts) => {
    const { siteId, webhookId, url } = (attempts[0] as Ended).held;
    const succeeded = attempts.some(({ result }) => result.status === "delivered");
    const gone = attempts.find(({ gone }) => gone);
    const newest = attempts.at(-1) as Ended;
    const { result: last, cause } = gone ?? newest;
    const usedUp = attempts.filter(({ result, gone }) => result.status === "failed" && !gone);
    return {
      health: {
        siteId,
        webhookId,
        url,
        failedAt: succeeded ? null : now,
        slow: Number(tookLong(newest)),
        lastStatus: last.lastStatus,
        lastCause: cause,
        lastSeq: last.seq,
        gone: gone !== undefined,
        usedUp: usedUp.map(({ result }) => result.seq),
      },
      known: attempts.reduce<number | null>((since, { held }) => since ?? held.failingSince, null),
    };
  });
}
