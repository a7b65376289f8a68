import type { DatabaseSync } from "node:sqlite";
import { afterAll, expect, it } from "vitest";
import { CrashableWorker, type SignedApp } from "../support/run-crashable.ts";
import { signedCall } from "../support/signed-call.ts";

const CREATES = 300;
const AT_ONCE = 8;
/** After this many acknowledged sessions workerd is killed, while other calls are in flight. */
const KILL_AFTER = 100;
const AGENTS = [10411, 10427, 10428];
/** Each home has a site with an app, and the customers take turns among the apps. */
const HOMES = ["main", "apac"];

const worker = new CrashableWorker();

afterAll(() => worker.remove());

function appOf(apps: SignedApp[], n: number): SignedApp {
  const app = apps[n % apps.length];
  if (app === undefined) throw new Error("there is no app");
  return app;
}

/** Sends a newly signed create_gd of customer `n` with the customer's key. @returns the chat_id, or undefined without a success */
async function create(apps: SignedApp[], n: number): Promise<number | undefined> {
  const fields = {
    sbs: `customer-${n}`,
    ip: "127.0.0.1",
    sbs_mc: `Name ${n}`,
    content: `Message ${n}`,
    title: `Title ${n}`,
    kefu_id: AGENTS,
    fzr_uid: AGENTS[0],
  };
  try {
    const key = { "idempotency-key": `create-${n}` };
    const answer = await signedCall(worker.url, appOf(apps, n), "create_gd", fields, key);
    const envelope = (await answer.json()) as { code: number; data: { chat_id: number } };
    return envelope.code === 1 ? envelope.data.chat_id : undefined;
  } catch {
    return undefined;
  }
}

/** The whole session of customer `n`, as both the admin API and the database must have it. */
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

/** The state on disk, read without the Worker: the sessions by their customer's number, and rows without a session. */
function readState(): State {
  const homes = worker.databases(readHome);
  expect(homes.map(({ chatIds }) => chatIds.size > 0)).toEqual([true, true]);
  return {
    chatIds: new Map(homes.flatMap(({ chatIds }) => [...chatIds])),
    partial: homes.flatMap(({ partial }) => partial),
  };
}

/** The state of one home, which has one site. */
function readHome(db: DatabaseSync): State {
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
}

it("each acknowledged session is stored whole, and no partial one is left, when workerd is killed under load", async () => {
  await worker.start();
  const apps = await Promise.all(HOMES.map((home) => worker.provision(home, AGENTS)));

  const acknowledged = new Map<number, number>();
  let next = 0;
  let killed: Promise<number[]> | undefined;
  const load = async () => {
    while (next < CREATES) {
      const n = next++;
      const id = await create(apps, n);
      if (id !== undefined) acknowledged.set(n, id);
      if (acknowledged.size >= KILL_AFTER) killed ??= worker.kill();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, load));
  expect(await killed).toHaveLength(1);
  expect(acknowledged.size).toBeGreaterThanOrEqual(KILL_AFTER);
  expect(acknowledged.size).toBeLessThan(CREATES);

  await worker.start();
  for (const [n, id] of acknowledged) {
    expect(await worker.admin("GET", `/admin/sites/${appOf(apps, n).siteId}/sessions/${id}`)).toMatchObject(
      wholeSession(id, n),
    );
  }
  await worker.kill();
  const afterCrash = readState();
  expect(afterCrash.partial).toEqual([]);
  for (const [n, id] of acknowledged) expect(afterCrash.chatIds.get(n)).toEqual([id]);
  // Only a request in flight may have committed without an acknowledgement.
  expect(afterCrash.chatIds.size - acknowledged.size).toBeLessThanOrEqual(AT_ONCE);

  await worker.start();
  for (let n = 0; n < CREATES; n++) {
    const before = afterCrash.chatIds.get(n)?.[0];
    const id = await create(apps, n);
    expect(id).toBeDefined();
    if (before !== undefined) expect(id).toBe(before);
  }
  await worker.kill();
  const inTheEnd = readState();
  expect(inTheEnd.chatIds.size).toBe(CREATES);
  expect([...inTheEnd.chatIds.values()].every((ids) => ids.length === 1)).toBe(true);
});
