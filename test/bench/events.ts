import type { ResultsOf } from "./bench-part.ts";
import { startEventsReceiver } from "./events-receiver.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { ratiosOf, sideBySide } from "./side-by-side.ts";
import { limited } from "./sides.ts";
import { adminCall, issueApp, startWorker } from "./start-worker.ts";

const PLAN = { starts: 3, warming: 10, rounds: 12 };

/**
 * - none: a site without events.
 * - stored: a site with one webhook and a queue without a consumer, as if another isolate delivered.
 * - delivered: one isolate creates and delivers.
 */
const EVENT_SIDES = ["none", "stored", "delivered"] as const;

/** workerd's CPU time for a create_gd of a site with one webhook, beside a site without events. */
export async function measureEvents(bundle: ProductionBundle): Promise<ResultsOf<"events">> {
  const receiver = await startEventsReceiver();
  let events = 0;
  const starts = await sideBySide(
    EVENT_SIDES,
    PLAN,
    async (side) => {
      const modules = [...limited(), { name: "worker.js", code: bundle.code }];
      const bindings = { WEBHOOK_LOOPBACK: "allow" };
      const worker = await startWorker(bundle, modules, { bindings, consumes: side === "delivered" });
      await issueApp(worker.url);
      if (side !== "none") await adminCall(worker.url, "POST", "1/webhooks", { url: receiver.url });
      return worker;
    },
    async (side, creates) => {
      if (side !== "delivered") return;
      events += creates;
      await receiver.arrived(events);
    },
  );
  receiver.close();
  return {
    "events.stored": ratiosOf(starts, "cpu", "stored", "none"),
    "events.delivered": ratiosOf(starts, "cpu", "delivered", "none"),
  };
}
