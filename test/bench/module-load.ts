import { convertV4MiniflareOptions } from "miniflare";
import type { Measurement } from "./measurement.ts";
import { bundleBenchWorker, type ProductionBundle } from "./production-bundle.ts";
import { lastRelease } from "./sides.ts";
import { benchModule, cpuMs, launch } from "./start-worker.ts";
import { median } from "./statistics.ts";

/** Starts of each Worker, in turns. */
const STARTS = 15;

const SIDES = ["this Worker", "the last release", "hono and the schema", "an empty Worker"] as const;
type Side = (typeof SIDES)[number];

/**
 * The CPU that an isolate needs before its first request: workerd's CPU from its start to the first answer of a route
 * that reads nothing, minus that of an empty Worker. A Worker at hundreds of edges often starts cold.
 */
export async function measureModuleLoad(bundle: ProductionBundle): Promise<Measurement> {
  const codes: Record<Side, string> = {
    "this Worker": bundle.code,
    "the last release": lastRelease(),
    "hono and the schema": bundleBenchWorker("schema-worker.ts"),
    "an empty Worker": benchModule("empty-worker.ts").code,
  };
  const took = Object.fromEntries(SIDES.map((side) => [side, [] as Start[]])) as unknown as Record<Side, Start[]>;
  for (let i = 0; i < STARTS; i++) {
    // The order is reversed every other round, so that no side always runs after the same other side.
    for (const side of i % 2 === 0 ? SIDES : SIDES.toReversed()) took[side].push(await start(bundle, codes[side]));
  }
  const loading = (side: Side) => median(took[side].map(({ loading }) => loading));
  const firstPage = (side: Side) => median(took[side].map(({ firstPage }) => firstPage));
  const own = (side: Side) => loading(side) - loading("an empty Worker");
  const ratio = own("this Worker") / own("the last release");
  return {
    title: "Loading the module",
    tables: [
      {
        head: [
          "side",
          "CPU until its first answer, ms",
          "above an empty Worker, ms",
          "÷ the last release",
          "CPU of the first request of an operator after it, ms",
        ],
        rows: SIDES.map((side) => [
          side,
          loading(side).toFixed(1),
          own(side).toFixed(1),
          (own(side) / own("the last release")).toFixed(2),
          firstPage(side).toFixed(1),
        ]),
      },
    ],
    goals: [
      {
        what: "CPU of loading the module, beside the last release",
        goal: "as little as can be",
        result: `${own("this Worker").toFixed(1)} ms, ${ratio.toFixed(2)} ×; hono and the schema alone ${own("hono and the schema").toFixed(1)} ms`,
        met: ratio <= 1,
        enforced: false,
      },
    ],
    notes: [`workerd's CPU, all threads, median of ${STARTS} starts in turns; no database, no KV.`],
  };
}

/** workerd's CPU in milliseconds. */
interface Start {
  loading: number;
  /** Of a page of the console; without bindings it is the page of a fault. */
  firstPage: number;
}

async function start({ compatibilityDate, compatibilityFlags }: ProductionBundle, code: string): Promise<Start> {
  const { pid, url, miniflare } = await launch(
    convertV4MiniflareOptions({
      modules: [{ type: "ESModule", path: "worker.js", contents: code }],
      modulesRoot: ".",
      compatibilityDate,
      compatibilityFlags,
      unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
      cf: false,
      handleStructuredLogs() {},
    }),
  );
  await (await fetch(`${url}/openapi/chat/none`)).arrayBuffer();
  const loading = cpuMs(pid);
  await (await fetch(`${url}/console/sign-in`)).arrayBuffer();
  const firstPage = cpuMs(pid) - loading;
  await miniflare.dispose();
  return { loading, firstPage };
}
