import type { Config } from "../config.ts";
import type { Notice } from "../core/config.ts";
import { rootOf } from "../core/store/run-batch.ts";
import type { Telemetry } from "../core/telemetry/telemetry.ts";

/** A message with a delay in seconds until its deliveries are due: 0 by default, at most 43,200. */
export type DelayedNotice = Notice & { delaySeconds?: number };

/** The most messages that a queue takes in one call. */
const MOST_MESSAGES = 100;

/**
 * Notifies the queue which webhooks have something due. Never throws, because the sweep finds all deliveries of which the queue was not
 * notified.
 */
export async function notifyQueue(
  { config, telemetry }: { config: Pick<Config, "events">; telemetry: Telemetry },
  notices: DelayedNotice[],
): Promise<void> {
  try {
    for (let at = 0; at < notices.length; at += MOST_MESSAGES) {
      const messages = notices
        .slice(at, at + MOST_MESSAGES)
        .map(({ delaySeconds = 0, ...body }) => ({ body, contentType: "json" as const, delaySeconds }));
      await config.events?.sendBatch(messages);
    }
  } catch (error) {
    telemetry.warn({ warning: "the queue took no message: the sweep delivers", fault: rootOf(error).message });
  }
}
