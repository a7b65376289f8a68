import type { Health } from "../store/home/webhook-health.ts";
import type { Ended } from "./attempt.ts";

/**
 * The common result of attempts that ended together, for each webhook and URL. `known` says since when the webhook was known to
 * fail.
 */
export function healthOf(ended: Ended[], now: number): { health: Health; known: number | null }[] {
  const judged = new Map<string, { health: Health; known: number | null }>();
  for (const { held, result, posted, gone } of ended) {
    // An attempt that posted nothing, for example because of a wrong MASTER_KEY, is no fault of the receiver.
    if (!posted) continue;
    const { siteId, webhookId, url, failingSince: known } = held;
    const key = JSON.stringify([siteId, webhookId, url]);
    const before = judged.get(key)?.health;
    const succeeded = result.status === "delivered" || before?.failingSince === null;
    const health = {
      siteId,
      webhookId,
      url,
      failingSince: succeeded ? null : now,
      gone: gone || before?.gone === true,
    };
    judged.set(key, { health, known });
  }
  return [...judged.values()];
}
