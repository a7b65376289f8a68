import type { Measurement } from "./measurement.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { benchModule, startWorker } from "./start-worker.ts";
import { median } from "./statistics.ts";

/** The design allows this with all that is planned, drizzle's query builders included. */
const MOST_KIB = 100;
const BEST_KIB = 45;

/** Each Worker is started so often, in turn. */
const STARTS = 5;

/** What `wrangler deploy` uploads, minified and gzipped, by part; and how long workerd takes until it answers, beside an empty Worker. */
export async function measureSize(bundle: ProductionBundle): Promise<Measurement> {
  const kib = bundle.gzipBytes / 1024;
  const parts = Object.entries(bundle.parts).sort(([, a], [, b]) => b - a);
  const [whole, empty] = await startTimes(bundle);
  return {
    title: "Size",
    tables: [
      {
        head: ["the whole Worker", "bytes", "KiB"],
        rows: [
          ["minified", bundle.bytes, (bundle.bytes / 1024).toFixed(1)],
          ["minified, gzip -9", bundle.gzipBytes, kib.toFixed(1)],
        ],
      },
      {
        head: ["part", "KiB minified", "share"],
        rows: parts.map(([part, bytes]) => [
          part,
          (bytes / 1024).toFixed(1),
          `${((100 * bytes) / bundle.bytes).toFixed(1)} %`,
        ]),
      },
      {
        head: ["workerd's start until its first answer, median ms", "this Worker", "an empty one"],
        rows: [["in workerd on this machine", whole.toFixed(1), empty.toFixed(1)]],
      },
    ],
    goals: [
      {
        what: "Minified gzip of the whole Worker",
        goal: `≤ ${MOST_KIB} KiB, at best ${BEST_KIB}`,
        result: `${kib.toFixed(1)} KiB`,
        met: kib <= MOST_KIB,
        enforced: true,
      },
      {
        what: "workerd's start until its first answer, beside an empty Worker's",
        goal: "as little more as can be",
        result: `${whole.toFixed(1)} ms, ${empty.toFixed(1)} ms`,
        met: true,
        enforced: false,
      },
    ],
    notes: [],
  };
}

/** From the start of workerd, its databases and the script to a first answer that reads no database. */
async function startTimes(bundle: ProductionBundle): Promise<[number, number]> {
  const sides = [[{ name: "worker.js", code: bundle.code }], [benchModule("empty-worker.ts")]];
  const times: number[][] = [[], []];
  for (let start = 0; start < STARTS; start++) {
    for (const [i, modules] of sides.entries()) {
      const since = performance.now();
      const worker = await startWorker(bundle, modules);
      await (await fetch(`${worker.url}/openapi/chat/none`)).arrayBuffer();
      times[i]?.push(performance.now() - since);
      await worker.close();
    }
  }
  return [median(times[0] ?? []), median(times[1] ?? [])];
}
