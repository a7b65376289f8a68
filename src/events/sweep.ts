import { unixSeconds } from "../core/runtime.ts";
import { newEventId } from "../core/signed/event-id.ts";
import { inOneBatch } from "../core/store/batch.ts";
import { rootOf, withRetries } from "../core/store/run-batch.ts";
import type { DeliveryTools } from "./home-run.ts";
import { notifyQueue } from "./notify-queue.ts";
import { endPending, MOST_ENDED } from "./store/pending-deliveries.ts";
import { removeOrphans, selectWaiting, type WaitingRow } from "./store/waiting-webhooks.ts";
import { tellFailing } from "./store/webhook-events.ts";

/** After this time an overdue delivery counts as forgotten: its message was lost, or the invocation that held it has ended. */
const OVERDUE_SECONDS = 5;

/** The most webhooks per home that one run handles. */
const MOST_WEBHOOKS = 1_000;

/** The number of homes that are swept at the same time. */
const HOMES_AT_ONCE = 5;

/** The most failing webhooks per home that one run reports to the other webhooks of their sites. */
const MOST_FAILING = 50;

/** The most statements per run that end deliveries, over all homes. Workers Free allows 50 calls per invocation. */
const MOST_ENDINGS = 20;

/**
 * Does three things in every home that is not closed: it notifies the queue of overdue deliveries, writes events about failing webhooks,
 * and ends the pending deliveries of disabled or deleted webhooks. A home that fails does not stop the other homes.
 *
 * @returns the homes that failed, each with the message of its database
 */
export async function sweep(tools: DeliveryTools): Promise<Record<string, string>> {
  const { runtime, telemetry, config } = tools;
  const since = runtime.elapsed();
  const notified: Record<string, number> = {};
  const ended: Record<string, number> = {};
  const faults: Record<string, string> = {};
  const endings = { endingsLeft: MOST_ENDINGS };
  const homes = [...config.homes].filter(([home]) => !config.closedHomes.has(home)).values();
  const takeTurns = async () => {
    for (const [home, db] of homes) {
      try {
        const waiting = await listWaiting(tools, db);
        const wake = async (webhooks: { siteId: number; webhookId: string }[]) => {
          const notices = webhooks.map(({ siteId, webhookId }) => ({ home, site: siteId, webhook: webhookId }));
          await notifyQueue(tools, notices);
          notified[home] = (notified[home] ?? 0) + notices.length;
        };
        // Due deliveries come first, so that a fault of the later steps does not delay them.
        await wake(waiting.filter(({ isDue }) => isDue === 1));
        ended[home] = await endLeftovers(tools, db, waiting, endings);
        await wake(await reportFailing(tools, db, waiting));
      } catch (error) {
        faults[home] = rootOf(error).message;
      }
    }
  };
  await Promise.all(Array.from({ length: HOMES_AT_ONCE }, takeTurns));
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
  const now = unixSeconds(runtime);
  const values = { now, dueBefore: now - OVERDUE_SECONDS, limit: MOST_WEBHOOKS };
  const { results } = await withRetries(runtime, () => selectWaiting(db, values).all<WaitingRow>());
  return results;
}

/**
 * Writes an event for the other webhooks of a site, 5 minutes after a webhook's first failure. It writes no second one before a success.
 *
 * @returns the webhooks that have such an event due
 */
async function reportFailing({ runtime }: DeliveryTools, db: D1Database, waiting: WaitingRow[]) {
  const failing = waiting.filter(({ isFailingEventDue }) => isFailingEventDue === 1).slice(0, MOST_FAILING);
  if (failing.length === 0) return [];
  const now = unixSeconds(runtime);
  // The ids of events are drawn once: a second try must not write other events.
  const newEvents = failing.map((webhook) => ({ webhook, eventId: newEventId(runtime) }));
  const { failed } = await withRetries(runtime, () =>
    inOneBatch(db, { failed: newEvents.map(({ webhook, eventId }) => tellFailing(db, webhook, now, eventId)) }),
  );
  return failed.flatMap(({ notices }) =>
    notices.flatMap(({ siteId, recipient }) => (recipient === null ? [] : [{ siteId, webhookId: recipient }])),
  );
}

/**
 * Ends pending deliveries of disabled and deleted webhooks. One statement ends at most {@link MOST_ENDED}: D1 runs one statement at a
 * time, so signed calls get their turn between the statements.
 *
 * @param endings how many statements the run may still make
 * @returns how many deliveries were ended
 */
async function endLeftovers(
  { runtime }: DeliveryTools,
  db: D1Database,
  waiting: WaitingRow[],
  endings: { endingsLeft: number },
): Promise<number> {
  let ended = 0;
  for (const { siteId, webhookId, status } of waiting.filter(({ status }) => status !== "enabled")) {
    for (let isDone = false; !isDone && endings.endingsLeft > 0; ) {
      endings.endingsLeft -= 1;
      const { meta } = await withRetries(runtime, () =>
        status === null
          ? removeOrphans(db, { siteId, webhookId, limit: MOST_ENDED }).run()
          : endPending(db, { siteId, id: webhookId }).run(),
      );
      ended += meta.changes;
      isDone = meta.changes < MOST_ENDED;
    }
  }
  return ended;
}
