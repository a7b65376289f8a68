import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildProductionBundle } from "../bench/production-bundle.ts";

const CREATES = 300;
const AT_ONCE = 8;
/** So many are acknowledged when workerd is killed, with as many more as run at once in flight. */
const KILL_AFTER = 100;
const AGENTS = [10411, 10427, 10428];
/** Each has a site, and they take turns. */
const HOMES = ["main", "apac"];

const adminToken = randomBytes(24).toString("hex");
const folder = mkdtempSync(join(tmpdir(), "agent-session-crash-"));
let running: { url: string; process: ChildProcess } | undefined;

beforeAll(() => {
  const { code, compatibilityDate, vars } = buildProductionBundle();
  const bindings = { ...vars, MASTER_KEY: randomBytes(32).toString("base64"), ADMIN_TOKEN: adminToken };
  writeFileSync(join(folder, "worker.js"), code);
  writeFileSync(join(folder, "settings.json"), JSON.stringify({ compatibilityDate, bindings }));
});

afterAll(async () => {
  await kill();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the Worker, or starts it again on the state that a killed one left. */
async function start(): Promise<void> {
  const script = join(import.meta.dirname, "../support/crashable-worker.ts");
  // Its standard input ends with this process, however that ends, and it ends with its input.
  const child = spawn(process.execPath, [script, folder], { stdio: ["pipe", "pipe", "inherit"] });
  running = { url: "", process: child };
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('{"url"')) continue;
    const { url } = JSON.parse(line) as { url: string };
    running.url = url;
    return;
  }
  throw new Error("the Worker did not start");
}

/** SIGKILL for workerd, then for the process that started it, so that nobody starts another. */
async function kill(): Promise<number[]> {
  if (running === undefined) return [];
  const { process: parent } = running;
  running = undefined;
  if (parent.exitCode !== null) return [];
  const gone = new Promise((resolve) => parent.once("exit", resolve));
  const killed = workerdsOf(parent.pid ?? 0);
  for (const pid of killed) process.kill(pid, "SIGKILL");
  parent.kill("SIGKILL");
  await gone;
  return killed;
}

function workerdsOf(parent: number): number[] {
  const table = execFileSync("ps", ["-A", "-o", "pid=,ppid=,comm="], { encoding: "utf8" });
  const processes = table.split("\n").map((line) => line.trim().split(/\s+/, 3));
  return processes
    .filter(([, ppid, name]) => Number(ppid) === parent && name?.includes("workerd"))
    .map(([pid]) => Number(pid));
}

async function admin<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(`${running?.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

type App = { siteId: number; appid: string; secret: string };

async function provision(home: string): Promise<App> {
  const { id: siteId } = await admin<{ id: number }>("POST", "/admin/sites", { name: "Site", home });
  for (const id of AGENTS) await admin("POST", `/admin/sites/${siteId}/agents`, { id, name: `Agent ${id}` });
  return { siteId, ...(await admin<Omit<App, "siteId">>("POST", `/admin/sites/${siteId}/apps`, { name: "App" })) };
}

/** The app that customer `n` comes through. */
function appOf(apps: App[], n: number): App {
  const app = apps[n % apps.length];
  if (app === undefined) throw new Error("there is no app");
  return app;
}

/** One create_gd of customer `n`, signed afresh under a key of its own; gives the chat_id, or undefined when no success came back. */
async function create(apps: App[], n: number): Promise<number | undefined> {
  const app = appOf(apps, n);
  const body = JSON.stringify({
    appid: app.appid,
    timestamp: Math.floor(Date.now() / 1000),
    ranstr: randomUUID(),
    sbs: `customer-${n}`,
    ip: "127.0.0.1",
    sbs_mc: `Name ${n}`,
    content: `Message ${n}`,
    title: `Title ${n}`,
    kefu_id: AGENTS,
    fzr_uid: AGENTS[0],
  });
  try {
    const answer = await fetch(`${running?.url}/openapi/chat/create_gd`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-chat-signature": createHmac("sha256", app.secret).update(body).digest("hex"),
        "idempotency-key": `create-${n}`,
      },
      body,
    });
    const envelope = (await answer.json()) as { code: number; data: { chat_id: number } };
    return envelope.code === 1 ? envelope.data.chat_id : undefined;
  } catch {
    return undefined;
  }
}

/** What a whole session of customer `n` reads as, whoever reads it. */
const wholeSession = (id: number, n: number) => ({
  chat_id: id,
  kind: "ticket",
  status: "replied",
  responsible_agent_id: AGENTS[0],
  visitor_title: `Title ${n}`,
  agent_title: `Title ${n}`,
  auto_title: `Message ${n}`,
  created_at: expect.any(Number),
  customer: { sbs: `customer-${n}`, name: `Name ${n}`, ip: "127.0.0.1" },
  participants: AGENTS.slice(1).map((id) => ({ agent_id: id, added_by: AGENTS[0] })),
  messages: [{ sender: "agent", sender_uid: AGENTS[0], content: `Message ${n}` }],
});

type State = { chatIds: Map<number, number[]>; partial: unknown[] };

/** The state as it lies on disk, read past the Worker: each session by its customer's number, and whatever belongs to none. */
function readState(): State {
  const databases = join(folder, "state/d1/miniflare-D1DatabaseObject");
  const files = readdirSync(databases).filter((name) => /^[0-9a-f]{64}\.sqlite$/.test(name));
  const homes = files.map((file) => readHome(join(databases, file)));
  expect(homes.map(({ chatIds }) => chatIds.size > 0)).toEqual([true, true]);
  return {
    chatIds: new Map(homes.flatMap(({ chatIds }) => [...chatIds])),
    partial: homes.flatMap(({ partial }) => partial),
  };
}

/** Of one home, which has one site. */
function readHome(file: string): State {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const sessions = db.prepare("SELECT id, customer_external_id FROM sessions").all();
    const chatIds = new Map<number, number[]>();
    for (const { id, customer_external_id } of sessions) {
      const n = Number(String(customer_external_id).replace("customer-", ""));
      chatIds.set(n, [...(chatIds.get(n) ?? []), Number(id)]);
    }
    const partial = db
      .prepare(
        `SELECT 'session' AS what, id FROM sessions s WHERE (SELECT count(*) FROM messages WHERE session_id = s.id) <> 1
           OR (SELECT count(*) FROM participants WHERE session_id = s.id) <> ${AGENTS.length - 1}
           OR (SELECT count(*) FROM idempotency_keys WHERE session_id = s.id) <> 1
           OR (SELECT count(*) FROM nonces WHERE session_id = s.id AND outcome = 'accepted') <> 1
           OR NOT EXISTS (SELECT 1 FROM customers WHERE external_id = s.customer_external_id)
         UNION ALL SELECT 'customer', external_id FROM customers
           WHERE external_id NOT IN (SELECT customer_external_id FROM sessions)
         UNION ALL SELECT 'message', session_id FROM messages WHERE session_id NOT IN (SELECT id FROM sessions)
         UNION ALL SELECT 'participant', session_id FROM participants WHERE session_id NOT IN (SELECT id FROM sessions)
         UNION ALL SELECT 'key', session_id FROM idempotency_keys WHERE session_id NOT IN (SELECT id FROM sessions)
         UNION ALL SELECT 'nonce', session_id FROM nonces WHERE session_id NOT IN (SELECT id FROM sessions)`,
      )
      .all();
    return { chatIds, partial };
  } finally {
    db.close();
  }
}

it("keeps every acknowledged session whole and leaves no partial one when workerd is killed in mid-load, in both homes", async () => {
  await start();
  const apps = await Promise.all(HOMES.map(provision));

  const acknowledged = new Map<number, number>();
  let next = 0;
  let killed: Promise<number[]> | undefined;
  const load = async () => {
    while (next < CREATES) {
      const n = next++;
      const id = await create(apps, n);
      if (id !== undefined) acknowledged.set(n, id);
      if (acknowledged.size >= KILL_AFTER) killed ??= kill();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, load));
  expect(await killed).toHaveLength(1);
  expect(acknowledged.size).toBeGreaterThanOrEqual(KILL_AFTER);
  expect(acknowledged.size).toBeLessThan(CREATES);

  await start();
  for (const [n, id] of acknowledged) {
    expect(await admin("GET", `/admin/sites/${appOf(apps, n).siteId}/sessions/${id}`)).toMatchObject(
      wholeSession(id, n),
    );
  }
  await kill();
  const afterCrash = readState();
  expect(afterCrash.partial).toEqual([]);
  for (const [n, id] of acknowledged) expect(afterCrash.chatIds.get(n)).toEqual([id]);
  // Only what was in flight may have committed without being acknowledged.
  expect(afterCrash.chatIds.size - acknowledged.size).toBeLessThanOrEqual(AT_ONCE);

  await start();
  for (let n = 0; n < CREATES; n++) {
    const before = afterCrash.chatIds.get(n)?.[0];
    const id = await create(apps, n);
    expect(id).toBeDefined();
    if (before !== undefined) expect(id).toBe(before);
  }
  await kill();
  const inTheEnd = readState();
  expect(inTheEnd.chatIds.size).toBe(CREATES);
  expect([...inTheEnd.chatIds.values()].every((ids) => ids.length === 1)).toBe(true);
});
