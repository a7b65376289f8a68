import { createFields, signed } from "./bench-app.ts";
import type { Goal, Measurement } from "./measurement.ts";
import type { Call } from "./observed-bindings.ts";
import { observedWorker } from "./observed-production.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { ADMIN_TOKEN, adminCall } from "./start-worker.ts";
import { median } from "./statistics.ts";

/** Erasing a customer: docs/operating.md, "One customer's data". */

const SESSIONS = 500;
const SITES = [20_000, 200_000];
/** How many customers are erased on the large site while others create sessions. */
const ERASED_UNDER_LOAD = 8;
const WITHOUT_STATISTICS = "DELETE FROM sqlite_stat1 WHERE tbl = 'sessions'";

interface Erased {
  ms: number;
  calls: number;
  rowsRead: number;
  rowsWritten: number;
}

type Worker = Awaited<ReturnType<typeof observedWorker>>;

/** What erasing 500 sessions of one customer takes on a small and on a large site, with the planner's statistics and without. */
export async function measureErase(bundle: ProductionBundle): Promise<Measurement> {
  const rows: (string | number)[][] = [];
  const found = new Map<string, Erased>();
  let [creates, load] = [[] as string[], { alone: 0, beside: 0, longest: 0 }];
  for (const size of SITES) {
    const worker = await observedWorker(bundle, { vars: { WEBHOOK_LOOPBACK: "allow" } });
    try {
      await adminCall(worker.running.url, "POST", "1/webhooks", { url: "http://127.0.0.1:9/" });
      await fill(worker.running.db, size);
      const counted = [await rowsOfCreate(worker)];
      found.set(`${size} with`, await erase(worker, "customer 0"));
      if (size === Math.max(...SITES)) load = await underLoad(worker);
      await worker.running.db.batch(
        [WITHOUT_STATISTICS, "ANALYZE sqlite_schema"].map((sql) => worker.running.db.prepare(sql)),
      );
      counted.push(await rowsOfCreate(worker));
      found.set(`${size} without`, await erase(worker, "customer 1"));
      creates = counted;
    } finally {
      await worker.running.close();
    }
  }
  for (const [name, { ms, calls, rowsRead, rowsWritten }] of found) {
    const [size = "", statistics = ""] = name.split(" ");
    const each = (count: number) => (count / SESSIONS).toFixed(1);
    rows.push([Number(size), statistics, calls, Math.round(ms), each(rowsRead), each(rowsWritten)]);
  }
  const [small, large] = SITES.map((size) => found.get(`${size} with`) as Erased) as [Erased, Erased];
  const readMore = large.rowsRead / small.rowsRead;
  const goals: Goal[] = [
    {
      what: `Rows that erasing ${SESSIONS} sessions reads among ${SITES[1]}, compared with ${SITES[0]}`,
      goal: "at most 1.5 ×",
      result: `${readMore.toFixed(2)} ×`,
      met: readMore <= 1.5,
      enforced: true,
    },
    {
      what: "Rows that a create reads and writes, with the planner's statistics and without",
      goal: "the same",
      result: creates.join("; "),
      met: new Set(creates).size === 1,
      enforced: true,
    },
  ];
  return {
    title: "Erasing a customer",
    tables: [
      {
        head: [
          "sessions of the site",
          "statistics",
          "calls",
          "ms in all",
          "rows read a session",
          "rows written a session",
        ],
        rows,
      },
    ],
    goals,
    notes: [
      `A customer has ${SESSIONS} sessions, each with a message, a participant, an event and a failed delivery.`,
      `A create takes ${Math.round(load.alone)} ms (p50) with nothing beside it, and ${Math.round(load.beside)} ms (p50) or ${Math.round(load.longest)} ms (longest) while ${ERASED_UNDER_LOAD} such customers are erased without a pause.`,
    ],
  };
}

/** Erases a customer, call after call, and counts what D1 reports. */
async function erase({ running, calls }: Worker, sbs: string, record = true): Promise<Erased> {
  const sum: Erased = { ms: 0, calls: 0, rowsRead: 0, rowsWritten: 0 };
  for (let remaining = 1; remaining > 0; ) {
    const began = performance.now();
    const answer = await fetch(`${running.url}/admin/sites/1/customers/erase`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${ADMIN_TOKEN}`,
        "content-type": "application/json",
        "x-bench": JSON.stringify({ record }),
      },
      body: JSON.stringify({ sbs }),
    });
    if (!answer.ok) throw new Error(`erase: ${answer.status} ${await answer.text()}`);
    ({ remaining } = (await answer.json()) as { remaining: number });
    sum.ms += performance.now() - began;
    sum.calls++;
    for (const call of record ? await calls() : []) {
      sum.rowsRead += call.rowsRead;
      sum.rowsWritten += call.rowsWritten;
    }
  }
  return sum;
}

async function rowsOfCreate(worker: Worker): Promise<string> {
  await worker.call("create_gd", signed(createFields({ sbs: crypto.randomUUID() })), { record: true });
  const calls: Call[] = (await worker.calls()).filter(({ method }) => method === "batch");
  const total = (column: "rowsRead" | "rowsWritten") => calls.reduce((sum, call) => sum + call[column], 0);
  return `${total("rowsRead")} read, ${total("rowsWritten")} written`;
}

/** The median of creates in milliseconds, with nothing beside them and while customers are erased. */
async function underLoad(worker: Worker): Promise<{ alone: number; beside: number; longest: number }> {
  const create = async () => {
    const began = performance.now();
    await worker.call("create_gd", signed(createFields({ sbs: crypto.randomUUID() })));
    return performance.now() - began;
  };
  const alone: number[] = [];
  for (let i = 0; i < 100; i++) alone.push(await create());
  const beside: number[] = [];
  let isErasing = true;
  const erasing = (async () => {
    for (let i = 2; i < 2 + ERASED_UNDER_LOAD; i++) await erase(worker, `customer ${i}`, false);
    isErasing = false;
  })();
  while (isErasing) beside.push(await create());
  await erasing;
  return { alone: median(alone), beside: median(beside), longest: Math.max(...beside) };
}

/** Fills site 1: every session is of a customer of its own, but those of some customers with 500 each, all over the site. */
async function fill(db: D1Database, size: number): Promise<void> {
  const webhook = await db.prepare("SELECT id FROM webhooks WHERE site_id = 1").first<string>("id");
  const large = 2 + ERASED_UNDER_LOAD;
  const whose = `CASE WHEN i % ${size / SESSIONS} < ${large} THEN 'customer ' || (i % ${size / SESSIONS}) ELSE 'other ' || i END`;
  const step = 20_000;
  for (let from = 1; from <= size; from += step) {
    const n = `WITH RECURSIVE n(i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i < ${from + step - 1})`;
    await db.batch(
      [
        `INSERT OR IGNORE INTO customers SELECT 1, ${whose}, 'Name', '::1', i, i FROM n`,
        `INSERT INTO sessions (site_id, id, appid, kind, customer_external_id, responsible_agent_id, status, auto_title, created_at)
         SELECT 1, i, 'app', 'ticket', ${whose}, 1, 'waiting', 'Title', 1000000 + i * 5 FROM n`,
        "INSERT INTO messages SELECT 1, i, 1, 'visitor', NULL, 'Where is my order?', 1000000 + i * 5 FROM n",
        "INSERT INTO participants SELECT 1, i, 2, 1, 1000000 + i * 5 FROM n",
        `INSERT INTO events SELECT 1, i, 'evt_' || i, 'session.created', i, 1000000 + i * 5,
         json_object('seq', i, 'participants', json('[{}]'), 'text', 'Where is my order?') FROM n`,
        `INSERT INTO deliveries (site_id, webhook_id, seq, status, attempts, last_status, last_error, created_at)
         SELECT 1, '${webhook}', i, 'failed', 8, 500, 'HTTP 500', 1000000 + i * 5 FROM n`,
      ].map((insert) => db.prepare(`${n} ${insert}`)),
    );
  }
}
