import { appidOf, createFields, signed } from "./bench-app.ts";
import type { Goal, Measurement } from "./measurement.ts";
import { PRODUCTION } from "./observed-bindings.ts";
import { observedWorker, PEERS } from "./observed-production.ts";
import type { Orders } from "./observed-worker.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { CITIES, FURTHER_HOMES, MAIN_REGION, REGIONS, type Region, siteIn, tripMs, tripsOf } from "./regions.ts";
import { median, percentile, seededRandom, shuffled } from "./statistics.ts";

const PER_CELL = 100;
/**
 * The interval between two requests. One isolate can bear far more load, so that distance is measured and not the
 * machine.
 */
const EVERY_MS = 18;
const COLD_PER_CELL = 5;
/** Assumed times of KV: a hit in the location's cache, and a miss, which is never cached. */
const KV_HOT_MS = 10;
const KV_MISS_MS = 100;
const MOST_FACTOR = 1.25;

/** What is measured in a warm isolate for the callers of each region. */
const WARM = ["bare", "one", "six", "sixWithoutNonces"] as const;
const COLD = ["hot", "miss"] as const;
type Cell = (typeof WARM)[number] | (typeof COLD)[number];

/**
 * create_gd for callers in six regions, in a warm isolate: all sites in one home, against each site in the home of its
 * region. For comparison: one bare D1 query to the region's own home (the floor of a distance), and the first request
 * of a cold isolate. Every trip takes the same time, so p99 shows only the Worker and this machine.
 */
export async function measureGeography(bundle: ProductionBundle): Promise<Measurement> {
  const copies = REGIONS.length * COLD.length * COLD_PER_CELL;
  const worker = await observedWorker(bundle, { copies, homes: FURTHER_HOMES });
  const took = Object.fromEntries(
    REGIONS.map((region) => [region, Object.fromEntries([...WARM, ...COLD].map((cell) => [cell, [] as number[]]))]),
  ) as Record<Region, Record<Cell, number[]>>;

  const send = async (region: Region, cell: Cell, module: string) => {
    const home = cell === "one" ? MAIN_REGION : region;
    const request = signed(createFields({ sbs: crypto.randomUUID(), appid: appidOf(siteIn(home)) }));
    const orders: Orders = { module, ...tripsOf(region), kv: cell === "hot" ? KV_HOT_MS : KV_MISS_MS };
    // The floor Worker has one database, which must be as far away as the region's own home.
    if (cell === "bare") Object.assign(orders, { d1By: {}, d1: tripMs(region, region) });
    if (cell === "sixWithoutNonces") orders.nonces = false;
    if (cell === "miss") orders.kvFault = "no-record";
    const since = performance.now();
    await worker.call("create_gd", request, orders);
    return performance.now() - since;
  };
  const turns = REGIONS.flatMap((region) => WARM.map((cell) => ({ region, cell })));
  const moduleOf = (cell: Cell) => (cell === "bare" ? PEERS.floor : PRODUCTION);
  for (const { region, cell } of turns) await send(region, cell, moduleOf(cell));

  const inFlight: Promise<unknown>[] = [];
  const random = seededRandom();
  for (let i = 0; i < PER_CELL; i++) {
    // The order is random each time, so that no cell always runs after the same other cell.
    for (const { region, cell } of shuffled(turns, random)) {
      inFlight.push(send(region, cell, moduleOf(cell)).then((ms) => took[region][cell].push(ms)));
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  }
  await Promise.all(inFlight);
  for (let i = 0; i < COLD_PER_CELL; i++) {
    for (const region of REGIONS) {
      for (const cell of COLD) took[region][cell].push(await send(region, cell, await worker.freshModule()));
    }
  }
  await worker.running.close();

  const p50 = (region: Region, cell: Cell) => median(took[region][cell]);
  const factor = (region: Region, cell: Cell) => p50(region, cell) / p50(region, "bare");
  const beside = (region: Region, cell: Cell) =>
    `${factor(region, cell).toFixed(2)}, ${(p50(region, cell) - p50(region, "bare")).toFixed(0)} ms more`;
  const gain = (region: Region) => p50(region, "one") / p50(region, "six");
  const times = (region: Region, cell: Cell) =>
    `${p50(region, cell).toFixed(0)} / ${percentile(took[region][cell], 0.99).toFixed(0)}`;
  const each = (value: (region: Region) => number, digits: number) =>
    REGIONS.map((region) => `${region} ${value(region).toFixed(digits)}`).join(", ");
  const near = (what: string, cell: Cell): Goal => ({
    what: `p50 of a create with six homes, beside a bare trip to the own home${what}`,
    goal: `≤ ${MOST_FACTOR} ×`,
    result: each((region) => factor(region, cell), 2),
    met: REGIONS.every((region) => factor(region, cell) <= MOST_FACTOR),
    enforced: false,
  });
  return {
    title: "Geography",
    tables: [
      {
        head: [
          "callers in",
          "trip to their own home",
          "bare D1 query there, p50",
          `one home (${CITIES[MAIN_REGION].home}), p50 / p99`,
          "six homes, p50 / p99",
          "÷ bare",
          "faster than one home",
          "without NONCES, p50 / p99",
          "÷ bare",
        ],
        rows: REGIONS.map((region) => [
          `${region}: ${CITIES[region].callers}`,
          `${tripMs(region, region)} (${CITIES[region].home})`,
          p50(region, "bare").toFixed(0),
          times(region, "one"),
          times(region, "six"),
          beside(region, "six"),
          `${gain(region).toFixed(1)} ×`,
          times(region, "sixWithoutNonces"),
          beside(region, "sixWithoutNonces"),
        ]),
      },
      {
        head: ["first request of a cold isolate, six homes, p50", "warm", "KV has the record", "KV has no record"],
        rows: REGIONS.map((region) => [
          `${region}: ${CITIES[region].callers}`,
          p50(region, "six").toFixed(0),
          p50(region, "hot").toFixed(0),
          p50(region, "miss").toFixed(0),
        ]),
      },
    ],
    goals: [
      near("", "six"),
      near(", with NONCES not bound", "sixWithoutNonces"),
      {
        what: "Six homes, times faster than one home in enam",
        goal: "reported",
        result: each(gain, 1),
        met: true,
        enforced: false,
      },
    ],
    notes: [
      `All times in ms. Trips: Microsoft's published medians between the Azure regions of these cities, 30 days to 30 July 2026 (test/bench/regions.ts). ${PER_CELL} requests a cell, all cells in turns, one every ${EVERY_MS} ms; cold: ${COLD_PER_CELL}.`,
      `KV is assumed to answer in ${KV_HOT_MS} ms what its cache has, and in ${KV_MISS_MS} ms that it has nothing. So the KV check for a used ranstr waits its ${bundle.vars.REPLAY_LOOK_MS} ms out, which a short trip feels most. The directory is in ${CITIES[MAIN_REGION].home}.`,
    ],
  };
}
