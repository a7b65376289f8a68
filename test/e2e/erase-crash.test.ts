import { createHmac, randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, it } from "vitest";
import { CrashableWorker, type SignedApp } from "../support/run-crashable.ts";

/**
 * A customer is erased while others create sessions, and workerd is killed in between. Free pages of the files are not searched: the
 * platform keeps them, and nobody can overwrite them.
 */

const PERSON = "Zhang San";
const THEIRS = 700;
const KILLS = 3;

const worker = new CrashableWorker();

afterAll(() => worker.remove());

async function create(app: SignedApp, fields: object): Promise<number | undefined> {
  const own = { appid: app.appid, timestamp: Math.floor(Date.now() / 1000), ranstr: randomUUID(), ip: "127.0.0.1" };
  const body = JSON.stringify({ ...own, kefu_id: [1, 2], fzr_uid: 1, ...fields });
  const signature = createHmac("sha256", app.secret).update(body).digest("hex");
  const headers = { "content-type": "application/json", "x-chat-signature": signature };
  try {
    const answer = await fetch(`${worker.url}/openapi/chat/create_gd`, { method: "POST", headers, body });
    return ((await answer.json()) as { data: { chat_id?: number } }).data.chat_id;
  } catch {
    return undefined;
  }
}

const theirs = (n: number) => ({
  ...{ sbs: `id of ${PERSON}`, sbs_mc: PERSON, content: `${PERSON} asks ${n}`, title: `${PERSON}'s order` },
  metadata: { who: PERSON },
});
const another = (n: number) => ({ sbs: `other ${n % 9}`, sbs_mc: "Somebody", content: `Hello ${n}` });

/** Where a text stands: in a table of a database, in a file of KV, or in the log. */
function placesOf(text: string): string[] {
  const found: string[] = [];
  const shown = (value: SQLOutputValue) =>
    value instanceof Uint8Array ? Buffer.from(value).toString() : String(value);
  for (const name of readdirSync(join(worker.folder, "state"), { recursive: true, encoding: "utf8" })) {
    const file = join(worker.folder, "state", name);
    if (name.endsWith(".sqlite")) {
      const db = new DatabaseSync(file);
      for (const { name: table } of db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()) {
        const rows = db.prepare(`SELECT * FROM "${String(table)}"`).all();
        if (rows.some((row) => Object.values(row).some((value) => shown(value).includes(text)))) {
          found.push(`${name}: ${String(table)}`);
        }
      }
      db.close();
    } else if (name.includes("blobs/") && readFileSync(file).includes(text)) found.push(name);
  }
  if (worker.logs().includes(text)) found.push("the log");
  return found;
}

it("leaves nothing of an erased customer, and all of the others, when workerd is killed in between", async () => {
  await worker.start();
  const app = await worker.provision("apac", [1, 2]);
  await worker.admin("POST", `/admin/sites/${app.siteId}/webhooks`, { url: "https://hooks.example.com/" });
  for (let n = 0; n < THEIRS; n += 20) {
    await Promise.all(Array.from({ length: 20 }, (_, i) => create(app, theirs(n + i))));
  }
  const acknowledged = new Set<number>();
  const createSome = async () => {
    for (let n = 0; n < 40; n++) {
      const id = await create(app, another(n));
      if (id !== undefined) acknowledged.add(id);
    }
  };
  await createSome();
  expect(placesOf(PERSON)).not.toEqual([]);
  const erase = () =>
    worker.admin<{ remaining: number }>("POST", `/admin/sites/${app.siteId}/customers/erase`, {
      sbs: `id of ${PERSON}`,
    });
  for (let kill = 0; kill < KILLS; kill++) {
    const working = Promise.allSettled([erase(), erase(), createSome()]);
    await sleep(8 + 25 * kill);
    await worker.kill();
    await working;
    await worker.start();
  }
  await Promise.all([
    createSome(),
    (async () => {
      while ((await erase()).remaining > 0);
    })(),
  ]);
  await worker.kill();

  expect(placesOf(PERSON)).toEqual([]);
  const [stored] = worker
    .databases((db) => ({
      ids: db
        .prepare("SELECT id FROM sessions WHERE site_id = ?")
        .all(app.siteId)
        .map(({ id }) => Number(id)),
      half: db
        .prepare(
          `SELECT 'message' AS what FROM messages WHERE (site_id, session_id) NOT IN (SELECT site_id, id FROM sessions)
           UNION ALL SELECT 'participant' FROM participants WHERE (site_id, session_id) NOT IN (SELECT site_id, id FROM sessions)
           UNION ALL SELECT 'session' FROM sessions s WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.site_id = s.site_id AND m.session_id = s.id)`,
        )
        .all(),
      ended: db.prepare("SELECT details FROM audit_log WHERE action = 'customer.erased'").all(),
    }))
    .filter(({ ids }) => ids.length > 0);
  expect(stored?.half).toEqual([]);
  expect([...acknowledged].filter((id) => !stored?.ids.includes(id))).toEqual([]);
  expect(stored?.ended).toHaveLength(1);
  expect(JSON.parse(String(stored?.ended[0]?.details))).toMatchObject({ sessions: THEIRS, messages: THEIRS });
});
