import type { Call } from "./observed-bindings.ts";
import type { Orders } from "./observed-worker.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { carefulCode, lastRelease, tellPeers } from "./sides.ts";
import { benchModule, issueApp, type RunningWorker, startWorker } from "./start-worker.ts";

/** The Workers that production is compared with, by the names of their modules. */
export const PEERS = {
  floor: "./one-trip-worker.ts",
  careful: "./careful-worker.js",
  usual: "./usual-worker.ts",
} as const;

/** The production bundle and its peers, behind bindings that add simulated trips and record calls. */
interface ObservedWorker {
  running: RunningWorker;
  /** Sends a signed request. @throws when it is not accepted */
  call: (
    path: string,
    request: { body: string; signature: string },
    orders?: Orders,
    headers?: Record<string, string>,
  ) => Promise<{ data: Record<string, unknown> }>;
  /** The calls of the last recorded request, once all of them have ended. */
  calls: () => Promise<Call[]>;
  /** The calls that the queue's deliveries have made since that recording began. */
  delivering: () => Promise<Call[]>;
  /** Runs the cron handler and returns its calls. Without `cron` it prunes. */
  scheduled: (time: number, cron?: string, orders?: Orders) => Promise<Call[]>;
  /**
   * The production bundle under a module name that has served nothing yet: as cold as a new isolate, with its code
   * already loaded.
   */
  freshModule: () => Promise<string>;
}

/**
 * @param copies number of fresh modules
 * @param vars   replace the vars of wrangler.toml
 * @param homes  homes in addition to `main`, each with a site and an app; the first has site 2
 */
export async function observedWorker(
  bundle: ProductionBundle,
  {
    copies = 0,
    vars = {},
    homes = [],
  }: { copies?: number; vars?: Record<string, unknown>; homes?: readonly string[] } = {},
): Promise<ObservedWorker> {
  const cold = Array.from({ length: copies }, (_, i) => `production-${i}.js`);
  const own = [
    "observed-worker.ts",
    "observed-bindings.ts",
    "counter-limit.ts",
    "usual-worker.ts",
    "one-trip-worker.ts",
  ];
  const modules = [
    ...own.map(benchModule),
    { name: "careful-worker.js", code: carefulCode() },
    { name: "last-release.js", code: lastRelease() },
    ...["production.js", ...cold].map((name) => ({ name, code: bundle.code })),
  ];
  const running = await startWorker(bundle, modules, vars, homes);
  for (let siteId = 1; siteId <= homes.length + 1; siteId++) await issueApp(running.url, siteId);
  await tellPeers(running.credentials);
  const recorded = async (path: string) => {
    for (let tries = 0; tries < 100; tries++) {
      const answer = await fetch(`${running.url}/bench/${path}`);
      const calls = (await answer.json()) as Call[];
      if (calls.every((call) => call.done)) return calls;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error("a call did not end");
  };
  const calls = () => recorded("calls");
  return {
    running,
    calls,
    delivering: () => recorded("delivering"),
    async call(path, { body, signature }, orders = {}, headers = {}) {
      const answer = await fetch(`${running.url}/openapi/chat/${path}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "x-chat-signature": signature,
          "x-bench": JSON.stringify(orders),
          ...headers,
        },
        body,
      });
      const envelope = (await answer.json()) as { code: number; data: Record<string, unknown> };
      if (envelope.code !== 1) throw new Error(`${path}: ${answer.status} ${JSON.stringify(envelope)}`);
      return envelope;
    },
    async scheduled(time, cron = "*/5 * * * *", own = {}) {
      const orders: Orders = { record: true, ...own };
      await fetch(`${running.url}/bench/scheduled?time=${time}&cron=${encodeURIComponent(cron)}`, {
        headers: { "x-bench": JSON.stringify(orders) },
      });
      return calls();
    },
    async freshModule() {
      const name = cold.shift();
      if (name === undefined) throw new Error("no fresh copy of the bundle is left");
      const orders: Orders = { module: `./${name}` };
      // A request for an unknown path starts the isolate, so that the start does not count as a wait for KV or D1.
      await (await fetch(`${running.url}/none`, { headers: { "x-bench": JSON.stringify(orders) } })).arrayBuffer();
      return `./${name}`;
    },
  };
}
