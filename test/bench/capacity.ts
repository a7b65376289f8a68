import { appidOf, createFields, signed } from "./bench-app.ts";
import type { Measurement } from "./measurement.ts";
import { observedWorker } from "./observed-production.ts";
import { DOLLARS_PER_GB, INCLUDED_GB, RATES } from "./prices.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { measuredD1 } from "./service-times.ts";
import { median, percentile, seededRandom } from "./statistics.ts";

const HOMES = [1, 2, 4, 8];
const MOST_HOMES = 8;
const LEAST_SHARE = 0.9;

/**
 * The mean service time of a slowed home. It is far longer than the real one, so that eight homes together need less
 * CPU than this machine has, and only their queues limit the result.
 */
const SLOW_MS = 80;
const CALLERS = 24;
/** The number of values that the measured times are reduced to. It must not be a multiple of 7: see `evenly`. */
const VALUES = 20;
const WARMING_MS = 2_000;
const MEASURED_MS = 6_000;

/** Offered loads, as multiples of what one home can serve. */
const OFFERED = [0.8, 1.6, 3.2, 6.4, 9.6];
/** Seconds of simulated time that are counted. The queues get the same time before, to fill. */
const MODELLED_SECONDS = 30;
const TRIP_MS = 20;
/** The time that the Worker gives one try. */
const PATIENCE_MS = 3_000;
/** The largest database that D1 allows. */
const GIGABYTES = 10;
const DAY_S = 86_400;
/** Days for which sessions are kept. */
const KEPT = [30, 365];
/** The share of a home's capacity that one would plan with. */
const PLANNED = 0.5;

/** The result of one load. */
interface Served {
  acceptedPerSecond: number;
  /** Milliseconds of each accepted request. */
  took: number[];
}

/**
 * What 1, 2, 4 and 8 homes can serve under the same load. A D1 is one queue that works on one batch at a time, with the
 * service times that were measured. There are two measurements. The production bundle in workerd with slowed homes
 * shows whether homes share anything that limits them. A model in simulated time with the true service times gives the
 * numbers.
 */
export async function measureCapacity(bundle: ProductionBundle): Promise<Measurement> {
  const { times, bytesPerSession } = await measuredD1(bundle);
  const batches = times.production.map((calls) => calls.reduce((sum, ms) => sum + ms, 0));
  const mean = batches.reduce((sum, ms) => sum + ms, 0) / batches.length;
  const scale = SLOW_MS / mean;
  const slowed = await serveSlowed(
    bundle,
    evenly(batches).map((ms) => ms * scale),
  );
  const ofOne = 1000 / mean;
  const modelled = OFFERED.map((share) => ({
    share,
    by: HOMES.map((homes) => modelServed(batches, homes, share * ofOne)),
  }));
  const [one] = slowed;
  const share = (served: Served, homes: number) => served.acceptedPerSecond / (homes * (one?.acceptedPerSecond ?? 0));
  const linear = slowed.map((served, place) => share(served, HOMES[place] ?? 1));
  const times50and99 = ({ took }: Served) => `${median(took).toFixed(0)} / ${percentile(took, 0.99).toFixed(0)}`;
  return {
    title: "Capacity",
    tables: [
      {
        head: ["homes", "accepted creates/s", "÷ as many times one home", "p50 / p99, ms"],
        rows: slowed.map((served, place) => [
          HOMES[place] ?? 0,
          served.acceptedPerSecond.toFixed(1),
          linear[place]?.toFixed(2) ?? "",
          times50and99(served),
        ]),
      },
      {
        head: [
          "creates/s offered (modelled)",
          ...HOMES.map((homes) => `${homes} ${homes === 1 ? "home" : "homes"}: accepted/s, p50 / p99 ms`),
        ],
        rows: modelled.map(({ share, by }) => [
          Math.round(share * ofOne),
          ...by.map((served) => `${Math.round(served.acceptedPerSecond)}, ${times50and99(served)}`),
        ]),
      },
      {
        head: ["one home", ""],
        rows: [
          ["D1's work on a create, mean ms", mean.toFixed(2)],
          ["creates/s when it does nothing else", Math.round(ofOne)],
          ["bytes a session adds", Math.round(bytesPerSession)],
          [`sessions in ${GIGABYTES} GB, millions`, ((GIGABYTES * 1e9) / bytesPerSession / 1e6).toFixed(1)],
        ],
      },
      {
        head: ["creates/s", "homes for the creates", ...KEPT.map((days) => `${days} days kept: GB, homes, $ a month`)],
        rows: RATES.map((rate) => [
          rate.toLocaleString("en"),
          Math.ceil(rate / (PLANNED * ofOne)),
          ...KEPT.map((days) => storage((rate * days * DAY_S * bytesPerSession) / 1e9)),
        ]),
      },
    ],
    goals: [
      {
        what: `Creates/s that ${MOST_HOMES} homes take under the same load, beside ${MOST_HOMES} times one home`,
        goal: `≥ ${LEAST_SHARE}`,
        result: (linear.at(-1) ?? Number.NaN).toFixed(2),
        met: (linear.at(-1) ?? 0) >= LEAST_SHARE,
        enforced: false,
      },
    ],
    notes: [
      `First table: the production bundle, ${CALLERS} callers that each send the next create when the last is answered, spread evenly over the homes; a home works ${SLOW_MS} ms on a batch in the mean, ${scale.toFixed(0)} times as long as measured, because this machine's cores and not the homes would be the limit otherwise.`,
      `Last table: homes at ${PLANNED * 100} % of the creates/s that one takes, and full ones of ${GIGABYTES} GB, at $${DOLLARS_PER_GB} for each GB beyond ${INCLUDED_GB}.`,
      `Second table: simulated time, the measured work, ${MODELLED_SECONDS} s a cell, requests that come by chance, sites of equal load, D1 at ${TRIP_MS} ms; a request that would wait longer than ${PATIENCE_MS / 1000} s in a home's queue is refused. D1's work is the local D1's: what a real one needs to replicate a commit is not in it.`,
    ],
  };
}

function storage(gigabytes: number): string {
  const dollars = Math.max(0, gigabytes - INCLUDED_GB) * DOLLARS_PER_GB;
  const shown = [gigabytes, Math.ceil(gigabytes / GIGABYTES), dollars].map((value) =>
    value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 }),
  );
  return shown.join(", ");
}

/**
 * Reduces the times to a few values with the same mean and a like distribution, so that every run of that many calls
 * keeps a home busy for the same time.
 */
function evenly(times: number[]): number[] {
  const sorted = times.toSorted((a, b) => a - b);
  const mean = (part: number[]) => part.reduce((sum, ms) => sum + ms, 0) / part.length;
  const edge = (place: number) => Math.round((place * sorted.length) / VALUES);
  const values = Array.from({ length: VALUES }, (_, place) => mean(sorted.slice(edge(place), edge(place + 1))));
  // Steps of seven mix the sorted values and visit each of them once.
  return values.map((_, place) => values[(place * 7) % VALUES] ?? 0);
}

/** Runs the production bundle with homes that are slow queues. Each caller always has one request in flight. */
async function serveSlowed(bundle: ProductionBundle, serviceMs: number[]): Promise<Served[]> {
  const homes = Array.from({ length: MOST_HOMES - 1 }, (_, place) => `home-${place + 2}`);
  const worker = await observedWorker(bundle, { homes, vars: { SERVICE_MS: serviceMs } });
  const served: Served[] = [];
  for (const count of HOMES) {
    const began = performance.now();
    const from = began + WARMING_MS;
    const until = from + MEASURED_MS;
    const took: number[] = [];
    const call = async (siteId: number) => {
      while (performance.now() < until) {
        const since = performance.now();
        const fields = createFields({ sbs: crypto.randomUUID(), appid: appidOf(siteId) });
        await worker.call("create_gd", signed(fields), { queued: true });
        const now = performance.now();
        if (now >= from && now < until) took.push(now - since);
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, (_, place) => call((place % count) + 1)));
    served.push({ acceptedPerSecond: (took.length / MEASURED_MS) * 1000, took });
  }
  await worker.running.close();
  return served;
}

function modelServed(batches: number[], homes: number, perSecond: number): Served {
  const random = seededRandom();
  const free = Array.from({ length: homes }, () => 0);
  const took: number[] = [];
  const [from, until] = [MODELLED_SECONDS * 1000, MODELLED_SECONDS * 2000];
  for (let now = 0; now < until; now += (-Math.log(1 - random()) / perSecond) * 1000) {
    const home = Math.floor(random() * homes);
    const start = Math.max(now, free[home] ?? 0);
    if (start - now > PATIENCE_MS) continue;
    const end = start + (batches[Math.floor(random() * batches.length)] ?? 0);
    free[home] = end;
    if (end >= from && end < until) took.push(end - now + TRIP_MS);
  }
  return { acceptedPerSecond: took.length / MODELLED_SECONDS, took };
}
