import { ownCpu } from "./cpu.ts";
import type { Measurement } from "./measurement.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { measuredD1, type Way } from "./service-times.ts";
import { median, percentile, seededRandom } from "./statistics.ts";

const D1_TRIP_MS = 80;
const KV_TRIP_MS = 15;
/** Loads: the share of time that production's creates keep the one database busy. */
const LOADS = [0.15, 0.5, 0.8];
const REQUESTS = 20_000;

/** Milliseconds that a way takes outside D1. */
interface Before {
  cpu: number;
  kv: number;
}

/**
 * create_gd with many callers: a model in simulated time. One database is one queue that works on one call at a time.
 * Service times are drawn at random from the measured ones, requests arrive at random at a given rate, and the trip is
 * constant. The platform always has enough isolates, so a Worker's CPU delays its request and queues for nothing.
 */
export async function measureUnderLoad(bundle: ProductionBundle): Promise<Measurement> {
  const [{ times }, cpu] = [await measuredD1(bundle), await ownCpu(bundle)];
  const before: Record<Way, Before> = {
    production: { cpu: cpu.production, kv: Math.min(KV_TRIP_MS, Number(bundle.vars.REPLAY_LOOK_MS)) },
    careful: { cpu: cpu.careful, kv: 0 },
    usual: { cpu: cpu.careful, kv: 3 * KV_TRIP_MS },
  };
  const work = (way: Way) => times[way].map((calls) => calls.reduce((sum, ms) => sum + ms, 0));
  const meanWork = (way: Way) => work(way).reduce((sum, ms) => sum + ms, 0) / times[way].length;
  const most = (way: Way) => 1000 / meanWork(way);
  const ways = Object.keys(before) as Way[];
  const cells = LOADS.map((share) => {
    const rate = share * most("production");
    const took = (way: Way) => (rate < most(way) ? answersIn(times[way], before[way], rate) : undefined);
    return { share, rate, took: { production: took("production"), careful: took("careful"), usual: took("usual") } };
  });
  const times50and99 = (ms: number[] | undefined) =>
    ms === undefined ? "the queue only grows" : `${Math.round(median(ms))} / ${Math.round(percentile(ms, 0.99))}`;
  const half = cells.find(({ share }) => share === 0.5);
  const [ours, careful] = [half?.took.production ?? [], half?.took.careful];
  const ratio = (share: number) =>
    careful === undefined ? Infinity : percentile(careful, share) / percentile(ours, share);
  const capacity = most("production") / most("careful");
  return {
    title: "Under load (modelled)",
    tables: [
      {
        head: ["side", "D1 calls", "D1's work on a create, ms: p50 / p99 / mean", "creates/s one database takes"],
        rows: ways.map((way) => {
          const ms = work(way);
          const parts = [median(ms), percentile(ms, 0.99), meanWork(way)].map((each) => each.toFixed(2));
          return [way, times[way][0]?.length ?? 0, parts.join(" / "), Math.round(most(way))];
        }),
      },
      {
        head: ["creates/s", "production p50 / p99, ms", "careful p50 / p99, ms", "usual p50 / p99, ms"],
        rows: cells.map(({ share, rate, took }) => [
          `${Math.round(rate)} (production keeps D1 busy ${Math.round(share * 100)} %)`,
          ...ways.map((way) => times50and99(took[way])),
        ]),
      },
    ],
    goals: [
      {
        what: `Under load (${Math.round(half?.rate ?? 0)} creates/s, D1 at ${D1_TRIP_MS} ms), p50 and p99 beside the careful peer`,
        goal: "≥ 1.5 ×",
        result: `${ratio(0.5).toFixed(2)} and ${ratio(0.99).toFixed(2)} × faster`,
        met: Math.min(ratio(0.5), ratio(0.99)) >= 1.5,
        enforced: false,
      },
      {
        what: "Creates/s one database takes, beside the careful peer",
        goal: "≥ 1.2 ×",
        result: `${capacity.toFixed(2)} ×`,
        met: capacity >= 1.2,
        enforced: false,
      },
    ],
    notes: [
      `Trips: D1 ${D1_TRIP_MS} ms, KV ${KV_TRIP_MS} ms. D1's work is the local D1's on this machine, measured call by call; what a real one needs to replicate a commit is not in it. ${REQUESTS} requests a cell, in simulated time. The usual side's CPU is taken as the careful one's.`,
    ],
  };
}

/** The time until the answer of each request. */
function answersIn(measured: number[][], before: Before, perSecond: number): number[] {
  const random = seededRandom();
  const draw = () => measured[Math.floor(random() * measured.length)] ?? [];
  const took: number[] = [];
  /** Requests whose next call is in flight to D1. One queue and a constant trip keep them in order. */
  const again: { at: number; began: number; calls: number[]; next: number }[] = [];
  let [next, free, began] = [0, 0, 0];
  const arrival = () => {
    began += (-Math.log(1 - random()) / perSecond) * 1000;
    return { at: began + before.cpu + before.kv + D1_TRIP_MS / 2, began, calls: draw(), next: 0 };
  };
  let coming = arrival();
  while (took.length < REQUESTS) {
    const first = again[next];
    const call = first !== undefined && first.at <= coming.at ? first : coming;
    if (call === first) next++;
    else coming = arrival();
    free = Math.max(call.at, free) + (call.calls[call.next] ?? 0);
    if (call.next === call.calls.length - 1) took.push(free + D1_TRIP_MS / 2 - call.began);
    else again.push({ ...call, at: free + D1_TRIP_MS, next: call.next + 1 });
  }
  return took;
}
