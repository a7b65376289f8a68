import { createFields, signed } from "./bench-app.ts";
import { load, postBytes } from "./keep-alive-load.ts";
import type { Measurement } from "./measurement.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { startSide } from "./sides.ts";
import { cpuMs, type RunningWorker } from "./start-worker.ts";
import { median, medianInterval } from "./statistics.ts";

/**
 * Starts of each side. Two workerds with the same code differ by a few percent for as long as they live, so each side
 * is started more than once.
 */
const STARTS = 2;
const ROUNDS_A_START = 30;
const LEAST_ROUNDS = 4;
/** No round of a start begins after this time. */
const ENOUGH_MS = 16_000;
/**
 * Requests of a round. Rounds are short, so that other load of the machine hits all sides of a round. The number is
 * even, because customers come in pairs.
 */
const PER_ROUND = 80;
/**
 * Rounds that are not counted. V8 recompiles a Worker's code while it runs, and takes longer for more code; the
 * measurement is about a long-lived isolate.
 */
const WARMING_ROUNDS = 20;
const CONNECTIONS = 8;

const COMPARED = ["production", "floor", "careful"] as const;
type Compared = (typeof COMPARED)[number];

interface Round {
  perSecond: number;
  /** Milliseconds of workerd's CPU per request. */
  cpu: number;
}

type Rounds = Record<Compared, Round>[];

/**
 * create_gd as fast as this machine can do it, beside the careful peer and a floor Worker with the same KV calls, the
 * same SQL and one log line. Each side has its own workerd and database. The sides take turns, and the result is the
 * median of the rounds' ratios.
 */
export async function measureThroughput(bundle: ProductionBundle): Promise<Measurement> {
  const rounds: Rounds = [];
  for (let start = 0; start < STARTS; start++) rounds.push(...(await roundsOfOneStart(bundle)));

  const perSecond = (side: Compared) => Math.round(median(rounds.map((each) => each[side].perSecond)));
  const cpu = (side: Compared) => median(rounds.map((each) => each[side].cpu));
  const ratiosTo = (side: Compared) => rounds.map((each) => each.production.perSecond / each[side].perSecond);
  const ratioTo = (side: Compared) => median(ratiosTo(side));
  const { low, high } = medianInterval(ratiosTo("floor"));
  const cpuRatioTo = (side: Compared) => median(rounds.map((each) => each.production.cpu / each[side].cpu));
  return {
    title: "Throughput",
    tables: [
      {
        head: ["side", "requests/s", "workerd CPU, ms a request", "production's requests/s ÷", "production's CPU ÷"],
        rows: COMPARED.map((side) => [
          side,
          perSecond(side),
          decimals(cpu(side)),
          decimals(ratioTo(side)),
          decimals(cpuRatioTo(side)),
        ]),
      },
    ],
    goals: [
      {
        what: "Throughput beside a hand-written floor Worker",
        goal: "≥ 0.95",
        result: `${decimals(ratioTo("floor"))} (95 %: ${decimals(low)} to ${decimals(high)})`,
        met: ratioTo("floor") >= 0.95,
        enforced: false,
      },
      {
        what: "CPU of a create beside that floor, D1 and KV included",
        goal: "≤ 1.08 ×",
        result: `${decimals(cpuRatioTo("floor"))} ×`,
        met: cpuRatioTo("floor") <= 1.08,
        enforced: false,
      },
    ],
    notes: [
      `${rounds.length} rounds in ${STARTS} starts, each of ${PER_ROUND} requests a side in turns, over ${CONNECTIONS} connections; a ratio is the median of the rounds'. workerd's CPU holds the simulation of D1 and KV on all sides; the Worker's own is under "CPU". Rate limits are bound: counters in the isolate. Each side writes its line to the log; whatever reads the log here needs the same two cores.`,
    ],
  };
}

async function roundsOfOneStart(bundle: ProductionBundle): Promise<Rounds> {
  const workers: Record<Compared, RunningWorker> = {
    production: await startSide(bundle, "production"),
    floor: await startSide(bundle, "floor"),
    careful: await startSide(bundle, "careful"),
  };
  const warm = async (side: Compared) => {
    for (let i = 0; i < WARMING_ROUNDS; i++) await round(workers[side]);
  };
  await Promise.all(COMPARED.map(warm));
  const rounds: Rounds = [];
  const since = performance.now();
  while (rounds.length < ROUNDS_A_START && (rounds.length < LEAST_ROUNDS || performance.now() - since < ENOUGH_MS)) {
    const done: Partial<Rounds[number]> = {};
    // The order is reversed every other round, so that no side always runs after the same other side.
    for (const side of rounds.length % 2 === 0 ? COMPARED : COMPARED.toReversed())
      done[side] = await round(workers[side]);
    rounds.push(done as Rounds[number]);
  }
  await sameWork(Object.values(workers));
  await Promise.all(Object.values(workers).map((worker) => worker.close()));
  return rounds;
}

let customers = 0;

async function round(side: RunningWorker): Promise<Round> {
  // Every other request has the customer of the request before.
  const requests = Array.from({ length: PER_ROUND }, () => {
    const { body, signature } = signed(createFields({ sbs: `customer_${customers++ >> 1}` }));
    return postBytes("/openapi/chat/create_gd", body, { "x-chat-signature": signature });
  });
  const cpuBefore = cpuMs(side.pid);
  const ms = await load(side.url, requests, CONNECTIONS);
  return { perSecond: (PER_ROUND / ms) * 1000, cpu: (cpuMs(side.pid) - cpuBefore) / PER_ROUND };
}

/** Proves that the floor writes the same rows as production. With fewer rows it would be no floor. */
async function sameWork(workers: RunningWorker[]): Promise<void> {
  const counts = await Promise.all(
    workers.map(async ({ db }) => {
      const count = (table: string) => `(SELECT count(*) FROM ${table}) AS ${table}`;
      const tables = ["sessions", "participants", "messages", "nonces", "customers"];
      return JSON.stringify(await db.prepare(`SELECT ${tables.map(count).join(", ")}`).first());
    }),
  );
  if (new Set(counts).size !== 1) throw new Error(`the sides did not write the same rows: ${counts.join(" and ")}`);
}

const decimals = (value: number) => (Number.isNaN(value) ? "unknown" : value.toFixed(2));
