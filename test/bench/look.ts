import { createFields, signed } from "./bench-app.ts";
import type { Measurement } from "./measurement.ts";
import { observedWorker } from "./observed-production.ts";
import type { Orders } from "./observed-worker.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { median, medianInterval } from "./statistics.ts";

const TURNS = 80;
const WARMING_TURNS = 10;
const SLOW = "KV answers in 150 ms";

/**
 * The time that the KV look for a used ranstr adds to a create. The effect is a few milliseconds, less than the spread
 * between requests. So it is measured by itself, with D1 next to the Worker, in turns with the same Worker without
 * NONCES. The result is the median of the pairs' differences, with its confidence interval.
 */
export async function measureLook(bundle: ProductionBundle): Promise<Measurement> {
  const lookMs = Number(bundle.vars.REPLAY_LOOK_MS);
  const long = { lookMs: 5 };
  const cells: { name: string; orders: Orders; most: number }[] = [
    { name: "KV answers at once", orders: { kv: 0 }, most: 0 },
    { name: "KV answers in 15 ms", orders: { kv: 15 }, most: lookMs },
    { name: SLOW, orders: { kv: 150 }, most: lookMs },
    { name: "KV in 150 ms, REPLAY_LOOK_MS = 0", orders: { kv: 150, lookMs: 0 }, most: 0 },
    { name: "KV in 2 ms, REPLAY_LOOK_MS = 5", orders: { kv: 2, ...long }, most: 2 },
    { name: "KV in 150 ms, REPLAY_LOOK_MS = 5", orders: { kv: 150, ...long }, most: long.lookMs },
  ];
  const worker = await observedWorker(bundle);
  const send = async (orders: Orders) => {
    const request = signed(createFields({ sbs: crypto.randomUUID() }));
    const since = performance.now();
    await worker.call("create_gd", request, orders);
    return performance.now() - since;
  };
  const added = cells.map(() => [] as number[]);
  const bare: number[] = [];
  for (let turn = -WARMING_TURNS; turn < TURNS; turn++) {
    for (const [place, { orders }] of cells.entries()) {
      // Each of the two goes first in every other turn.
      const first = turn % 2 === 0 ? await send({ nonces: false }) : undefined;
      const withLook = await send(orders);
      const without = first ?? (await send({ nonces: false }));
      if (turn < 0) continue;
      added[place]?.push(withLook - without);
      bare.push(without);
    }
  }
  await worker.running.close();

  const slow = median(added[cells.findIndex(({ name }) => name === SLOW)] ?? []);
  const interval = (ms: number[]) => {
    const { low, high } = medianInterval(ms);
    return `${low.toFixed(1)} to ${high.toFixed(1)}`;
  };
  return {
    title: "The KV look",
    tables: [
      {
        head: ["production, warm", "adds to p50, ms", "95 % interval, ms", "at most by design, ms"],
        rows: [
          [`NONCES not bound: ${median(bare).toFixed(1)} ms in all`, 0, "", ""],
          ...cells.map(({ name, most }, place) => {
            const ms = added[place] ?? [];
            return [name, median(ms).toFixed(1), interval(ms), most];
          }),
        ],
      },
    ],
    goals: [
      {
        what: "What the KV look adds to p50 when KV is slow (150 ms)",
        goal: `≤ ${lookMs} ms + 3 for the timer and the local KV`,
        result: `${slow.toFixed(1)} ms`,
        met: slow <= lookMs + 3,
        enforced: false,
      },
    ],
    notes: [
      `${TURNS} pairs a row. A look saves a replay's D1 batch when KV knows the ranstr in time; its price in money is under "Cost".`,
    ],
  };
}
