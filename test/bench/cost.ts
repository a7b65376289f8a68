import { AGENTS, addFields, appidOf, createFields, type Fields, signed } from "./bench-app.ts";
import { ownCpu } from "./cpu.ts";
import type { Measurement, Table } from "./measurement.ts";
import type { Call } from "./observed-bindings.ts";
import { observedWorker } from "./observed-production.ts";
import { dollarsAMonth, dollarsPerMillion, PRICES, RATES, type Used } from "./prices.ts";
import type { ProductionBundle } from "./production-bundle.ts";

interface Case {
  name: string;
  rowsWritten: number;
  rowsRead: number;
  kvReads: number;
  kvWrites: number;
  /** Rows that the pruning deletes later because of this request: the nonce, and the key if there is one. */
  pruned: number;
}

const APART = "create, new customer, 2 agents, in another home";

/** The rows that D1 reports as written and read for each kind of request, and the price of a million of them. */
export async function measureCost(bundle: ProductionBundle): Promise<Measurement> {
  const worker = await observedWorker(bundle, { homes: ["apac"] });
  const cases: Case[] = [];
  const send = async (name: string, path: string, fields: Fields, keyed: boolean) => {
    const headers = keyed ? { "idempotency-key": crypto.randomUUID() } : undefined;
    await worker.call(path, signed(fields), { record: true }, headers);
    const calls = await worker.calls();
    cases.push({ name, ...rowsOf(calls), ...kvOf(calls), pruned: keyed ? 2 : 1 });
  };
  // This first request warms the isolate and fills the tables, so that later ones meet the usual state.
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
  const apart = { appid: appidOf(2), kefu_id: AGENTS.slice(0, 2) };
  await create({ ...apart, sbs: crypto.randomUUID() });
  await send(APART, "create_gd", createFields({ ...apart, sbs: crypto.randomUUID() }), false);
  const stored = "SELECT (SELECT count(*) FROM nonces) + (SELECT count(*) FROM idempotency_keys) AS rows";
  const before = (await worker.running.db.prepare(stored).first<number>("rows")) ?? 0;
  const pruning = await worker.scheduled(Math.ceil(Date.now() / 3_600_000) * 3_600_000 + 7 * 86_400_000);
  const prune = rowsOf(pruning.filter(({ binding }) => binding === "DB"));
  const gone = before - ((await worker.running.db.prepare(stored).first<number>("rows")) ?? 0);
  const prunedRow = prune.rowsWritten / gone;
  await worker.running.close();

  const { production: cpuMs } = await ownCpu(bundle);
  const used = ({ rowsWritten, pruned, ...of }: Omit<Case, "name">): Used => ({
    requests: 1,
    cpuMs,
    rowsWritten: rowsWritten + pruned * prunedRow,
    rowsRead: of.rowsRead,
    kvReads: of.kvReads,
    kvWrites: of.kvWrites,
  });
  const find = (name: string) => cases.find((each) => each.name === name) as Case;
  const bare = find("create, new customer, 2 agents");
  const keyed = find("create, new customer, 2 agents, with a key");
  const ofCreate = used(bare);
  const withoutNonces = { ...ofCreate, kvReads: 0, kvWrites: 0 };
  const [whole, without] = [dollarsPerMillion(ofCreate), dollarsPerMillion(withoutNonces)];
  const prunedDollars = bare.pruned * prunedRow * PRICES.rowsWritten.perMillion;
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
          dollarsPerMillion(used(each)).toFixed(2),
        ]),
      },
      {
        head: ["a million creates (new customer, 2 agents, no key)", "$"],
        rows: [
          ...KINDS.map((kind) => [NAMES[kind], dollarsPerMillion({ [kind]: ofCreate[kind] }).toFixed(2)]),
          ["of it for pruning", prunedDollars.toFixed(2)],
          ["all", whole.toFixed(2)],
          ["all, with NONCES not bound", without.toFixed(2)],
        ],
      },
      monthTable("a month of 30 days, $, at so many creates a second", ofCreate),
      monthTable("the same with NONCES not bound", withoutNonces),
    ],
    goals: [
      rowsGoal("Rows written by a create (new customer, 2 agents)", bare.rowsWritten, 7),
      rowsGoal("The same in another home, the directory's rows among them", find(APART).rowsWritten, 7),
      rowsGoal("The same with an Idempotency-Key", keyed.rowsWritten, 8),
    ],
    notes: [
      `Prune deleted ${gone} rows and wrote ${prune.rowsWritten}, reading ${prune.rowsRead}.`,
      `KV's write of the ranstr is ${Math.round((PRICES.kvWrites.perMillion / whole) * 100)} % of a create. D1 is the authority on replays, so NONCES may stay unbound: then a replay costs a D1 batch that writes nothing.`,
      `List prices, looked up on 22 November 2026; a month's bill leaves out what the plan includes. CPU as measured on this machine, ${cpuMs.toFixed(2)} ms a request with HTTP; Workers Logs, when kept, are billed by the line besides, and stored rows by the GB.`,
    ],
  };
}

const NAMES: Record<keyof Used, string> = {
  requests: "requests",
  cpuMs: "CPU",
  rowsWritten: "D1 rows written, pruning among them",
  rowsRead: "D1 rows read",
  kvReads: "KV reads",
  kvWrites: "KV writes",
};
const KINDS = Object.keys(NAMES) as (keyof Used)[];

function monthTable(title: string, used: Used): Table {
  const months = RATES.map((rate) => dollarsAMonth(used, rate));
  const money = (amount: number) => amount.toLocaleString("en", { maximumFractionDigits: amount < 100 ? 2 : 0 });
  const all = (month: ReturnType<typeof dollarsAMonth>) => Object.values(month).reduce((sum, each) => sum + each, 0);
  return {
    head: [title, ...RATES.map((rate) => rate.toLocaleString("en"))],
    rows: [
      ...KINDS.map((kind) => [NAMES[kind], ...months.map((month) => money(month[kind]))]),
      ["Workers Paid", ...months.map((month) => money(month.subscription))],
      ["all", ...months.map((month) => money(all(month)))],
    ],
  };
}

function rowsGoal(what: string, rows: number, goal: number) {
  return { what, goal: `≤ ${goal}`, result: String(rows), met: rows <= goal, enforced: true };
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

const plural = (agents: number) => `${agents} ${agents === 1 ? "agent" : "agents"}`;
