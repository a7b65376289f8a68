import { createFields, signed } from "./bench-app.ts";
import type { ResultsOf } from "./bench-part.ts";
import { PRODUCTION } from "./observed-bindings.ts";
import { observedWorker, PEERS } from "./observed-production.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { median, spread } from "./statistics.ts";

/** Round trips in milliseconds. KV is slower, because production and the careful Worker ask it in parallel with D1. */
const TRIPS = { d1: 80, kv: 150 };
const STARTS = 3;
const PER_START = 30;
/** The interval between two requests. One isolate can serve far more requests, so this measures distance and not the machine. */
const EVERY_MS = 30;

const MODULES = { production: PRODUCTION, ...PEERS } as const;
type Side = keyof typeof MODULES;
const SIDES = Object.keys(MODULES) as Side[];

/**
 * The p50 of create_gd far from D1 and KV, beside the careful Worker (two D1 trips) and a single trip. All three run in one isolate
 * and take turns after each request. Each trip takes the same time.
 */
export async function measureDistance(bundle: ProductionBundle): Promise<ResultsOf<"distance">> {
  const starts: Record<Side, number>[] = [];
  for (let i = 0; i < STARTS; i++) starts.push(await p50s(bundle));
  return {
    "distance.bare": spread(starts.map(({ production, bare }) => production / bare)),
    "distance.more": spread(starts.map(({ production, bare }) => production - bare)),
    "distance.careful": spread(starts.map(({ production, careful }) => careful / production)),
  };
}

async function p50s(bundle: ProductionBundle): Promise<Record<Side, number>> {
  const worker = await observedWorker(bundle);
  const took: Record<Side, number[]> = { production: [], bare: [], careful: [] };
  const send = async (side: Side) => {
    const request = signed(createFields({ sbs: crypto.randomUUID() }));
    const since = performance.now();
    await worker.create(request, { module: MODULES[side], ...TRIPS });
    return performance.now() - since;
  };
  for (const side of SIDES) for (let i = 0; i < 5; i++) await send(side);
  const inFlight: Promise<unknown>[] = [];
  for (let i = 0; i < PER_START; i++) {
    for (const side of i % 2 === 0 ? SIDES : SIDES.toReversed()) {
      inFlight.push(send(side).then((ms) => took[side].push(ms)));
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  }
  await Promise.all(inFlight);
  await worker.running.close();
  return { production: median(took.production), bare: median(took.bare), careful: median(took.careful) };
}
