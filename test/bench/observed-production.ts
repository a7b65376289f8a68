import type { Call } from "./observed-bindings.ts";
import type { Orders } from "./observed-worker.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { carefulCode, tellPeers } from "./sides.ts";
import { benchModule, issueApp, type RunningWorker, startWorker } from "./start-worker.ts";

/** The Workers it is compared with, by the names of their modules. */
export const PEERS = {
  floor: "./one-trip-worker.ts",
  careful: "./careful-worker.js",
  usual: "./usual-worker.ts",
} as const;

/** The production bundle, and the Workers it is compared with, behind bindings that take simulated trips and write calls down. */
export interface ObservedWorker {
  running: RunningWorker;
  /** Sends a signed request that must be accepted. */
  call: (
    path: string,
    request: { body: string; signature: string },
    orders?: Orders,
    headers?: Record<string, string>,
  ) => Promise<{ data: Record<string, unknown> }>;
  /** The calls of the last request that was recorded, once all of them have ended. */
  calls: () => Promise<Call[]>;
  /** Runs the cron handler and gives its calls. */
  scheduled: (time: number) => Promise<Call[]>;
  /** The production bundle under a name that was not loaded yet: as cold as a new isolate. */
  freshModule: () => string;
}

/** @param vars instead of those of wrangler.toml */
export async function observedWorker(
  bundle: ProductionBundle,
  { copies = 0, vars = {} }: { copies?: number; vars?: Record<string, string> } = {},
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
    ...["production.js", ...cold].map((name) => ({ name, code: bundle.code })),
  ];
  const running = await startWorker(bundle, modules, vars);
  await issueApp(running.url);
  await tellPeers(running.credentials);
  const calls = async () => {
    for (let tries = 0; tries < 100; tries++) {
      const answer = await fetch(`${running.url}/bench/calls`);
      const calls = (await answer.json()) as Call[];
      if (calls.every((call) => call.done)) return calls;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error("a call did not end");
  };
  return {
    running,
    calls,
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
    async scheduled(time) {
      const orders: Orders = { record: true };
      await fetch(`${running.url}/bench/scheduled?time=${time}`, { headers: { "x-bench": JSON.stringify(orders) } });
      return calls();
    },
    freshModule() {
      const name = cold.shift();
      if (name === undefined) throw new Error("no fresh copy of the bundle is left");
      return `./${name}`;
    },
  };
}
