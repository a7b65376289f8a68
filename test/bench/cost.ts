import { AGENTS, addFields, createFields, type Fields, signed } from "./bench-app.ts";
import { ownCpu } from "./cpu.ts";
import type { Measurement } from "./measurement.ts";
import type { Call } from "./observed-bindings.ts";
import { observedWorker } from "./observed-production.ts";
import type { ProductionBundle } from "./production-bundle.ts";

/** Dollars per million at Cloudflare's list price, Workers Paid, beyond what the plan includes. Looked up in November 2026. */
export const DOLLARS_PER_MILLION = {
  requests: 0.3,
  cpuMs: 0.02,
  rowsRead: 0.001,
  rowsWritten: 1,
  kvReads: 0.5,
  kvWrites: 5,
} as const;

interface Case {
  name: string;
  rowsWritten: number;
  rowsRead: number;
  kvReads: number;
  kvWrites: number;
  /** Rows that prune deletes later on account of this request: the nonce, and the key when there is one. */
  pruned: number;
}

/** Rows that D1 says were written and read for each kind of request, and what a million of them costs. */
export async function measureCost(bundle: ProductionBundle): Promise<Measurement> {
  const worker = await observedWorker(bundle);
  const cases: Case[] = [];
  const send = async (name: string, path: string, fields: Fields, keyed: boolean) => {
    const headers = keyed ? { "idempotency-key": crypto.randomUUID() } : undefined;
    await worker.call(path, signed(fields), { record: true }, headers);
    const calls = await worker.calls();
    cases.push({ name, ...rowsOf(calls), ...kvOf(calls), pruned: keyed ? 2 : 1 });
  };
  // The isolate is warm from here on, and the tables are not empty.
  const create = (change: Fields = {}) => worker.call("create_gd", signed(createFields(change)));
  for (let i = 0; i < 20; i++) await create({ sbs: crypto.randomUUID() });

  for (const keyed of [false, true]) {
    for (const agents of [1, 2, 5]) {
      const kefu_id = AGENTS.slice(0, agents);
      const sbs = crypto.randomUUID();
      const name = (customer: string) =>
        `create, ${customer} customer, ${plural(agents)}${keyed ? ", with a key" : ""}`;
      await send(name("new"), "create_gd", createFields({ sbs, kefu_id }), keyed);
      await send(name("known"), "create_gd", createFields({ sbs, kefu_id }), keyed);
    }
    for (const added of [1, 2, 5]) {
      const chatId = (await create()).data.chat_id as number;
      const name = `add, ${plural(added)}${keyed ? ", with a key" : ""}`;
      await send(name, "add_kf", addFields(chatId, AGENTS.slice(2, 2 + added)), keyed);
    }
  }
  const stored = "SELECT (SELECT count(*) FROM nonces) + (SELECT count(*) FROM idempotency_keys) AS rows";
  const before = (await worker.running.db.prepare(stored).first<number>("rows")) ?? 0;
  const prune = rowsOf(await worker.scheduled(Math.ceil(Date.now() / 3_600_000) * 3_600_000 + 7 * 86_400_000));
  const gone = before - ((await worker.running.db.prepare(stored).first<number>("rows")) ?? 0);
  const prunedRow = prune.rowsWritten / gone;
  await worker.running.close();

  const { production: cpuMs } = await ownCpu(bundle);
  const costOf = (of: Omit<Case, "name">) => dollars(of, prunedRow, cpuMs);
  const find = (name: string) => cases.find((each) => each.name === name) as Case;
  const bare = find("create, new customer, 2 agents");
  const keyed = find("create, new customer, 2 agents, with a key");
  const [whole, withoutNonces] = [costOf(bare), costOf({ ...bare, kvReads: 0, kvWrites: 0 })];
  return {
    title: "Cost",
    tables: [
      {
        head: ["request", "rows written", "rows read", "pruned later", "KV reads", "KV writes", "$ per million"],
        rows: cases.map((each) => [
          each.name,
          each.rowsWritten,
          each.rowsRead,
          each.pruned * prunedRow,
          each.kvReads,
          each.kvWrites,
          costOf(each).toFixed(2),
        ]),
      },
      {
        head: ["a million creates (new customer, 2 agents, no key)", "$"],
        rows: [
          ...Object.entries(shares(bare, prunedRow, cpuMs)).map(([name, amount]) => [name, amount.toFixed(2)]),
          ["all", whole.toFixed(2)],
          ["all, with NONCES not bound", withoutNonces.toFixed(2)],
        ],
      },
    ],
    goals: [
      rowsGoal("Rows written by a create (new customer, 2 agents)", bare.rowsWritten, 8),
      rowsGoal("The same with an Idempotency-Key", keyed.rowsWritten, 10),
    ],
    notes: [
      `Prune deleted ${gone} rows and wrote ${prune.rowsWritten}, reading ${prune.rowsRead}.`,
      `KV's write of the ranstr is ${Math.round((DOLLARS_PER_MILLION.kvWrites / whole) * 100)} % of a create. D1 is the authority on replays, so NONCES may stay unbound: then a replay costs a D1 batch that writes nothing.`,
      `List prices beyond what the plan includes, CPU as measured on this machine, ${cpuMs.toFixed(2)} ms a request with HTTP; Workers Logs, when kept, are billed by the line besides.`,
    ],
  };
}

/** Two rows more are allowed for the index of sessions by status and the index of sessions by customer. */
const FILTER_ROWS = 2;

function rowsGoal(what: string, rows: number, goal: number) {
  const most = goal + FILTER_ROWS;
  return {
    what,
    goal: `≤ ${goal} + ${FILTER_ROWS} for filtered lists`,
    result: String(rows),
    met: rows <= most,
    enforced: true,
  };
}

const sum = (calls: Call[], count: (call: Call) => number) => calls.reduce((total, call) => total + count(call), 0);

const rowsOf = (calls: Call[]) => ({
  rowsRead: sum(calls, (call) => call.rowsRead),
  rowsWritten: sum(calls, (call) => call.rowsWritten),
});

const kvOf = (calls: Call[]) => ({
  kvReads: sum(calls, (call) => Number(call.method === "get")),
  kvWrites: sum(calls, (call) => Number(call.method === "put")),
});

function shares(of: Omit<Case, "name">, prunedRow: number, cpuMs: number): Record<string, number> {
  const price = DOLLARS_PER_MILLION;
  return {
    requests: price.requests,
    CPU: cpuMs * price.cpuMs,
    "D1 rows written": of.rowsWritten * price.rowsWritten,
    "D1 rows pruned": of.pruned * prunedRow * price.rowsWritten,
    "D1 rows read": of.rowsRead * price.rowsRead,
    "KV reads": of.kvReads * price.kvReads,
    "KV writes": of.kvWrites * price.kvWrites,
  };
}

const dollars = (of: Omit<Case, "name">, prunedRow: number, cpuMs: number) =>
  Object.values(shares(of, prunedRow, cpuMs)).reduce((total, amount) => total + amount, 0);

const plural = (agents: number) => `${agents} ${agents === 1 ? "agent" : "agents"}`;
