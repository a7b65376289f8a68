import { randomBytes, randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signedCall } from "../support/signed-call.ts";

/**
 * A deployment migrates before the new version serves, so the previous version works on the new schema for a while. These tests run
 * the Worker of the last release, which `npm run release` stored, on all migrations of this checkout.
 */

const ROOT = join(import.meta.dirname, "../..");
const HOMES = ["main", "apac", "contracted"] as const;
/** A change that no migration may make: the last release writes this column. */
const CONTRACTION = "ALTER TABLE sessions DROP COLUMN agent_title";

const adminToken = randomBytes(24).toString("hex");
let worker: Miniflare;
let url: string;

beforeAll(async () => {
  const read = (name: string) => readFileSync(join(ROOT, "test/last-release", name), "utf8");
  const { compatibilityDate, vars } = JSON.parse(read("settings.json")) as { compatibilityDate: string; vars: object };
  worker = new Miniflare(
    convertV4MiniflareOptions({
      modules: [{ type: "ESModule", path: "worker.js", contents: read("worker.js") }],
      modulesRoot: ".",
      compatibilityDate,
      bindings: { ...vars, MASTER_KEY: randomBytes(32).toString("base64"), ADMIN_TOKEN: adminToken },
      d1Databases: { DB: "main", HOME_APAC: "apac", HOME_CONTRACTED: "contracted" },
      kvNamespaces: { NONCES: "nonces", CREDENTIALS: "credentials" },
      unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
      cf: false,
      handleStructuredLogs: () => {},
    }),
  );
  await worker.ready;
  url = (await worker.unsafeGetDirectURL()).origin;
  for (const home of HOMES) await migrate(await databaseOf(home));
});
afterAll(() => worker?.dispose());

const databaseOf = async (home: (typeof HOMES)[number]) =>
  (await worker.getD1Database(home === "main" ? "DB" : `HOME_${home.toUpperCase()}`)) as unknown as D1Database;

async function migrate(db: D1Database): Promise<void> {
  const folder = join(ROOT, "migrations");
  for (const file of readdirSync(folder).sort()) {
    if (!file.endsWith(".sql")) continue;
    const statements = readFileSync(join(folder, file), "utf8").split("--> statement-breakpoint");
    await db.batch(statements.filter((text) => text.trim() !== "").map((text) => db.prepare(text)));
  }
}

async function admin<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(`${url}/admin/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${adminToken}`,
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

type Scheduled = (event: { cron: string; scheduledTime: Date }) => Promise<{ outcome: string }>;

interface App {
  siteId: number;
  appid: string;
  secret: string;
}

async function newApp(home: string): Promise<App> {
  const site = await admin<{ id: number }>("POST", "sites", { name: "Shop", home });
  for (const id of [10411, 10427, 10428]) await admin("POST", `sites/${site.id}/agents`, { id, name: `Agent ${id}` });
  const { appid, secret } = await admin<App>("POST", `sites/${site.id}/apps`, { name: "Back end" });
  return { siteId: site.id, appid, secret };
}

async function send(app: App, operation: string, fields: object) {
  const answer = await signedCall(url, app, operation, fields, { "idempotency-key": randomUUID() });
  return { status: answer.status, envelope: (await answer.json()) as { code: number; msg: string; data: unknown } };
}

const OPENING = {
  sbs: "customer_001",
  ip: "2001:db8::1",
  sbs_mc: "王伟",
  content: "Where is my order?",
  title: "Order",
  kefu_id: [10411, 10427],
  fzr_uid: 10411,
  metadata: { order_no: "20418" },
};

describe.each(["main", "apac"] as const)("the last release on the schema of this checkout, in %s", (home) => {
  it("the last release opens a session and adds an agent on the new schema, and both are stored whole", async () => {
    const app = await newApp(home);
    const created = await send(app, "create_gd", OPENING);
    expect(created).toEqual({ status: 200, envelope: { code: 1, msg: "ok", data: { chat_id: 1 } } });
    expect(await send(app, "add_kf", { chat_id: 1, kefu_ids: "10428" })).toMatchObject({ status: 200 });
    expect(await admin("GET", `sites/${app.siteId}/sessions/1`)).toMatchObject({
      kind: "ticket",
      status: "replied",
      responsible_agent_id: 10411,
      metadata: { order_no: "20418" },
      visitor_title: "Order",
      agent_title: "Order",
      customer: { sbs: "customer_001", name: "王伟" },
      participants: [10427, 10428].map((agent_id) => ({ agent_id, added_by: 10411 })),
      messages: [{ sender: "agent", sender_uid: 10411, content: "Where is my order?" }],
    });
    const { results } = await (await databaseOf(home))
      .prepare("SELECT id FROM sessions WHERE site_id = ?")
      .bind(app.siteId)
      .all();
    expect(results).toEqual([{ id: 1 }]);
  });

  it("the last release rotates a secret on the new schema, and only the new secret is accepted", async () => {
    const app = await newApp(home);
    const rotated = await admin<App>("POST", `apps/${app.appid}/rotate`, { overlap_seconds: 0 });
    expect(await send({ ...app, secret: rotated.secret }, "create_gd", OPENING)).toMatchObject({ status: 200 });
    expect(await send(app, "create_gd", OPENING)).toMatchObject({ status: 401 });
    expect((await admin<{ items: unknown[] }>("GET", `audit?site_id=${app.siteId}`)).items.length).toBeGreaterThan(3);
  });

  it("the last release prunes only what has expired on the new schema", async () => {
    const app = await newApp(home);
    const db = await databaseOf(home);
    for (let created = 0; created < 2; created++) await send(app, "create_gd", OPENING);
    const countLeft = async () =>
      db
        .prepare(
          `SELECT (SELECT count(*) FROM nonces WHERE site_id = ?1) AS nonces,
            (SELECT count(*) FROM idempotency_keys WHERE site_id = ?1) AS keys`,
        )
        .bind(app.siteId)
        .first();
    expect(await countLeft()).toEqual({ nonces: 2, keys: 2 });
    for (const table of ["nonces", "idempotency_keys"]) {
      const one = `SELECT min(${table === "nonces" ? "ranstr" : "key"}) FROM ${table} WHERE site_id = ?1`;
      const expire = `UPDATE ${table} SET expires_at = 1 WHERE site_id = ?1 AND ${table === "nonces" ? "ranstr" : "key"} = (${one})`;
      await db.prepare(expire).bind(app.siteId).run();
    }
    const { scheduled } = (await worker.getWorker()) as unknown as { scheduled: Scheduled };
    expect(await scheduled({ cron: "*/5 * * * *", scheduledTime: new Date() })).toMatchObject({ outcome: "ok" });
    expect(await countLeft()).toEqual({ nonces: 1, keys: 1 });
  });
});

describe("the last release's console", () => {
  it("the console of the last release signs in and shows the sites on the new schema", async () => {
    const { siteId } = await newApp("main");
    const page = await fetch(`${url}/console/sign-in`);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('name="token"')]);
    const answer = await fetch(`${url}/console/sign-in`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", origin: url, "sec-fetch-site": "same-origin" },
      body: new URLSearchParams({ token: adminToken, next: "/console" }),
      redirect: "manual",
    });
    expect(answer.status).toBe(303);
    const cookie = answer.headers.get("set-cookie")?.split(";")[0] ?? "";
    const sites = await fetch(`${url}/console/sites/${siteId}`, { headers: { cookie } });
    expect([sites.status, await sites.text()]).toEqual([200, expect.stringContaining("Shop")]);
  });
});

describe("a migration that removes what the last release needs", () => {
  it("a call of the last release fails and stores nothing after a migration that removes its column", async () => {
    const app = await newApp("contracted");
    const db = await databaseOf("contracted");
    await db.exec(CONTRACTION);
    expect(await send(app, "create_gd", OPENING)).toMatchObject({ status: 503, envelope: { code: -1 } });
    expect(await db.prepare("SELECT count(*) AS sessions FROM sessions").first()).toEqual({ sessions: 0 });
  });
});
