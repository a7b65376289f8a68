import { createFields, signed } from "./bench-app.ts";
import { load, postBytes } from "./keep-alive-load.ts";
import type { Measurement } from "./measurement.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { startSide } from "./sides.ts";
import { benchModule, cpuMs, type RunningWorker, startWorker } from "./start-worker.ts";
import { median } from "./statistics.ts";

const PER_ROUND = 400;
const WARMING_ROUNDS = 4;
const ROUNDS = 15;
const CONNECTIONS = 8;

/** Milliseconds of workerd's CPU per create_gd, without D1 and KV. */
interface OwnCpu {
  empty: number;
  floor: number;
  careful: number;
  production: number;
}

const WORKERS = ["empty", "floor", "careful", "production"] as const;

let measured: Promise<OwnCpu> | undefined;

/** Measured once per run, because several parts need it. */
export function ownCpu(bundle: ProductionBundle): Promise<OwnCpu> {
  measured ??= measure(bundle);
  return measured;
}

/** The CPU of the Worker itself for a create_gd, beside the floor, the careful peer and an empty Worker. */
export async function measureCpu(bundle: ProductionBundle): Promise<Measurement> {
  const cpu = await ownCpu(bundle);
  const own = (name: keyof OwnCpu) => cpu[name] - cpu.empty;
  const row = (title: string, name: keyof OwnCpu) => [
    title,
    microseconds(cpu[name]),
    microseconds(own(name)),
    (own(name) / own("floor")).toFixed(2),
  ];
  return {
    title: "CPU",
    tables: [
      {
        head: ["side", "CPU a request, µs", "above an empty Worker, µs", "÷ floor"],
        rows: [
          ["empty Worker (HTTP alone)", microseconds(cpu.empty), 0, ""],
          row("floor", "floor"),
          row("careful peer", "careful"),
          row("production", "production"),
        ],
      },
    ],
    goals: [
      {
        what: "CPU of a create, HTTP included, D1 and KV not",
        goal: "≤ 1 ms",
        result: `${cpu.production.toFixed(2)} ms, ${(cpu.production / cpu.careful).toFixed(2)} × the careful peer's`,
        met: cpu.production <= 1,
        enforced: false,
      },
    ],
    notes: [
      `workerd's CPU, all threads, median of ${ROUNDS} rounds of ${PER_ROUND} requests in turns; D1 and KV answer from memory.`,
    ],
  };
}

async function measure(bundle: ProductionBundle): Promise<OwnCpu> {
  const front = [benchModule("stubbed-worker.ts"), benchModule("counter-limit.ts")];
  const workers: Record<(typeof WORKERS)[number], RunningWorker> = {
    empty: await startWorker(bundle, [benchModule("empty-worker.ts")]),
    floor: await startSide(bundle, "floor", front),
    careful: await startSide(bundle, "careful", front),
    production: await startSide(bundle, "production", front),
  };
  for (const name of WORKERS) {
    if (name === "empty") continue;
    // One real request fills the isolate's caches and records D1's answers for the stub.
    await load(workers[name].url, [request()], 1);
    await fetch(`${workers[name].url}/bench/stub`);
  }
  const took = Object.fromEntries(WORKERS.map((name) => [name, [] as number[]])) as Record<keyof OwnCpu, number[]>;
  for (let i = 0; i < WARMING_ROUNDS + ROUNDS; i++) {
    // The order is reversed every other round, so that no side always runs after the same other side.
    for (const name of i % 2 === 0 ? WORKERS : WORKERS.toReversed()) {
      const ms = await round(workers[name]);
      if (i >= WARMING_ROUNDS) took[name].push(ms);
    }
  }
  await Promise.all(WORKERS.map((name) => workers[name].close()));
  return Object.fromEntries(WORKERS.map((name) => [name, median(took[name])])) as unknown as OwnCpu;
}

async function round({ url, pid }: RunningWorker): Promise<number> {
  const requests = Array.from({ length: PER_ROUND }, request);
  const before = cpuMs(pid);
  await load(url, requests, CONNECTIONS);
  return (cpuMs(pid) - before) / PER_ROUND;
}

function request(): Buffer {
  const { body, signature } = signed(createFields({ sbs: crypto.randomUUID() }));
  return postBytes("/openapi/chat/create_gd", body, { "x-chat-signature": signature });
}

const microseconds = (ms: number) => Math.round(ms * 1000);
