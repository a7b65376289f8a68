import type { ResultsOf } from "./part.ts";
import { bundleBenchWorker, type ProductionBundle } from "./production-bundle.ts";
import { lastRelease } from "./sides.ts";
import { benchModule, cpuMs, launch } from "./start-worker.ts";
import { median, spread } from "./statistics.ts";

/** Starts of each Worker, in turns. */
const STARTS = 21;

const SIDES = ["production", "release", "least", "empty"] as const;
type Side = (typeof SIDES)[number];

/**
 * The CPU that an isolate needs before its first request: workerd's CPU from its start to the first answer of a route
 * that reads nothing, minus that of an empty Worker. A Worker at hundreds of edges often starts cold.
 */
export async function measureModuleLoad(bundle: ProductionBundle): Promise<ResultsOf<"module">> {
  const codes: Record<Side, string> = {
    production: bundle.code,
    release: lastRelease(),
    least: bundleBenchWorker("schema-worker.ts"),
    empty: benchModule("empty-worker.ts").code,
  };
  const starts: Record<Side, Start[]> = { production: [], release: [], least: [], empty: [] };
  for (let i = 0; i < STARTS; i++) {
    // The order is reversed every other round, so that no side always runs after the same other side.
    for (const side of i % 2 === 0 ? SIDES : SIDES.toReversed()) starts[side].push(await start(bundle, codes[side]));
  }
  /** What a side took more than the empty Worker usually does, start by start. */
  const own = (side: Side, what: keyof Start) => {
    const empty = median(starts.empty.map((start) => start[what]));
    return starts[side].map((start) => start[what] - empty);
  };
  const load = own("production", "loading");
  const release = median(own("release", "loading"));
  // Also when there is no median of it.
  if (!(release > 0)) throw new Error(`the last release's module loaded in ${release} ms of CPU`);
  return {
    "module.load": spread(load),
    "module.release": spread(load.map((ms) => ms / release)),
    "module.least": spread(own("least", "loading")),
    "module.operator": spread(own("production", "firstPage")),
  };
}

/** workerd's CPU in milliseconds. */
interface Start {
  loading: number;
  /** Of a page of the console; without bindings it is the page of a fault. */
  firstPage: number;
}

async function start(bundle: ProductionBundle, code: string): Promise<Start> {
  // Without bindings the Worker logs its faults.
  const handleStructuredLogs = () => {};
  const { pid, url, close } = await launch(bundle, [{ name: "worker.js", code }], { handleStructuredLogs });
  await (await fetch(`${url}/openapi/chat/none`)).arrayBuffer();
  const loading = cpuMs(pid);
  await (await fetch(`${url}/console/sign-in`)).arrayBuffer();
  const firstPage = cpuMs(pid) - loading;
  await close();
  return { loading, firstPage };
}
