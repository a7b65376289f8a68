import { setTimeout as sleep } from "node:timers/promises";
import { createFields, signed } from "./bench-app.ts";
import type { Goal, Measurement } from "./measurement.ts";
import type { Call } from "./observed-bindings.ts";
import { observedWorker } from "./observed-production.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { adminCall, cpuMs } from "./start-worker.ts";
import { median, percentile } from "./statistics.ts";

/** Sessions that are older than their site keeps them: docs/operating.md, "How long sessions are kept". */

const DAY_S = 86_400;
const KEPT_DAYS = 30;
/** The whole site: one session every ten seconds, so most of them are older than a month. */
const SESSIONS = 1_000_000;
const EVERY_S = 10;
/** A site that has always kept sessions as long as events: in five minutes as many go as come at 20 a second. */
const STEADY_SESSIONS = 100_000;
/** A site with many webhooks: each session has ten deliveries. */
const MANY_WEBHOOKS = 10;
const PER_SECOND = 20;
const CRON_S = 300;

const ROUNDS = 4;
const ALONE_MS = 6_000;
const RUNS_BESIDE = 2;
/** The promise of docs/scale.md. */
const BATCH_MS = 50;
const LEAST_GOING = PER_SECOND * CRON_S;
/**
 * The trip of the cron's calls. Without one, workerd works on them in one go: it looks for other requests only when it waits, which a Worker
 * and a D1 in one process never do.
 */
const TRIP_MS = 1;
/** With this in the environment, all old sessions go, and the whole is timed. Otherwise some hundred batches are. */
const IS_WHOLE = process.env.BENCH_WHOLE === "1";

type Worker = Awaited<ReturnType<typeof observedWorker>>;

/** The result of one run of the cron. */
interface Ran {
  ms: number;
  /** What workerd used meanwhile, in milliseconds. */
  cpuMs: number;
  gone: number;
  statements: number;
  rowsRead: number;
  rowsWritten: number;
  /** How long each batch that removed sessions took, in milliseconds. */
  batches: number[];
  /** The longest of all other calls to D1. */
  longestOther: number;
}

/** What it takes that old sessions go, and what other calls notice of it. */
export async function measureRetention(bundle: ProductionBundle): Promise<Measurement> {
  // Events are kept longer than sessions, so that each session has its event when it goes.
  const withEvents = { everySeconds: EVERY_S, eventDays: 365, age: 0 };
  const large = await startSite(bundle, { sessions: SESSIONS, ...withEvents, webhooks: 1 });
  const [alone, beside] = [[] as Ran[], [] as Ran[]];
  const creates = { none: [] as number[], pruning: [] as number[] };
  let whole = "Only these batches were timed. With BENCH_WHOLE=1 in the environment all old sessions go.";
  try {
    await creating(large, sleep(1_000));
    for (let round = 0; round < ROUNDS; round++) {
      creates.none.push(...(await creating(large, sleep(ALONE_MS))));
      alone.push(await run(large));
      const runs = (async () => {
        for (let i = 0; i < RUNS_BESIDE; i++) beside.push(await run(large));
      })();
      creates.pruning.push(...(await creating(large, runs)));
    }
    if (IS_WHOLE) whole = await runAll(large);
  } finally {
    await large.running.close();
  }
  const age = KEPT_DAYS * DAY_S + CRON_S;
  const steady = await startSite(bundle, {
    sessions: STEADY_SESSIONS,
    everySeconds: 1 / PER_SECOND,
    eventDays: KEPT_DAYS,
    age,
    webhooks: 1,
  });
  const atRest = await runOnce(steady);
  const older = { sessions: STEADY_SESSIONS, ...withEvents, age: 2 * KEPT_DAYS * DAY_S, webhooks: MANY_WEBHOOKS };
  const manyWebhooks = await runOnce(await startSite(bundle, older));
  return report({ alone, beside, creates, atRest, manyWebhooks, whole });
}

async function runOnce(worker: Worker): Promise<Ran> {
  try {
    return await run(worker);
  } finally {
    await worker.running.close();
  }
}

function report(of: {
  alone: Ran[];
  beside: Ran[];
  creates: Record<"none" | "pruning", number[]>;
  atRest: Ran;
  manyWebhooks: Ran;
  whole: string;
}): Measurement {
  const { alone, beside, creates, atRest, manyWebhooks, whole } = of;
  const batches = alone.flatMap((ran) => ran.batches);
  const besideBatches = beside.flatMap((ran) => ran.batches);
  const each = (runs: Ran[], column: "rowsRead" | "rowsWritten" | "statements") =>
    sum(runs.map((ran) => ran[column])) / sum(runs.map(({ gone }) => gone));
  const least = Math.min(...alone.map(({ gone }) => gone));
  const ofSites = [
    ["with one webhook", batches],
    [`with ${MANY_WEBHOOKS} webhooks`, manyWebhooks.batches],
  ] as const;
  const ratio = (share: number) => percentile(creates.pruning, share) / percentile(creates.none, share);
  const counted: [what: string, goal: number, result: number][] = [
    ["Rows read for each session that goes, on a site with a million", 60, each(alone, "rowsRead")],
    ["Rows written for each of them", 6, each(alone, "rowsWritten")],
    ["Rows read for each session that goes where events are kept as long", 60, each([atRest], "rowsRead")],
  ];
  const goals: Goal[] = [
    ...counted.map(([what, goal, result]) => ({
      what,
      goal: `at most ${goal}`,
      result: result.toFixed(1),
      met: result <= goal,
      enforced: true,
    })),
    {
      what: `Sessions that go with one run of the cron, every ${CRON_S / 60} minutes`,
      goal: `at least ${LEAST_GOING}: ${PER_SECOND} a second`,
      result: `${least}: ${Math.floor(least / CRON_S)} a second`,
      met: least >= LEAST_GOING && atRest.gone >= LEAST_GOING,
      enforced: true,
    },
    ...ofSites.map(([site, took]) => ({
      what: `A batch that removes sessions of a site ${site}, p99, with nothing beside it`,
      goal: `at most ${BATCH_MS} ms`,
      result: `${percentile(took, 0.99)} ms`,
      met: percentile(took, 0.99) <= BATCH_MS,
      enforced: false,
    })),
    {
      what: `${PER_SECOND} creates a second beside the cron, which runs without a pause, compared with nothing beside them`,
      goal: "reported",
      result: `p50 ${ratio(0.5).toFixed(2)} ×, p99 ${ratio(0.99).toFixed(2)} ×`,
      met: true,
      enforced: false,
    },
  ];
  const times = (took: number[]) => [median(took), percentile(took, 0.99), Math.max(...took)].map(Math.round);
  return {
    title: "Retention",
    tables: [
      {
        head: ["batches that remove sessions", "batches", "sessions each", "p50, ms", "p99, ms", "longest, ms"],
        rows: [
          ["nothing beside them", batches.length, perBatch(alone), ...times(batches)],
          [
            `${PER_SECOND} creates a second beside them`,
            besideBatches.length,
            perBatch(beside),
            ...times(besideBatches),
          ],
          [
            `a site with ${MANY_WEBHOOKS} webhooks, nothing beside them`,
            manyWebhooks.batches.length,
            perBatch([manyWebhooks]),
            ...times(manyWebhooks.batches),
          ],
        ],
      },
      {
        head: [`${PER_SECOND} creates a second`, "creates", "p50, ms", "p99, ms", "longest, ms"],
        rows: [
          ["nothing beside them", creates.none.length, ...times(creates.none)],
          ["the cron beside them, without a pause", creates.pruning.length, ...times(creates.pruning)],
        ],
      },
      {
        head: [
          "the cron, nothing beside it",
          "runs",
          "sessions a run",
          "ms a run",
          "rows read a session",
          "rows written a session",
          "statements a session",
          "longest other call, ms",
          "CPU a batch, ms",
        ],
        rows: [
          ["a site with a million sessions", alone],
          ["sessions and events kept as long, at rest", [atRest]],
          [`a site with ${MANY_WEBHOOKS} webhooks`, [manyWebhooks]],
        ].map(([name, runs]) => [name as string, ...columnsOf(runs as Ran[])]),
      },
    ],
    goals,
    notes: [
      "A session has a customer, a message, a participant, an event and a delivery for each webhook. Half of the customers have only this session.",
      "CPU a batch is what workerd used in a run, Worker and D1, searches included, by the number of batches: a busy machine makes a batch longer than that.",
      whole,
    ],
  };

  function columnsOf(runs: Ran[]): (string | number)[] {
    const mean = (column: "gone" | "ms") => Math.round(sum(runs.map((ran) => ran[column])) / runs.length);
    return [
      runs.length,
      mean("gone"),
      mean("ms"),
      each(runs, "rowsRead").toFixed(1),
      each(runs, "rowsWritten").toFixed(2),
      each(runs, "statements").toFixed(3),
      Math.max(...runs.map(({ longestOther }) => longestOther)),
      (sum(runs.map((ran) => ran.cpuMs)) / runs.flatMap((ran) => ran.batches).length).toFixed(1),
    ];
  }
}

const sum = (numbers: number[]): number => numbers.reduce((total, each) => total + each, 0);

const perBatch = (runs: Ran[]): number =>
  Math.round(sum(runs.map(({ gone }) => gone)) / runs.flatMap((ran) => ran.batches).length);

const removesSessions = ({ statements }: Call) =>
  statements.some(({ sql }) => sql.startsWith('DELETE FROM "sessions"'));

/** Runs the cron once. Calls of requests beside it are counted too, so rows and statements are true only without them. */
async function run(worker: Worker): Promise<Ran> {
  const before = await firstId(worker);
  const [began, used] = [performance.now(), cpuMs(worker.running.pid)];
  const calls = await worker.scheduled(Date.now(), undefined, { d1: TRIP_MS });
  const [ms, cpu] = [performance.now() - began, cpuMs(worker.running.pid) - used];
  const [batches, others] = [calls.filter(removesSessions), calls.filter((call) => !removesSessions(call))];
  return {
    ms,
    cpuMs: cpu,
    gone: (await firstId(worker)) - before,
    statements: sum(calls.map(({ statements }) => statements.length)),
    rowsRead: sum(calls.map(({ rowsRead }) => rowsRead)),
    rowsWritten: sum(calls.map(({ rowsWritten }) => rowsWritten)),
    batches: batches.map((call) => call.ms),
    longestOther: Math.max(...others.map((call) => call.ms)),
  };
}

/** The id of the oldest session: the sessions before it are gone. */
async function firstId({ running }: Worker): Promise<number> {
  return (await running.db.prepare("SELECT min(id) AS id FROM sessions WHERE site_id = 1").first<number>("id")) ?? 0;
}

/** Runs the cron until no session goes any more. */
async function runAll(worker: Worker): Promise<string> {
  const runs: Ran[] = [];
  do runs.push(await run(worker));
  while (runs.at(-1)?.gone !== 0);
  const batches = runs.flatMap((ran) => ran.batches);
  const [gone, seconds] = [sum(runs.map((ran) => ran.gone)), sum(runs.map(({ ms }) => ms)) / 1_000];
  return `The other ${gone} old sessions went in ${runs.length - 1} runs and ${batches.length} batches, ${seconds.toFixed(0)} s in all: a batch took ${median(batches)} ms (p50), ${percentile(batches, 0.99)} ms (p99), ${Math.max(...batches)} ms (longest). ${(sum(runs.map(({ rowsRead }) => rowsRead)) / gone).toFixed(1)} rows were read for each session, ${(sum(runs.map(({ rowsWritten }) => rowsWritten)) / gone).toFixed(2)} written.`;
}

/** Creates sessions at an even pace until something has ended. @returns how long each took, in milliseconds */
async function creating(worker: Worker, until: Promise<unknown>): Promise<number[]> {
  let isOver = false;
  const end = until.finally(() => {
    isOver = true;
  });
  const took: Promise<number>[] = [];
  const create = async () => {
    const began = performance.now();
    await worker.call("create_gd", signed(createFields({ sbs: crypto.randomUUID() })));
    return performance.now() - began;
  };
  for (let at = performance.now(); !isOver; at += 1_000 / PER_SECOND) {
    await sleep(Math.max(0, at - performance.now()));
    took.push(create());
  }
  await end;
  return Promise.all(took);
}

/**
 * Starts a Worker with a full site.
 *
 * @param site `age`: how old the oldest session is, in seconds; 0 when the newest is of now
 */
async function startSite(
  bundle: ProductionBundle,
  site: { sessions: number; everySeconds: number; eventDays: number; age: number; webhooks: number },
): Promise<Worker> {
  const vars = { WEBHOOK_LOOPBACK: "allow", EVENT_RETENTION_DAYS: String(site.eventDays) };
  const worker = await observedWorker(bundle, { vars });
  const { db, url } = worker.running;
  for (let i = 0; i < site.webhooks; i++)
    await adminCall(url, "POST", "1/webhooks", { url: `http://127.0.0.1:9/${i}` });
  // They have got their events, and get no new ones: their attempts would be measured too.
  await db.prepare("UPDATE webhooks SET status = 'disabled'").run();
  const now = Math.floor(Date.now() / 1_000);
  const first = now - (site.age === 0 ? site.sessions * site.everySeconds : site.age);
  await fill(db, site.sessions, `CAST(${first} + i * ${site.everySeconds} AS INTEGER)`);
  await adminCall(url, "PATCH", "1", { retention_days: KEPT_DAYS });
  return worker;
}

/**
 * Fills site 1. Half of the sessions are of customers of their own, the others of customers who come again and again. Their ids are
 * scattered, so pages fill as in real use.
 *
 * @param at when session `i` was created
 */
async function fill(db: D1Database, size: number, at: string): Promise<void> {
  const whose = `printf('customer_%08x', (iif(i % 2, i, i % ${size / 20}) * 2654435761) & 4294967295)`;
  const step = 20_000;
  for (let from = 1; from <= size; from += step) {
    const n = `WITH RECURSIVE n(i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i < ${from + step - 1})`;
    await db.batch(
      [
        `INSERT OR IGNORE INTO customers SELECT 1, ${whose}, 'Name', '::1', ${at}, ${at} FROM n`,
        `INSERT INTO sessions (site_id, id, appid, kind, customer_external_id, responsible_agent_id, status, auto_title, created_at)
         SELECT 1, i, 'app', 'ticket', ${whose}, 1, 'waiting', 'Title', ${at} FROM n`,
        `INSERT INTO messages SELECT 1, i, 1, 'visitor', NULL, 'Where is my order?', ${at} FROM n`,
        `INSERT INTO participants SELECT 1, i, 2, 1, ${at} FROM n`,
        `INSERT INTO events SELECT 1, i, 'evt_' || i, 'session.created', i, ${at},
         json_object('seq', i, 'participants', json('[{}]'), 'text', 'Where is my order?') FROM n`,
        `INSERT INTO deliveries (site_id, webhook_id, seq, status, attempts, created_at)
         SELECT 1, webhooks.id, i, 'delivered', 1, ${at} FROM n CROSS JOIN webhooks`,
      ].map((insert) => db.prepare(`${n} ${insert}`)),
    );
  }
}
