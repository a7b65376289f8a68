import { createBatchText } from "./batch-text.ts";
import { APP, createFields, signed } from "./bench-app.ts";
import { load, postBytes } from "./keep-alive-load.ts";
import type { Measurement } from "./measurement.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { benchModule, cpuMs, insertApp, issueApp, type RunningWorker, startWorker } from "./start-worker.ts";
import { median } from "./statistics.ts";

const MOST_ROUNDS = 30;
const LEAST_ROUNDS = 6;
/** No further round begins after this. */
const ENOUGH_MS = 50_000;
/** Short rounds, so that what else the machine does meets all sides of a round. */
const PER_ROUND = 150;
const CONNECTIONS = 8;

const SIDES = ["production", "floor"] as const;
type Side = (typeof SIDES)[number];

interface Round {
  perSecond: number;
  /** Milliseconds of workerd's CPU per request. */
  cpu: number;
}

/**
 * create_gd as fast as this machine does it, beside a floor Worker: same KV calls, same SQL, nothing else. Each side has a workerd
 * and a database of its own; they take turns, and what counts is the median of the rounds' ratios. Neither side has rate limits
 * bound: the local simulation of one costs more than the request does, the real one is a local counter.
 */
export async function measureThroughput(bundle: ProductionBundle): Promise<Measurement> {
  const workers = {
    production: await startWorker(bundle, [{ name: "index.js", code: bundle.code }]),
    floor: await startWorker(bundle, [benchModule("floor-worker.ts")], { BATCH: createBatchText(), APP }),
  };
  await issueApp(workers.production.url);
  await insertApp(workers.floor.db);
  for (const side of SIDES) for (let i = 0; i < 3; i++) await round(workers[side]);

  const rounds: Record<Side, Round>[] = [];
  const since = performance.now();
  while (rounds.length < MOST_ROUNDS && (rounds.length < LEAST_ROUNDS || performance.now() - since < ENOUGH_MS)) {
    const done: Partial<Record<Side, Round>> = {};
    // Who goes first changes, so that neither always follows the other.
    for (const side of rounds.length % 2 === 0 ? SIDES : SIDES.toReversed()) done[side] = await round(workers[side]);
    rounds.push(done as Record<Side, Round>);
  }
  await sameWork(Object.values(workers));
  await Promise.all(Object.values(workers).map((worker) => worker.close()));

  const perSecond = (side: Side) => Math.round(median(rounds.map((each) => each[side].perSecond)));
  const cpu = (side: Side) => rounds.reduce((sum, each) => sum + each[side].cpu, 0) / rounds.length;
  const ratio = median(rounds.map((each) => each.production.perSecond / each.floor.perSecond));
  const cpuRatio = cpu("production") / cpu("floor");
  return {
    title: "Throughput",
    tables: [
      {
        head: ["side", "requests/s", "workerd CPU, ms a request"],
        rows: [
          ...SIDES.map((side) => [side, perSecond(side), decimals(cpu(side))]),
          ["production ÷ floor", decimals(ratio), decimals(cpuRatio)],
        ],
      },
    ],
    goals: [
      {
        what: "Throughput beside a hand-written floor Worker",
        goal: "≥ 0.90",
        result: `${decimals(ratio)}, CPU × ${decimals(cpuRatio)}`,
        met: ratio >= 0.9,
        enforced: false,
      },
    ],
    notes: [
      `${rounds.length} rounds of ${PER_ROUND} requests a side in turns, over ${CONNECTIONS} connections; the ratio is the median of the rounds'. workerd's CPU holds the simulation of D1 and KV on both sides.`,
    ],
  };
}

let customers = 0;

async function round(side: RunningWorker): Promise<Round> {
  // Every other request is of a customer known from the one before.
  const requests = Array.from({ length: PER_ROUND }, () => {
    const { body, signature } = signed(createFields({ sbs: `customer_${customers++ >> 1}` }));
    return postBytes("/openapi/chat/create_gd", body, { "x-chat-signature": signature });
  });
  const cpuBefore = cpuMs(side.pid);
  const ms = await load(side.url, requests, CONNECTIONS);
  return { perSecond: (PER_ROUND / ms) * 1000, cpu: (cpuMs(side.pid) - cpuBefore) / PER_ROUND };
}

/** A floor that wrote less would be no floor. */
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
