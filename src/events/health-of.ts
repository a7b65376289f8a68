import { PING } from "../core/store/event-schema.ts";
import type { Ended } from "./attempt.ts";
import type { Health } from "./store/webhook-health.ts";

/**
 * The common result of attempts that ended together, for each webhook and URL. `known` says since when the webhook was known to
 * fail. An attempt that posted nothing, for example because of a wrong MASTER_KEY, is no fault of the receiver; a ping only asks.
 */
export function healthOf(ended: Ended[], now: number): { health: Health; known: number | null }[] {
  const counted = ended.filter(({ posted, held }) => posted && held.type !== PING);
  const together = Map.groupBy(counted, ({ held: { siteId, webhookId, url } }) =>
    JSON.stringify([siteId, webhookId, url]),
  );
  return [...together.values()].map((attempts) => {
    const { siteId, webhookId, url } = (attempts[0] as Ended).held;
    const succeeded = attempts.some(({ result }) => result.status === "delivered");
    const gone = attempts.find(({ gone }) => gone);
    const { result: last, cause } = gone ?? (attempts.at(-1) as Ended);
    const usedUp = attempts.filter(({ result, gone }) => result.status === "failed" && !gone);
    return {
      health: {
        siteId,
        webhookId,
        url,
        failedAt: succeeded ? null : now,
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
