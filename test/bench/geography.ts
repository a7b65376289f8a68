import { APP, createFields, signed } from "./bench-app.ts";
import type { Measurement } from "./measurement.ts";
import { PRODUCTION } from "./observed-bindings.ts";
import { observedWorker } from "./observed-production.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { median, percentile } from "./statistics.ts";

const D1_MS = [10, 80, 200];
const KV_MS = [15, 150];
const PER_CELL = 80;
/** Requests begin this far apart: far less load than one isolate bears, so that what is measured is the way, not the machine. */
const EVERY_MS = 30;

const SIDES = {
  floor: "./one-trip-worker.ts",
  production: PRODUCTION,
  usual: "./usual-worker.ts",
} as const;
type Side = keyof typeof SIDES;

/**
 * create_gd at simulated distances from D1 and KV, beside the floor (one D1 trip and nothing else) and the usual way (the same work,
 * one awaited query after another). All sides run in one isolate and take turns request by request, so noise hits all alike.
 */
export async function measureGeography(bundle: ProductionBundle): Promise<Measurement> {
  const worker = await observedWorker(bundle);
  await worker.running.credentials.put(
    `usual:${APP.appid}`,
    JSON.stringify({ secret: APP.secret, siteId: APP.siteId }),
  );
  const cells = D1_MS.flatMap((d1) =>
    KV_MS.map((kv) => ({ d1, kv, took: { floor: [], production: [], usual: [] } as Record<Side, number[]> })),
  );
  const send = async (cell: (typeof cells)[number], side: Side) => {
    const request = signed(createFields({ sbs: crypto.randomUUID() }));
    const since = performance.now();
    await worker.call("create_gd", request, { module: SIDES[side], d1: cell.d1, kv: cell.kv });
    return performance.now() - since;
  };
  const turns = cells.flatMap((cell) => (Object.keys(SIDES) as Side[]).map((side) => ({ cell, side })));
  for (const { cell, side } of turns) await send(cell, side);

  const underWay: Promise<void>[] = [];
  for (let i = 0; i < PER_CELL; i++) {
    for (const { cell, side } of turns) {
      underWay.push(send(cell, side).then((ms) => void cell.took[side].push(ms)));
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  }
  await Promise.all(underWay);
  await worker.running.close();

  const ratios = cells.map(({ d1, kv, took }) => {
    const p50 = { floor: median(took.floor), production: median(took.production), usual: median(took.usual) };
    return { d1, kv, toFloor: p50.production / p50.floor, fasterThanUsual: p50.usual / p50.production };
  });
  const at80 = ratios.filter(({ d1 }) => d1 === 80);
  const worstFloor = Math.max(...at80.map(({ toFloor }) => toFloor));
  const worstUsual = Math.min(...at80.map(({ fasterThanUsual }) => fasterThanUsual));
  const each = (values: number[]) => values.map((value) => value.toFixed(2)).join(" and ");
  const times = (ms: number[]) => `${Math.round(median(ms))} / ${Math.round(percentile(ms, 0.99))}`;
  return {
    title: "Geography",
    tables: [
      {
        head: [
          "D1 / KV trip, ms",
          "floor p50 / p99",
          "production p50 / p99",
          "usual p50 / p99",
          "production ÷ floor",
          "usual ÷ production",
        ],
        rows: cells.map(({ d1, kv, took }, i) => [
          `${d1} / ${kv}`,
          times(took.floor),
          times(took.production),
          times(took.usual),
          ratios[i]?.toFloor.toFixed(2) ?? "",
          ratios[i]?.fasterThanUsual.toFixed(1) ?? "",
        ]),
      },
    ],
    goals: [
      {
        what: "p50 beside one D1 trip of 80 ms, KV 15 and 150 ms",
        goal: "≤ 1.25",
        result: each(at80.map(({ toFloor }) => toFloor)),
        met: worstFloor <= 1.25,
        enforced: false,
      },
      {
        what: "Faster than one awaited query after another, D1 at 80 ms",
        goal: "≥ 5 ×",
        result: each(at80.map(({ fasterThanUsual }) => fasterThanUsual)),
        met: worstUsual >= 5,
        enforced: false,
      },
    ],
    notes: [
      `${PER_CELL} requests a cell, all cells in turns, one every ${EVERY_MS} ms. p99 of so few is their slowest.`,
    ],
  };
}
