import type { Measurement } from "./measurement.ts";
import type { ProductionBundle } from "./production-bundle.ts";

/** The design allows this with all that is planned, drizzle's query builders included. */
const MOST_KIB = 100;
const BEST_KIB = 45;

/** What `wrangler deploy` uploads, minified, and what it is gzipped. */
export async function measureSize(bundle: ProductionBundle): Promise<Measurement> {
  const kib = bundle.gzipBytes / 1024;
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
    ],
    goals: [
      {
        what: "Minified gzip of the whole Worker",
        goal: `≤ ${MOST_KIB} KiB, at best ${BEST_KIB}`,
        result: `${kib.toFixed(1)} KiB`,
        met: kib <= MOST_KIB,
        enforced: true,
      },
    ],
    notes: [],
  };
}
