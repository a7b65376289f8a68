import type { Config, Wake } from "../config.ts";
import { rootOf } from "../store/run-batch.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/** The most messages that a queue takes at once. */
const MOST_MESSAGES = 100;

/**
 * Tells the queue which webhooks have something due. Never throws: the sweep finds what the queue was not told.
 *
 * @param delaySeconds when it is due, in seconds from now; at most 43,200
 */
export async function wake(
  { config, telemetry }: { config: Pick<Config, "events">; telemetry: Telemetry },
  wakes: Wake[],
  delaySeconds = 0,
): Promise<void> {
  try {
    for (let at = 0; at < wakes.length; at += MOST_MESSAGES) {
      const messages = wakes.slice(at, at + MOST_MESSAGES).map((body) => ({ body, contentType: "json" as const }));
      await config.events?.sendBatch(messages, { delaySeconds });
    }
  } catch (error) {
    telemetry.warn({ warning: "the queue took no message: the sweep delivers", fault: rootOf(error).message });
  }
}
