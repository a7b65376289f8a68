import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { closedSecret } from "../../src/core/homes.ts";
import { SESSIONS_PER_STEP } from "../../src/operators/store/home/erase-step.ts";
import { Receiver } from "../support/receiver.ts";
import { CrashableWorker, type SignedApp } from "../support/run-crashable.ts";
import { signedCall } from "../support/signed-call.ts";

/**
 * A customer is erased while others create sessions and receivers fail, and workerd is killed meanwhile. Then the home is restored to a
 * time before the erasure, and is reconciled. Free pages of the files are not searched, because only the platform can overwrite them.
 */

const PERSON = "Zhang San";
/** The customer's sessions need three steps of an erasure. They are created 20 at a time. */
const CUSTOMER_SESSIONS = 2 * SESSIONS_PER_STEP + 20;
const KILLS = 3;
const AGENTS = [1, 2, 3];

let worker: CrashableWorker;
let receiver: Receiver;

beforeAll(async () => {
  receiver = await Receiver.start();
  // One receiver repeats the sent body in its refusal.
  receiver.answer = (response, path) => {
    if (path === "/echo") response.statusCode = 500;
    response.end(path === "/echo" ? receiver.at(path).at(-1)?.body.slice(-150) : "");
  };
  worker = new CrashableWorker({ WEBHOOK_LOOPBACK: "allow" });
});

afterAll(async () => {
  await worker?.remove();
  await receiver?.close();
});

/** @returns undefined when the Worker refused the call, or was killed before its answer */
async function call(app: SignedApp, operation: string, fields: object, key = ""): Promise<number | undefined> {
  const headers: Record<string, string> = key === "" ? {} : { "idempotency-key": key };
  try {
    const answer = await signedCall(worker.url, app, operation, fields, headers);
    return ((await answer.json()) as { data: { chat_id?: number } }).data.chat_id;
  } catch {
    return undefined;
  }
}

const create = (app: SignedApp, fields: object, key?: string) =>
  call(app, "create_gd", { ip: "127.0.0.1", kefu_id: [1, 2], fzr_uid: 1, ...fields }, key);

const ofPerson = (n: number) => ({
  sbs: `id of ${PERSON}`,
  sbs_mc: PERSON,
  content: `${PERSON} asks ${n}`,
  title: `${PERSON}'s order`,
  metadata: { who: PERSON },
});
const another = (n: number) => ({ sbs: `other ${n % 9}`, sbs_mc: "Somebody", content: `Hello ${n}` });

/** The places that hold a text: tables of databases, files of KV, and the log. */
function placesOf(text: string): string[] {
  const findings: string[] = [];
  const toText = (value: SQLOutputValue) =>
    value instanceof Uint8Array ? Buffer.from(value).toString() : String(value);
  for (const name of readdirSync(join(worker.folder, "state"), { recursive: true, encoding: "utf8" })) {
    const file = join(worker.folder, "state", name);
    if (name.endsWith(".sqlite")) {
      const db = new DatabaseSync(file);
      for (const { name: table } of db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()) {
        const rows = db.prepare(`SELECT * FROM "${String(table)}"`).all();
        if (rows.some((row) => Object.values(row).some((value) => toText(value).includes(text)))) {
          findings.push(`${name}: ${String(table)}`);
        }
      }
      db.close();
    } else if (name.includes("blobs/") && readFileSync(file).includes(text)) findings.push(name);
  }
  if (worker.logs().includes(text)) findings.push("the log");
  return findings;
}

/** The rows in the home of a site. The Worker must not run meanwhile. */
function storedOf({ siteId }: SignedApp) {
  const [rows] = worker
    .databases((db) => ({
      ids: db
        .prepare("SELECT id FROM sessions WHERE site_id = ?")
        .all(siteId)
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
  return rows;
}

it("an erasure removes its customer and nothing of others, also after kills of workerd and a restore of the home", async () => {
  await worker.start();
  const app = await worker.provision("apac", AGENTS);
  const site = `/admin/sites/${app.siteId}`;
  for (const path of ["/ok", "/echo"]) {
    await worker.admin("POST", `${site}/webhooks`, { url: `${receiver.url}${path}` });
  }
  for (let n = 0; n < CUSTOMER_SESSIONS; n += 20) {
    await Promise.all(Array.from({ length: 20 }, (_, i) => create(app, ofPerson(n + i), `key-${n + i}`)));
  }
  await call(app, "add_kf", { chat_id: 1, kefu_ids: "3" });
  const acknowledged = new Set<number>();
  const createSome = async () => {
    for (let n = 0; n < 40; n++) {
      const id = await create(app, another(n));
      if (id === undefined) continue;
      acknowledged.add(id);
      await call(app, "add_kf", { chat_id: id, kefu_ids: "3" });
    }
  };
  await createSome();
  await expect.poll(() => receiver.at("/echo").length).toBeGreaterThan(6);
  await worker.kill();
  const travelBack = worker.bookmark(app.siteId);
  const before = [...acknowledged];
  const tables = placesOf(PERSON).map((place) => place.split(": ")[1]);
  expect(tables.sort()).toEqual(["customers", "deliveries", "events", "messages", "sessions"]);
  await worker.start();

  const erase = () =>
    worker.admin<{ remaining: number }>("POST", `${site}/customers/erase`, { sbs: `id of ${PERSON}` });
  for (let kill = 0; kill < KILLS; kill++) {
    // A retry is answered with the session that it opened before, and does not bring the customer back.
    const working = Promise.allSettled([erase(), erase(), createSome(), create(app, ofPerson(kill), `key-${kill}`)]);
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
  const rows = storedOf(app);
  expect(rows?.half).toEqual([]);
  expect([...acknowledged].filter((id) => !rows?.ids.includes(id))).toEqual([]);
  expect(rows?.ended).toHaveLength(1);
  expect(JSON.parse(String(rows?.ended[0]?.details))).toMatchObject({
    sessions: CUSTOMER_SESSIONS,
    messages: CUSTOMER_SESSIONS,
  });

  for (let restore = 0; restore < 2; restore++) {
    travelBack();
    expect(placesOf(PERSON)).not.toEqual([]);
    await worker.start({ vars: { [closedSecret("apac")]: "apac" } });
    let triesLeft = 1;
    while (triesLeft > 0) {
      const settled = { settling_id: `restore-${restore}` };
      const answer = await worker.admin<{ erasures_left: number }>("POST", "/admin/homes/apac/restored", settled);
      triesLeft = answer.erasures_left;
    }
    await worker.kill();
    expect(placesOf(PERSON)).toEqual([]);
    const again = storedOf(app);
    expect(again?.half).toEqual([]);
    expect(again?.ids.toSorted((a, b) => a - b)).toEqual(before);
  }
});
