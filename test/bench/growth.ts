import { createHmac } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { bundle as bundleForSimulation } from "../simulation/bundle.ts";
import { Chance } from "../simulation/machine/chance.ts";
import { after, EPOCH, ProgramImage } from "../simulation/machine/program.ts";
import { Scheduler } from "../simulation/machine/scheduler.ts";
import { SimulatedD1 } from "../simulation/platform/d1.ts";
import { Database } from "../simulation/platform/database.ts";
import { KvTruth, SimulatedKv } from "../simulation/platform/kv.ts";
import { QueueTruth, SimulatedQueue } from "../simulation/platform/queue.ts";
import { ADMIN_TOKEN, varsOf } from "../simulation/world/cloud/settings.ts";
import type { Measurement } from "./measurement.ts";
import { ROOT } from "./production-bundle.ts";

/** How large a home is that keeps sessions for a month, over a year: docs/scale.md, "Gigabytes". */

const HOUR_MS = 3_600_000;
const HOURS_A_MONTH = 30 * 24;
const MONTHS = 12;
/** Sessions are kept for this many days, and events too. The last of a month's sessions go at the end of the next month. */
const KEPT_DAYS = 30;
/** From this month on, a home at rest has its size. */
const AT_REST = 2;
const SESSION_EVERY_HOURS = 2;
/** Customers who come again and again make every other session. */
const REGULARS = 100;
/** How many turns of the event loop work takes that needs no timer. */
const TURNS = 20;

const TABLES = [
  "customers",
  "sessions",
  "messages",
  "participants",
  "events",
  "deliveries",
  "nonces",
  "idempotency_keys",
  "refusals",
  "audit_log",
  "jobs",
];

/** A home at the end of a month. */
interface Month {
  rows: number[];
  usedPages: number;
  filePages: number;
}

/** A simulated year of one site: the Worker on real SQLite, with a clock of its own, a cron each hour, and a receiver that answers. */
export async function measureGrowth(): Promise<Measurement> {
  const home = await startHome();
  const months: Month[] = [];
  for (let month = 1; month <= MONTHS; month++) {
    for (let hour = 0; hour < HOURS_A_MONTH; hour++) await home.passHour();
    months.push(home.look());
  }
  const atRest = months.slice(AT_REST - 1);
  const growth = (of: (month: Month) => number) => Math.max(...atRest.map(of)) / of(atRest[0] as Month);
  const [used, file] = [growth(({ usedPages }) => usedPages), growth(({ filePages }) => filePages)];
  const sessions = growth(({ rows }) => rows[TABLES.indexOf("sessions")] ?? 0);
  const goal = (what: string, grown: number) => ({
    what: `${what}, the largest month beside month ${AT_REST}`,
    goal: "at most 1.05 ×",
    result: `${grown.toFixed(2)} ×`,
    met: grown <= 1.05,
    enforced: true,
  });
  return {
    title: "Growth",
    tables: [
      {
        head: ["end of month", ...TABLES, "pages in use", "pages of the file"],
        rows: months.map(({ rows, usedPages, filePages }, at) => [at + 1, ...rows, usedPages, filePages]),
      },
    ],
    goals: [
      goal("Sessions of a home that keeps them for a month", sessions),
      goal("Its pages in use", used),
      goal("The pages of its file", file),
    ],
    notes: [
      `A session every ${SESSION_EVERY_HOURS} hours with an agent who joins it later, and two events for a webhook; ${HOURS_A_MONTH * MONTHS} hours of simulated time, in each a run of the cron. A page has 4,096 bytes. Rows of the audit log stay.`,
    ],
  };
}

function migrated(): Database {
  const [database, folder] = [new Database(), join(ROOT, "migrations")];
  const files = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  for (const file of files.sort()) database.execute(readFileSync(join(folder, file), "utf8"));
  return database;
}

async function startHome(): Promise<{ passHour: () => Promise<void>; look: () => Month }> {
  const [scheduler, chance, database] = [new Scheduler(), new Chance(1), migrated()];
  const now = () => Math.floor(EPOCH + scheduler.now);
  const image = new ProgramImage(await bundleForSimulation());
  const receive = async () => new Response(null, { status: 204 });
  const { createWorker } = image.startWorker(scheduler, { now }, chance.fork(), receive);
  const runtime = {
    now,
    elapsed: () => scheduler.now,
    random: () => chance.number(),
    after: (milliseconds: number, callback: () => void) => after(scheduler, milliseconds, callback),
    bytes: (length: number) => chance.bytes(length),
    uuid: () => chance.uuid(),
  };
  const worker = createWorker(runtime, { request: () => {}, job: () => {}, warn: () => {} });
  const left = new Set<Promise<unknown>>();
  const context = {
    waitUntil(work: Promise<unknown>) {
      left.add(work);
      void work.finally(() => left.delete(work)).catch(() => {});
    },
    passThroughOnException() {},
  };
  const queue = new QueueTruth(
    { name: "events", maxBatchSize: 100, maxRetries: 3 },
    {
      now,
      after: (milliseconds, run) => scheduler.after(milliseconds, run),
      newId: () => chance.uuid(),
      concurrency: 1,
      async consume(batch) {
        await worker.queue(batch as never, env as never, context as never);
        return true;
      },
    },
  );
  const vars = varsOf({
    toleranceSeconds: 300,
    replayLookMs: 1,
    errorStatus: "by-cause",
    closedHomes: [],
    eventRetentionDays: KEPT_DAYS,
    journalDays: 30,
    masterKey: Buffer.from(chance.bytes(32)).toString("base64"),
  });
  const env = {
    ...vars,
    DB: new SimulatedD1(database),
    NONCES: new SimulatedKv(new KvTruth(), now),
    CREDENTIALS: new SimulatedKv(new KvTruth(), now),
    EVENTS: new SimulatedQueue(queue),
  };

  /** Waits for work. Virtual time passes only when the work waits for it. */
  async function during<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const end = () => {
      isOver = true;
    };
    work.then(end, end);
    for (let turns = 1; !isOver; turns++) {
      await turn();
      if (!isOver && turns % TURNS === 0) await scheduler.step();
    }
    return work;
  }

  async function send(path: string, method: string, body: unknown, headers: (text: string) => Record<string, string>) {
    const text = JSON.stringify(body);
    const init = { method, headers: { "content-type": "application/json", ...headers(text) }, body: text };
    const request = new Request(`https://worker.example${path}`, init);
    return during(
      (async () => {
        const answer = await worker.fetch(request, env as never, context as never);
        const told = (await answer.json()) as Record<string, unknown>;
        if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(told)}`);
        return told;
      })(),
    );
  }

  const admin = (method: string, path: string, body: unknown) =>
    send(path, method, body, () => ({ authorization: `Bearer ${ADMIN_TOKEN}` }));
  const { id } = await admin("POST", "/admin/sites", { name: "Site", home: "main" });
  for (const agent of [1, 2, 3]) await admin("POST", `/admin/sites/${id}/agents`, { id: agent, name: "Agent" });
  const { appid, secret } = await admin("POST", `/admin/sites/${id}/apps`, { name: "App" });
  await admin("POST", `/admin/sites/${id}/webhooks`, { url: "https://hooks.example.com/" });
  await admin("PATCH", `/admin/sites/${id}`, { retention_days: KEPT_DAYS });

  let calls = 0;
  async function signed(operation: string, fields: object): Promise<Record<string, unknown>> {
    const body = { appid, timestamp: Math.floor(now() / 1000), ranstr: chance.uuid(), ...fields };
    const { data } = await send(`/openapi/chat/${operation}`, "POST", body, (text) => ({
      "x-chat-signature": createHmac("sha256", String(secret)).update(text).digest("hex"),
      "idempotency-key": `call-${++calls}`,
    }));
    return data as Record<string, unknown>;
  }

  let hours = 0;
  /** Somebody asks, and an agent joins later. */
  async function live(): Promise<void> {
    const who = chance.happens(0.5) ? `regular ${chance.integer(1, REGULARS)}` : `customer ${chance.uuid()}`;
    const content = "Where is my order? ".repeat(chance.integer(1, 10));
    const customer = { sbs: who, sbs_mc: "Somebody", ip: "127.0.0.1", content };
    const { chat_id } = await signed("create_gd", { ...customer, kefu_id: [1, 2], fzr_uid: 1 });
    await passTime(60_000);
    await signed("add_kf", { chat_id, kefu_ids: "3" });
  }

  async function passTime(milliseconds: number): Promise<void> {
    await during(scheduler.sleep(milliseconds));
  }

  return {
    async passHour() {
      if (++hours % SESSION_EVERY_HOURS === 0) await live();
      await passTime(HOUR_MS / 2);
      for (const cron of ["* * * * *", "*/5 * * * *"]) {
        await during(worker.scheduled({ cron, scheduledTime: now() } as never, env as never));
      }
      await during(Promise.allSettled([...left]));
      await passTime(HOUR_MS / 2);
    },
    look() {
      const only = (name: string) => Number(Object.values(database.rows(name)[0] ?? {})[0]);
      const [filePages, freePages] = [only("pragma_page_count"), only("pragma_freelist_count")];
      return {
        rows: TABLES.map((table) => only(`(SELECT count(*) FROM ${table})`)),
        usedPages: filePages - freePages,
        filePages,
      };
    },
  };
}
