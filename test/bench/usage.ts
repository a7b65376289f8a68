import { createFields, signed } from "./bench-app.ts";
import type { Goal, Measurement } from "./measurement.ts";
import type { Call } from "./observed-bindings.ts";
import { observedWorker } from "./observed-production.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { ADMIN_TOKEN } from "./start-worker.ts";
import { median, percentile } from "./statistics.ts";

/** What counting costs: the cron beside that of the last release, the signed path beside the last release's, and a scrape. */

const NONCES = 20_000;
const ROUNDS = 4;
const CREATES = 300;
const HOMES = 1_000;
const SCRAPES = 30;
const SIDES = ["last release", "this"] as const;
type Side = (typeof SIDES)[number];

type Worker = Awaited<ReturnType<typeof observedWorker>>;

const ordersOf = (side: Side) => (side === "this" ? {} : { module: "./last-release.js" });

export async function measureUsage(bundle: ProductionBundle): Promise<Measurement> {
  const worker = await observedWorker(bundle);
  try {
    const pruned: Record<Side, Call[][]> = { "last release": [], this: [] };
    const created: Record<Side, number[]> = { "last release": [], this: [] };
    const written: Record<Side, number> = { "last release": 0, this: 0 };
    for (const side of SIDES) await create(worker, side, 50);
    for (let round = 0; round < ROUNDS; round++) {
      for (const side of SIDES) {
        created[side].push(...(await create(worker, side, CREATES)));
        written[side] = await rowsOfCreate(worker, side);
        await fill(worker);
        // The sessions above stay; their nonces go too.
        pruned[side].push(await worker.scheduled(Date.now() + 3_600_000, undefined, ordersOf(side)));
      }
    }
    const scrapes = await scrape(worker);
    return report({ pruned, created, written, scrapes });
  } finally {
    await worker.running.close();
  }
}

async function create(worker: Worker, side: Side, count: number): Promise<number[]> {
  const took: number[] = [];
  for (let i = 0; i < count; i++) {
    const request = signed(createFields({ sbs: crypto.randomUUID() }));
    const began = performance.now();
    await worker.call("create_gd", request, ordersOf(side));
    took.push(performance.now() - began);
  }
  return took;
}

async function rowsOfCreate(worker: Worker, side: Side): Promise<number> {
  const request = signed(createFields({ sbs: crypto.randomUUID() }));
  await worker.call("create_gd", request, { ...ordersOf(side), record: true });
  return sum((await worker.calls()).map(({ rowsWritten }) => rowsWritten));
}

/** Stores expired nonces of an hour, with random ranstr, as accepted and refused calls leave them. */
async function fill({ running: { db } }: Worker): Promise<void> {
  await db
    .prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       INSERT INTO nonces (site_id, appid, ranstr, owner, attempt, expires_at, outcome, session_id, operation, secret)
       SELECT 1, (SELECT appid FROM apps LIMIT 1), hex(randomblob(8)), hex(randomblob(16)), 1, ? - i % 3600,
         iif(i % 10, 'accepted', 'agent_unknown'), 1, iif(i % 3, 'create_session', 'add_agents'), 'secret' FROM n`,
    )
    .bind(NONCES, Math.floor(Date.now() / 1_000))
    .run();
}

/** Scrapes a directory that knows many homes. */
async function scrape({ running: { db, url } }: Worker): Promise<number[]> {
  await db
    .prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       INSERT INTO home_metrics SELECT 'h' || i, at, copy, counters, gauges FROM n CROSS JOIN home_metrics WHERE home = 'main'`,
    )
    .bind(HOMES)
    .run();
  const took: number[] = [];
  for (let i = 0; i < SCRAPES; i++) {
    const began = performance.now();
    const answer = await fetch(`${url}/admin/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
    const text = await answer.text();
    if (!answer.ok || !text.endsWith("# EOF\n")) throw new Error(`the scrape answered ${answer.status}`);
    took.push(performance.now() - began);
  }
  return took;
}

function report({
  pruned,
  created,
  written,
  scrapes,
}: {
  pruned: Record<Side, Call[][]>;
  created: Record<Side, number[]>;
  written: Record<Side, number>;
  scrapes: number[];
}): Measurement {
  const perNonce = (side: Side, column: "rowsRead" | "rowsWritten") =>
    sum(pruned[side].flat().map((call) => call[column])) / (ROUNDS * (NONCES + CREATES));
  const longest = (side: Side) => Math.max(...pruned[side].flat().map(({ ms }) => ms));
  const ratio = percentile(created.this, 0.5) / percentile(created["last release"], 0.5);
  const more = perNonce("this", "rowsWritten") - perNonce("last release", "rowsWritten");
  const goals: Goal[] = [
    {
      what: "Rows that a create writes, beside the last release",
      goal: `at most ${written["last release"]}`,
      result: String(written.this),
      met: written.this <= written["last release"],
      enforced: true,
    },
    {
      what: "A create, p50, beside the last release",
      goal: "≤ 1.05 ×",
      result: `${ratio.toFixed(2)} ×`,
      met: ratio <= 1.05,
      enforced: false,
    },
    {
      what: `Rows that counting writes for each of ${NONCES} calls, when they are pruned`,
      goal: "at most 0.1",
      result: more.toFixed(3),
      met: more <= 0.1,
      enforced: true,
    },
    {
      what: `A scrape of ${HOMES} homes, p99`,
      goal: "at most 1000 ms",
      result: `${Math.round(percentile(scrapes, 0.99))} ms`,
      met: percentile(scrapes, 0.99) <= 1_000,
      enforced: false,
    },
  ];
  return {
    title: "Usage and metrics",
    tables: [
      {
        head: ["a run of the cron", "rows read a call", "rows written a call", "ms in D1 a run", "longest call, ms"],
        rows: SIDES.map((side) => [
          side,
          perNonce(side, "rowsRead").toFixed(2),
          perNonce(side, "rowsWritten").toFixed(3),
          Math.round(sum(pruned[side].flat().map(({ ms }) => ms)) / ROUNDS),
          Math.round(longest(side)),
        ]),
      },
      {
        head: ["a scrape", "p50, ms", "p99, ms"],
        rows: [[`${HOMES} homes`, median(scrapes).toFixed(1), percentile(scrapes, 0.99).toFixed(1)]],
      },
    ],
    goals,
    notes: [
      `The sides take turns in one workerd with one database: ${ROUNDS} rounds of ${CREATES} creates and one run each.`,
    ],
  };
}

const sum = (numbers: number[]): number => numbers.reduce((total, each) => total + each, 0);
