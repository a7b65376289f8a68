import { appidOf, createFields, signed } from "./bench-app.ts";
import type { ResultsOf } from "./bench-part.ts";
import { observedWorker } from "./observed-production.ts";
import type { Orders } from "./observed-worker.ts";
import type { ProductionBundle } from "./production-bundle.ts";

/** Milliseconds of a round trip to D1. An answer that waits for three trips is later by three times this number. */
const FAR_MS = 150;
/** The fastest of this many answers counts, because a busy machine only makes answers slower. */
const TRIES = 3;
const FAULTS = ["no-record", "failing"] as const;
/** Fresh modules: for each try near and far, of two homes in three states of KV. */
const COPIES = TRIES * 2 * 2 * (1 + FAULTS.length);

/**
 * How many D1 trips the answer to a create_gd waits for. It does not count calls: it moves D1 further away, and measures how much
 * later the answer comes.
 */
export async function countTrips(bundle: ProductionBundle): Promise<ResultsOf<"trips">> {
  const worker = await observedWorker(bundle, { copies: COPIES, homes: ["apac"] });
  const quickest = async (siteId: number, orders: Orders, isCold: boolean) => {
    const took: number[] = [];
    for (let i = 0; i < TRIES; i++) {
      const module = isCold ? { module: await worker.freshModule() } : {};
      const request = signed(createFields({ appid: appidOf(siteId) }));
      const since = performance.now();
      await worker.create(request, { ...orders, ...module });
      took.push(performance.now() - since);
    }
    return Math.min(...took);
  };
  const trips = async (siteId: number, orders: Orders = {}, isCold = true) => {
    const later =
      (await quickest(siteId, { ...orders, d1: FAR_MS }, isCold)) - (await quickest(siteId, orders, isCold));
    return Math.round(later / FAR_MS);
  };
  const warm = [await trips(1, {}, false), await trips(2, {}, false)];
  const cold = [await trips(1), await trips(2)];
  const [main, home]: [number[], number[]] = [[], []];
  for (const kvFault of FAULTS) {
    main.push(await trips(1, { kvFault }));
    home.push(await trips(2, { kvFault }));
  }
  await worker.running.close();
  const mostOf = (counts: number[]) => ({ value: Math.max(...counts) });
  return {
    "trips.warm": mostOf(warm),
    "trips.cold": mostOf(cold),
    "trips.main": mostOf(main),
    "trips.home": mostOf(home),
  };
}
