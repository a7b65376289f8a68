import type { Health } from "../store/home/webhook-health.ts";
import type { Ended } from "./attempt.ts";

/** What attempts that ended together say of each webhook and URL, and since when that was known to fail. */
export function healthOf(ended: Ended[], now: number): { health: Health; known: number | null }[] {
  const judged = new Map<string, { health: Health; known: number | null }>();
  for (const { held, result, posted, gone } of ended) {
    // A wrong MASTER_KEY is no fault of the receiver.
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
