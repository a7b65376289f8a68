import type { Call } from "./observed-bindings.ts";
import type { Orders } from "./observed-worker.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { carefulCode, storeForCareful } from "./sides.ts";
import { benchModule, issueApp, type RunningWorker, startWorker } from "./start-worker.ts";

/** The Workers that production is compared with, by the names of their modules. */
export const PEERS = { bare: "./one-trip-worker.ts", careful: "./careful-worker.js" } as const;

/** The production bundle and its peers, behind bindings that add simulated trips and record calls. */
interface ObservedWorker {
  running: RunningWorker;
  /** Sends a signed create_gd. @throws when it is not accepted */
  create: (request: { body: string; signature: string }, orders?: Orders, key?: string) => Promise<void>;
  forget: () => Promise<void>;
  /** Waits until all calls since `forget` have ended, and returns them: those of requests and crons, and those of the queue's deliveries. */
  calls: () => Promise<Record<"asked" | "delivering", Call[]>>;
  /** Runs the cron that prunes. */
  prune: (time: number) => Promise<void>;
  /**
   * The production bundle under a module name that has served nothing yet. It is as cold as a new isolate, but its code is loaded.
   */
  freshModule: () => Promise<string>;
}

/**
 * @param copies the number of fresh modules
 * @param homes homes in addition to `main`, each with a site and an app; the first has site 2
 */
export async function observedWorker(
  bundle: ProductionBundle,
  { copies = 0, homes = [] }: { copies?: number; homes?: readonly string[] } = {},
): Promise<ObservedWorker> {
  const cold = Array.from({ length: copies }, (_, i) => `production-${i}.js`);
  const own = ["observed-worker.ts", "observed-bindings.ts", "counter-limit.ts", "one-trip-worker.ts"];
  const modules = [
    ...own.map(benchModule),
    { name: "careful-worker.js", code: carefulCode() },
    ...["production.js", ...cold].map((name) => ({ name, code: bundle.code })),
  ];
  const running = await startWorker(bundle, modules, { bindings: { WEBHOOK_LOOPBACK: "allow" }, homes });
  for (let siteId = 1; siteId <= homes.length + 1; siteId++) await issueApp(running.url, siteId);
  await storeForCareful(running.credentials);
  const get = (path: string, orders: Orders = {}) =>
    fetch(`${running.url}${path}`, { headers: { "x-bench": JSON.stringify(orders) } });
  return {
    running,
    async create({ body, signature }, orders = {}, key = undefined) {
      const answer = await fetch(`${running.url}/openapi/chat/create_gd`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "x-chat-signature": signature,
          "x-bench": JSON.stringify(orders),
          ...(key !== undefined && { "idempotency-key": key }),
        },
        body,
      });
      const text = await answer.text();
      if (!text.startsWith('{"code":1,')) throw new Error(`create_gd: ${answer.status} ${text}`);
    },
    async forget() {
      await get("/bench/forget");
    },
    async calls() {
      for (;;) {
        const calls = (await (await get("/bench/calls")).json()) as Record<"asked" | "delivering", Call[]>;
        if (Object.values(calls).every((each) => each.every(({ done }) => done))) return calls;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async prune(time) {
      await get(`/bench/prune?time=${time}`);
    },
    async freshModule() {
      const name = cold.shift();
      if (name === undefined) throw new Error("no fresh copy of the bundle is left");
      // A request for an unknown path starts the isolate, so that the start does not count as a wait for KV or D1.
      await (await get("/none", { module: `./${name}` })).arrayBuffer();
      return `./${name}`;
    },
  };
}
