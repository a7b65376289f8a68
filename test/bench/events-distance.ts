import { appidOf, createFields, signed } from "./bench-app.ts";
import { startEventsReceiver } from "./events-receiver.ts";
import { observedWorker } from "./observed-production.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { adminCall } from "./start-worker.ts";
import { median } from "./statistics.ts";

const D1_MS = 80;
const KV_MS = 15;
const REQUESTS = 60;
/** The interval between two requests: it is long, so distance is measured and not the machine. */
const EVERY_MS = 60;

/**
 * p50 of create_gd in milliseconds, with callers far from D1, for a site with one webhook and a site without, in turns.
 */
export async function eventsAtADistance(bundle: ProductionBundle): Promise<{ webhook: number; without: number }> {
  const worker = await observedWorker(bundle, { homes: ["apac"], vars: { WEBHOOK_LOOPBACK: "allow" } });
  const receiver = await startEventsReceiver();
  const took = { webhook: [] as number[], without: [] as number[] };
  const send = async (side: keyof typeof took) => {
    const fields = createFields({ appid: appidOf(side === "webhook" ? 1 : 2), sbs: crypto.randomUUID() });
    const since = performance.now();
    await worker.call("create_gd", signed(fields), { d1: D1_MS, kv: KV_MS });
    took[side].push(performance.now() - since);
  };
  try {
    await adminCall(worker.running.url, "POST", "1/webhooks", { url: receiver.url });
    for (const side of ["webhook", "without"] as const) for (let i = 0; i < 5; i++) await send(side);
    took.webhook = [];
    took.without = [];
    const inFlight: Promise<void>[] = [];
    for (let i = 0; i < REQUESTS; i++) {
      inFlight.push(send(i % 2 === 0 ? "webhook" : "without"));
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
    await Promise.all(inFlight);
  } finally {
    receiver.close();
    await worker.running.close();
  }
  return { webhook: median(took.webhook), without: median(took.without) };
}
