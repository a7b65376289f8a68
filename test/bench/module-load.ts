import type { ResultsOf } from "./bench-part.ts";
import { bundleBenchWorker, type ProductionBundle } from "./production-bundle.ts";
import { lastRelease } from "./sides.ts";
import { benchModule, cpuMs, launch } from "./start-worker.ts";
import { median, spread } from "./statistics.ts";

/** The number of starts of each Worker. The Workers take turns. */
const STARTS = 21;

const SIDES = ["production", "release", "least", "empty"] as const;
type Side = (typeof SIDES)[number];

/**
 * The CPU time that an isolate needs before its first request: workerd's CPU time from its start to the first answer of a route
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
    // Every second round has the reverse order, so that no Worker always runs after the same other Worker.
    for (const side of i % 2 === 0 ? SIDES : SIDES.toReversed()) starts[side].push(await start(bundle, codes[side]));
  }
  /** How much more each start of a Worker took than a usual start of the empty Worker. */
  const own = (side: Side, what: keyof Start) => {
    const empty = median(starts.empty.map((start) => start[what]));
    return starts[side].map((start) => start[what] - empty);
  };
  const load = own("production", "loading");
  const release = median(own("release", "loading"));
  // The negated condition is also true for NaN, when there is no median.
  if (!(release > 0)) throw new Error(`the last release's module loaded in ${release} ms of CPU`);
  return {
    "module.load": spread(load),
    "module.release": spread(load.map((ms) => ms / release)),
    "module.least": spread(own("least", "loading")),
    "module.operator": spread(own("production", "firstPage")),
  };
}

/** workerd's CPU time in milliseconds. */
interface Start {
  loading: number;
  /** Until the answer of a page of the console. Without bindings that is the page of a fault. */
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
