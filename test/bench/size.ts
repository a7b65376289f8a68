import type { Measurement } from "./measurement.ts";
import type { ProductionBundle } from "./production-bundle.ts";

/** The platform's limit for one Worker, before compression. */
const MOST_MIB = 64;

/**
 * The upload of `wrangler deploy`, minified and gzipped, by part. The size is only reported, because the limit is far
 * away.
 */
export async function measureSize(bundle: ProductionBundle): Promise<Measurement> {
  const kib = bundle.gzipBytes / 1024;
  const parts = Object.entries(bundle.parts).sort(([, a], [, b]) => b - a);
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
    ],
    goals: [
      {
        what: "Size of the whole Worker, minified, and gzipped",
        goal: `≤ ${MOST_MIB} MiB minified, the platform's limit`,
        result: `${(bundle.bytes / 1024).toFixed(0)} KiB, ${kib.toFixed(1)} KiB`,
        met: bundle.bytes <= MOST_MIB * 1024 ** 2,
        enforced: true,
      },
    ],
    notes: [],
  };
}
