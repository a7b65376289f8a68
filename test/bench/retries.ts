import { setTimeout as sleep } from "node:timers/promises";
import { appidOf, createFields, signed } from "./bench-app.ts";
import type { Measurement } from "./measurement.ts";
import { observedWorker } from "./observed-production.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { startSlowReceiver } from "./slow-receiver.ts";
import { addSite, adminCall, issueApp } from "./start-worker.ts";
import { median } from "./statistics.ts";

/** Each site has one event, so that no later event names its webhooks to the queue again. */
const SITES = Array.from({ length: 30 }, (_, place) => place + 1);
const WEBHOOKS_OF_A_SITE = 3;
/** All deliveries: each is refused once, and taken at the next attempt. */
const DELIVERIES = SITES.length * WEBHOOKS_OF_A_SITE;
const EVERY_MS = 100;
/** As long as the longest answer: attempts end while another webhook's batch is in D1. */
const QUEUE_D1_MS = 80;
/** The first backoff is 5 s, a tenth longer or shorter, and all times are whole seconds. */
const GOAL_MS = 7_000;
/** When the sweep runs, since the last event. It finds the retries that no notice named. */
const SWEPT_MS = 20_000;
const PATIENCE_MS = 15_000;

/** How long after a first attempt that failed the second one comes, while other webhooks' batches are in D1. */
export async function measureRetries(bundle: ProductionBundle): Promise<Measurement> {
  const vars = { WEBHOOK_LOOPBACK: "allow", QUEUE_D1_MS };
  const { running, call, scheduled } = await observedWorker(bundle, { vars });
  const attempts = new Map<string, number[]>();
  const receiver = await startSlowReceiver(({ path, id, at }) => {
    const key = `${path} ${id}`;
    const before = attempts.get(key) ?? [];
    attempts.set(key, [...before, at]);
    return { status: before.length === 0 ? 503 : 204, ms: Math.random() * QUEUE_D1_MS };
  });
  const isDone = () => attempts.size === DELIVERIES && [...attempts.values()].every(({ length }) => length > 1);
  const wait = async (ms: number) => {
    for (const since = performance.now(); !isDone() && performance.now() - since < ms; ) await sleep(50);
  };
  try {
    for (const site of SITES) {
      if (site !== 1) {
        await addSite(running.db, { id: site, home: "main" });
        await issueApp(running.url, site);
      }
      for (let n = 0; n < WEBHOOKS_OF_A_SITE; n++)
        await adminCall(running.url, "POST", `${site}/webhooks`, { url: `${receiver.url}/${site}/${n}` });
    }
    for (const site of SITES) {
      await call("create_gd", signed(createFields({ appid: appidOf(site), sbs: crypto.randomUUID() })));
      await sleep(EVERY_MS);
    }
    await wait(SWEPT_MS);
    if (!isDone()) await scheduled(Date.now(), "* * * * *");
    await wait(PATIENCE_MS);
  } finally {
    receiver.close();
    await running.close();
  }
  const took = [...attempts.values()].map(([first = Number.NaN, second = Infinity]) => second - first);
  const inTime = took.filter((ms) => ms <= GOAL_MS).length;
  const shown = (ms: number) => (ms === Infinity ? "never" : `${(ms / 1000).toFixed(1)} s`);
  return {
    title: "Retries",
    tables: [
      {
        head: ["refused once", `second attempt within ${GOAL_MS / 1000} s`, "later", "p50", "latest"],
        rows: [[took.length, inTime, took.length - inTime, shown(median(took)), shown(Math.max(...took))]],
      },
    ],
    goals: [
      {
        what: `Second attempts within ${GOAL_MS / 1000} s of the first, other webhooks' batches in D1`,
        goal: `${DELIVERIES} of ${DELIVERIES}`,
        result: `${inTime} of ${DELIVERIES}, the latest after ${shown(Math.max(...took))}`,
        met: inTime === DELIVERIES,
        enforced: false,
      },
    ],
    notes: [
      `${SITES.length} sites with ${WEBHOOKS_OF_A_SITE} webhooks and one event each, an event every ${EVERY_MS} ms, D1 at ${QUEUE_D1_MS} ms, answers after up to ${QUEUE_D1_MS} ms. One sweep ${SWEPT_MS / 1000} s after the last event finds what no notice named.`,
    ],
  };
}
