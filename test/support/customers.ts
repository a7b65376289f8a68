import { env } from "cloudflare:workers";
import { type AdminAnswer, call } from "./admin-calls.ts";
import { databaseOf } from "./homes.ts";
import { tablesOf } from "./read-store.ts";
import { replacing } from "./replacing.ts";
import type { World } from "./world.ts";

export const HOMES = ["main", "apac"];

const path = ({ siteId }: World) => `/admin/sites/${siteId}/customers`;

export interface ErasureAnswer {
  erasure_id: string;
  erased: Record<"sessions" | "messages" | "participants" | "events" | "deliveries", number>;
  remaining: number;
  customer_is_back: boolean;
  webhooks: { id: string; url: string | null; delivered: number; may_have_arrived: number; told: boolean }[];
  receipts?: { chat_ids: number[] }[];
}

/**
 * Deletes the key of customers' hashes in the directory and in KV. A test that has sealed it with its own master key must do so.
 */
export async function forgetHashKeys(): Promise<void> {
  await env.DB.exec("DELETE FROM customer_hash_keys");
  for (const { name } of (await env.CREDENTIALS.list({ prefix: "customer-hash-key:" })).keys) {
    await env.CREDENTIALS.delete(name);
  }
}

export const erase = (world: World, body: unknown) => call(world, "POST", `${path(world)}/erase`, body);
export const exportOf = (world: World, body: unknown) => call(world, "POST", `${path(world)}/export`, body);

/** An isolate whose KV refuses each put. */
export const withRefusingKv = (world: World): World => {
  const put = () => Promise.reject(new Error("KV PUT failed: 500"));
  return world.anotherIsolate({ CREDENTIALS: replacing(env.CREDENTIALS, { put }) });
};

export const overloaded = () => Promise.reject(new Error("D1_ERROR: D1 DB is overloaded."));

/** A database that calls `act` before the first step of an erasure, which is a long batch. */
export function beforeStep(db: D1Database, act: () => Promise<unknown>): D1Database {
  let isFirst = true;
  const batch = async (list: D1PreparedStatement[]) => {
    if (list.length > 10 && isFirst) {
      isFirst = false;
      await act();
    }
    return db.batch(list);
  };
  return replacing(db, { batch });
}

/** Erases until nothing remains; returns the answers. */
export async function eraseWhole(world: World, sbs: string): Promise<ErasureAnswer[]> {
  const answers: ErasureAnswer[] = [];
  do {
    const { status, body } = await erase(world, { sbs });
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
    answers.push(body as ErasureAnswer);
    if (answers.length > 50) throw new Error(`no end: ${JSON.stringify(body)}`);
  } while (answers.at(-1)?.remaining !== 0);
  return answers;
}

/** A text that identifies a person wherever it is found, short enough for each field. */
export const personText = () => `p-${crypto.randomUUID().slice(0, 20)}`;

/** The fields of a create_gd that hold a person's text. */
export const fieldsOf = (text: string) => ({
  sbs: text,
  sbs_mc: text,
  content: `${text} asks`,
  title: text,
  metadata: { who: text },
});

/** The tables of all databases and the keys of KV in which a text is found. */
export async function placesOf(text: string): Promise<string[]> {
  const inDatabases = HOMES.map(async (home) => {
    const tables = Object.entries(await tablesOf(databaseOf(home)));
    return tables.filter(([, rows]) => JSON.stringify(rows).includes(text)).map(([table]) => `${home}.${table}`);
  });
  const inKv = [env.CREDENTIALS, env.NONCES].map(async (kv) => {
    const { keys } = await kv.list();
    const values = await Promise.all(keys.map(({ name }) => kv.get(name)));
    const matches = keys.filter(({ name, metadata }, i) =>
      [name, JSON.stringify(metadata), values[i]].join().includes(text),
    );
    return matches.map(({ name }) => `kv ${name}`);
  });
  return (await Promise.all([...inDatabases, ...inKv])).flat();
}

/** Stores a customer with many sessions of two minutes each, with messages, participants and events unless they are `bare`. */
export async function seedCustomer(
  { siteId, home, appid }: World,
  sbs: string,
  sessions: number,
  from = 1,
  { bare = false } = {},
): Promise<void> {
  const db = databaseOf(home);
  const n = `WITH RECURSIVE n(i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i < ${from + sessions - 1})`;
  const run = (sql: string, ...values: unknown[]) => db.prepare(`${n} ${sql}`).bind(...values);
  const inserts = [
    db.prepare("INSERT OR IGNORE INTO customers VALUES (?, ?, ?, '::1', 0, 0)").bind(siteId, sbs, sbs),
    run(
      `INSERT INTO sessions (id, site_id, appid, kind, customer_external_id, responsible_agent_id, status, auto_title, created_at)
       SELECT i, ?, ?, 'ticket', ?, 1, 'waiting', ?, 1000 + i * 120 FROM n`,
      siteId,
      appid,
      sbs,
      sbs,
    ),
    run("INSERT INTO messages SELECT ?, i, 1, 'visitor', NULL, ?, 1000 + i * 120 FROM n", siteId, sbs),
    run("INSERT INTO participants SELECT ?, i, 2, 1, 1000 + i * 120 FROM n", siteId),
    run(
      `INSERT INTO events SELECT ?, i, 'evt_' || ? || i, 'session.created', i, 1000 + i * 120,
       json_object('seq', i, 'participants', json('[{}]'), 'who', ?) FROM n`,
      siteId,
      siteId,
      sbs,
    ),
  ];
  await db.batch(bare ? inserts.slice(0, 2) : inserts);
}

/** The rows about erasures in the audit log of a site. */
export async function auditOfErasures({ siteId, home }: World) {
  const { results } = await databaseOf(home)
    .prepare(
      "SELECT action, subject, details FROM audit_log WHERE site_id = ? AND action LIKE 'customer.%' ORDER BY id",
    )
    .bind(siteId)
    .all<{ action: string; subject: string; details: string }>();
  return results.map((row) => ({ ...row, details: JSON.parse(row.details) as Record<string, unknown> }));
}

export type { AdminAnswer };
