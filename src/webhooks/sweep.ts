import { unixSeconds } from "../runtime.ts";
import { removeOrphans, selectWaiting, type WaitingRow } from "../store/home/waiting-webhooks.ts";
import { endPending, MOST_ENDED } from "../store/home/webhooks.ts";
import { rootOf, withRetries } from "../store/run-batch.ts";
import type { DeliveryTools } from "./home-run.ts";
import { notifyQueue } from "./notify-queue.ts";

/** A delivery that is overdue for this long was forgotten: its message was lost, or the invocation that held it has ended. */
const OVERDUE_SECONDS = 5;

/** The most webhooks per home that one run handles. */
const MOST_WEBHOOKS = 1_000;

/** The number of homes that are swept at the same time. */
const AT_ONCE = 5;

/**
 * Notifies the queue of overdue deliveries in every home that is not closed, and ends the pending deliveries of disabled or deleted
 * webhooks. A home that fails stops no other.
 *
 * @returns the homes that failed, each with the message of its database
 */
export async function sweep(tools: DeliveryTools): Promise<Record<string, string>> {
  const { runtime, telemetry, config } = tools;
  const since = runtime.elapsed();
  const notified: Record<string, number> = {};
  const ended: Record<string, number> = {};
  const faults: Record<string, string> = {};
  const homes = [...config.homes].filter(([home]) => !config.closedHomes.has(home)).values();
  const takeTurns = async () => {
    for (const [home, db] of homes) {
      try {
        const waiting = await listWaiting(tools, db);
        const due = waiting.filter(({ status }) => status === "enabled");
        const notices = due.map(({ siteId, webhookId }) => ({ home, site: siteId, webhook: webhookId }));
        await notifyQueue(tools, notices);
        notified[home] = notices.length;
        ended[home] = await endLeftovers(tools, db, waiting);
      } catch (error) {
        faults[home] = rootOf(error).message;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, takeTurns));
  const failed = Object.keys(faults).length > 0;
  telemetry.job({
    job: "sweep",
    outcome: failed ? "failed" : "ok",
    woken: notified,
    ended,
    ...(failed && { faults }),
    ms: Math.round(runtime.elapsed() - since),
  });
  return faults;
}

async function listWaiting({ runtime }: DeliveryTools, db: D1Database): Promise<WaitingRow[]> {
  const values = { dueBefore: unixSeconds(runtime) - OVERDUE_SECONDS, limit: MOST_WEBHOOKS };
  const { results } = await withRetries(runtime, () => selectWaiting(db, values).all<WaitingRow>());
  return results;
}

/**
 * Handles one webhook per run: D1 runs one statement at a time, and the next run comes in a minute. @returns how many deliveries
 * were ended
 */
async function endLeftovers({ runtime }: DeliveryTools, db: D1Database, waiting: WaitingRow[]): Promise<number> {
  const left = waiting.find(({ status }) => status !== "enabled");
  if (left === undefined) return 0;
  const { siteId, webhookId, status } = left;
  const { meta } = await withRetries(runtime, () =>
    status === null
      ? removeOrphans(db, { siteId, webhookId, limit: MOST_ENDED }).run()
      : endPending(db, { siteId, id: webhookId }).run(),
  );
  return meta.changes;
}
