import { createFields, signed } from "./bench-app.ts";
import type { Goal, Measurement } from "./measurement.ts";
import { PRODUCTION } from "./observed-bindings.ts";
import { observedWorker, PEERS } from "./observed-production.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { median, percentile } from "./statistics.ts";

const D1_MS = [10, 80, 200];
const KV_MS = [15, 150];
const PER_CELL = 30;
/**
 * The interval between two requests. One isolate can bear far more load, so that distance is measured and not the
 * machine.
 */
const EVERY_MS = 30;

const SIDES = { production: PRODUCTION, ...PEERS } as const;
type Side = keyof typeof SIDES;
const sides = Object.keys(SIDES) as Side[];

/**
 * create_gd at simulated distances from D1 and KV, one request at a time, beside the careful peer (two D1 trips), the
 * usual way (queries awaited one after another) and the floor (one D1 trip and nothing else). All sides run in one
 * isolate and take turns request by request, so noise hits all alike. Every trip takes the same time; the part "Under
 * load" adds the wait in D1's queue.
 */
export async function measureDistance(bundle: ProductionBundle): Promise<Measurement> {
  const worker = await observedWorker(bundle);
  const cells = D1_MS.flatMap((d1) =>
    KV_MS.map((kv) => ({
      d1,
      kv,
      took: { production: [], careful: [], usual: [], floor: [] } as Record<Side, number[]>,
    })),
  );
  const send = async (cell: (typeof cells)[number], side: Side) => {
    const request = signed(createFields({ sbs: crypto.randomUUID() }));
    const since = performance.now();
    await worker.call("create_gd", request, { module: SIDES[side], d1: cell.d1, kv: cell.kv });
    return performance.now() - since;
  };
  const turns = cells.flatMap((cell) => sides.map((side) => ({ cell, side })));
  for (const { cell, side } of turns) await send(cell, side);

  const inFlight: Promise<void>[] = [];
  for (let i = 0; i < PER_CELL; i++) {
    for (const { cell, side } of turns) {
      inFlight.push(send(cell, side).then((ms) => void cell.took[side].push(ms)));
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  }
  await Promise.all(inFlight);
  await worker.running.close();

  const ratios = cells.map(({ d1, took }) => {
    const p50 = (side: Side) => median(took[side]);
    const times = (side: Side) => p50(side) / p50("production");
    return { d1, toFloor: 1 / times("floor"), careful: times("careful"), usual: times("usual") };
  });
  const at80 = ratios.filter(({ d1 }) => d1 === 80);
  const each = (values: number[], digits: number) => values.map((value) => value.toFixed(digits)).join(" and ");
  const faster = (what: string, side: "careful" | "usual", least: number, digits: number): Goal => ({
    what: `Faster than ${what}, D1 at 80 ms, KV 15 and 150 ms`,
    goal: `≥ ${least} ×`,
    result: each(
      at80.map((ratio) => ratio[side]),
      digits,
    ),
    met: at80.every((ratio) => ratio[side] >= least),
    enforced: false,
  });
  return {
    title: "Distance",
    tables: [
      {
        head: [
          "D1 / KV trip, ms",
          ...sides.map((side) => `${side} p50 / p90`),
          "careful ÷ production",
          "usual ÷ production",
          "production ÷ floor",
        ],
        rows: cells.map(({ d1, kv, took }, i) => [
          `${d1} / ${kv}`,
          ...sides.map((side) => `${Math.round(median(took[side]))} / ${Math.round(percentile(took[side], 0.9))}`),
          ratios[i]?.careful.toFixed(2) ?? "",
          ratios[i]?.usual.toFixed(1) ?? "",
          ratios[i]?.toFloor.toFixed(2) ?? "",
        ]),
      },
    ],
    goals: [
      faster("the careful peer (cached credentials, one batch to read, one to write)", "careful", 1.5, 2),
      faster("one awaited query after another", "usual", 5, 1),
      {
        what: "p50 beside one bare D1 trip of 80 ms, KV 15 and 150 ms",
        goal: "≤ 1.25 ×",
        result: each(
          at80.map(({ toFloor }) => toFloor),
          2,
        ),
        met: at80.every(({ toFloor }) => toFloor <= 1.25),
        enforced: false,
      },
    ],
    notes: [`${PER_CELL} requests a cell, all cells in turns, one every ${EVERY_MS} ms.`],
  };
}
