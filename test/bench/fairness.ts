import { setTimeout as sleep } from "node:timers/promises";
import { appidOf, createFields, signed } from "./bench-app.ts";
import type { Measurement } from "./measurement.ts";
import { observedWorker } from "./observed-production.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { type Arrival, type SlowReceiver, startSlowReceiver } from "./slow-receiver.ts";
import { addSite, adminCall, issueApp, type RunningWorker } from "./start-worker.ts";
import { median, percentile, seededRandom } from "./statistics.ts";

/** The site with ten webhooks. The other sites have one healthy webhook each. All of them are in one home. */
const TENANT = 1;
const OTHERS = Array.from({ length: 9 }, (_, place) => place + 2);
const WEBHOOKS = 10;

/** The mean time between two events of the tenant, and of each other site. Each event of the tenant has ten deliveries. */
const TENANT_EVERY_MS = 500;
const OTHER_EVERY_MS = 1_000;
const LOADED_MS = 45_000;
/** The service's limit of a post: before it, no receiver that hangs is known to fail. */
const POST_LIMIT_MS = 15_000;
/** How long to wait for events that have not arrived when the load ends. */
const PATIENCE_MS = 20_000;
const GOAL_MS = 1_000;
/** The round trip to D1 of the deliveries: meanwhile messages of several sites come together in one batch of the queue. */
const QUEUE_D1_MS = 80;

/** The tenant's receivers hang, or answer at once. Each side has its own workerd; both have the same load at the same time. */
const SIDES = ["healthy", "hanging"] as const;
type Side = (typeof SIDES)[number];

const NAMES: Record<Side, string> = {
  healthy: "the tenant's ten receivers answer at once",
  hanging: "the tenant's ten receivers hang",
};

interface Told {
  /** From the answer of the create to the event's arrival, in milliseconds; Infinity when it did not arrive. */
  ms: number;
  /** When the create was answered, since the load began. */
  at: number;
}

interface Loaded {
  /** The events of the other sites. */
  told: Told[];
  /** Posts to the tenant's webhooks. */
  tenantPosts: number;
  /** The most of them in flight at the same time. */
  tenantInFlight: number;
}

/** How late a tenant whose ten webhooks hang makes the events of the other sites of its home. */
export async function measureFairness(bundle: ProductionBundle): Promise<Measurement> {
  const [healthy, hanging] = await Promise.all(SIDES.map((side) => loaded(bundle, side)));
  if (healthy === undefined || hanging === undefined) throw new Error("a side was not measured");
  const of: Record<Side, Loaded> = { healthy, hanging };
  const times = (side: Side, from = 0, to = Infinity) =>
    of[side].told.filter(({ at }) => at >= from && at < to).map(({ ms }) => ms);
  const shown = (ms: number) => (ms === Infinity ? "not arrived" : ms.toFixed(0));
  const beside = (share: number) => percentile(times("hanging"), share) / percentile(times("healthy"), share);
  // The worse of the two times: in the first one the service knows least.
  const p99 = Math.max(
    percentile(times("hanging", 0, POST_LIMIT_MS), 0.99),
    percentile(times("hanging", POST_LIMIT_MS), 0.99),
  );
  const p99s = (side: Side, from: number, to: number) => shown(percentile(times(side, from, to), 0.99));
  return {
    title: "Fairness",
    tables: [
      {
        head: [
          "nine other sites",
          "events",
          "p50, ms",
          "p99, ms",
          "latest, ms",
          `p99 in the first ${POST_LIMIT_MS / 1000} s`,
          "p99 later",
          "posts to the tenant",
          "most in flight",
        ],
        rows: SIDES.map((side) => [
          NAMES[side],
          times(side).length,
          ...[median(times(side)), percentile(times(side), 0.99), Math.max(...times(side))].map(shown),
          p99s(side, 0, POST_LIMIT_MS),
          p99s(side, POST_LIMIT_MS, Infinity),
          of[side].tenantPosts,
          of[side].tenantInFlight,
        ]),
      },
    ],
    goals: [
      {
        what: "From commit to arrival, p99 of nine sites beside a tenant whose ten webhooks hang, the first 15 s or later",
        goal: `≤ ${GOAL_MS} ms`,
        result: `${shown(p99)} ms`,
        met: p99 <= GOAL_MS,
        enforced: false,
      },
      {
        what: "The same, p50 and p99 beside a tenant whose ten webhooks answer",
        goal: "reported",
        result: `${beside(0.5).toFixed(1)} ×, ${beside(0.99).toFixed(1)} ×`,
        met: true,
        enforced: false,
      },
    ],
    notes: [
      `Both sides at the same time, each in its own workerd, for ${LOADED_MS / 1000} s: the tenant has ${1000 / TENANT_EVERY_MS} events/s for ${WEBHOOKS} webhooks, each of the ${OTHERS.length} other sites ${1000 / OTHER_EVERY_MS} for one, by chance, D1 of the deliveries at ${QUEUE_D1_MS} ms. In the first ${POST_LIMIT_MS / 1000} s no post has failed yet, so the service cannot know that the ten hang. The time starts at the answer of the create, which follows the commit. No sweep runs.`,
    ],
  };
}

async function loaded(bundle: ProductionBundle, side: Side): Promise<Loaded> {
  const receiver = await startSlowReceiver(({ path }) =>
    side === "hanging" && path.startsWith(`/${TENANT}/`) ? undefined : { status: 204, ms: 0 },
  );
  const { running } = await observedWorker(bundle, { vars: { WEBHOOK_LOOPBACK: "allow", QUEUE_D1_MS } });
  try {
    await addWebhooks(running, receiver);
    // Loads the code of the create and of the deliveries.
    for (const site of OTHERS) await create(running.url, site);
    await sleep(1_000);
    const since = performance.now();
    const answered = new Map<string, number>();
    let tenantInFlight = 0;
    // Events come by chance, the same on both sides: messages of several sites come together as often as in production.
    const random = seededRandom();
    const keep = async (site: number, everyMs: number) => {
      const times: number[] = [];
      for (let at = since; at < since + LOADED_MS; at += -Math.log(1 - random()) * everyMs) times.push(at);
      const sent: Promise<void>[] = [];
      for (const at of times) {
        await sleep(Math.max(0, at - performance.now()));
        tenantInFlight = Math.max(tenantInFlight, receiver.arrivals.filter(isInFlightTo(TENANT)).length);
        sent.push(
          create(running.url, site).then((chatId) => {
            if (site !== TENANT) answered.set(`${site} ${chatId}`, performance.now());
          }),
        );
      }
      await Promise.all(sent);
    };
    await Promise.all([keep(TENANT, TENANT_EVERY_MS), ...OTHERS.map((site) => keep(site, OTHER_EVERY_MS))]);
    const arrivals = () =>
      new Map(receiver.arrivals.toReversed().map(({ path, chatId, at }) => [`${siteOf(path)} ${chatId}`, at]));
    const isAllThere = (seen = arrivals()) => [...answered.keys()].every((key) => seen.has(key));
    for (const end = performance.now(); !isAllThere() && performance.now() - end < PATIENCE_MS; ) await sleep(100);
    const seen = arrivals();
    const told = [...answered].map(([key, at]) => ({
      // The event may be there before the caller has the answer.
      ms: Math.max(0, (seen.get(key) ?? Infinity) - at),
      at: at - since,
    }));
    const tenantPosts = receiver.arrivals.filter(({ path }) => siteOf(path) === TENANT).length;
    return { told, tenantPosts, tenantInFlight };
  } finally {
    receiver.close();
    await running.close();
  }
}

async function addWebhooks({ url, db }: RunningWorker, receiver: SlowReceiver): Promise<void> {
  for (const site of OTHERS) await addSite(db, { id: site, home: "main" });
  for (const site of [TENANT, ...OTHERS]) {
    if (site !== TENANT) await issueApp(url, site);
    for (let n = 0; n < (site === TENANT ? WEBHOOKS : 1); n++)
      await adminCall(url, "POST", `${site}/webhooks`, { url: `${receiver.url}/${site}/${n}` });
  }
}

/** @returns the session's id */
async function create(url: string, site: number): Promise<number> {
  const { body, signature } = signed(createFields({ appid: appidOf(site), sbs: crypto.randomUUID() }));
  const headers = { "content-type": "application/json", "x-chat-signature": signature };
  const answer = await fetch(`${url}/openapi/chat/create_gd`, { method: "POST", headers, body });
  const { code, data } = (await answer.json()) as { code: number; data: { chat_id: number } };
  if (code !== 1) throw new Error(`not accepted: ${answer.status}`);
  return data.chat_id;
}

const siteOf = (path: string): number => Number(path.split("/")[1]);
const isInFlightTo =
  (site: number) =>
  ({ path, endedAt }: Arrival) =>
    endedAt === undefined && siteOf(path) === site;
