import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, it } from "vitest";
import { hmac } from "../support/hmac.ts";
import { addBody, type Body, createBody } from "../support/signed-bodies.ts";
import { workerOptions } from "../support/worker-options.ts";

const ROOT = join(import.meta.dirname, "../..");
const SITE = 7;
const APP = { appid: "app-of-core", secret: "the secret of an app that knows core alone" };

let files: string[];
let miniflare: Miniflare;
let url: URL;
let db: Awaited<ReturnType<Miniflare["getD1Database"]>>;

beforeAll(async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(import.meta.dirname, "alone-worker.ts")],
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
  });
  files = Object.keys(metafile.inputs).filter((path) => path.startsWith("src/"));
  const { compatibilityDate } = await workerOptions();
  miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: [{ type: "ESModule", path: "worker.js", contents: outputFiles[0]?.text ?? "" }],
      modulesRoot: ".",
      compatibilityDate: String(compatibilityDate),
      bindings: { MASTER_KEY: btoa(String.fromCharCode(...Array(32).keys())) },
      d1Databases: ["DB"],
      kvNamespaces: ["NONCES", "CREDENTIALS"],
      unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
      cf: false,
    }),
  );
  await miniflare.ready;
  url = await miniflare.unsafeGetDirectURL();
  db = await miniflare.getD1Database("DB");
  for (const file of readdirSync(join(ROOT, "migrations")).sort()) {
    if (!file.endsWith(".sql")) continue;
    const statements = readFileSync(join(ROOT, "migrations", file), "utf8").split("--> statement-breakpoint");
    await db.batch(statements.map((text) => db.prepare(text)));
  }
  await storeApp();
});
afterAll(() => miniflare?.dispose());

/** Makes a site with three agents and an app, as operators would. */
async function storeApp(): Promise<void> {
  const { appid, secret } = APP;
  const owner = { siteId: SITE, version: "v1", appid };
  const sealed = await (await post("/seal", JSON.stringify({ owner, secret }))).text();
  const rows = [
    `INSERT INTO sites (id, name, home, first_chat_id, status, revision, created_at) VALUES (${SITE}, 'Site', 'main', 1, 'open', 0, 0)`,
    `INSERT INTO app_routes (appid, site_id) VALUES ('${appid}', ${SITE})`,
    `INSERT INTO home_sites (site_id, name, status, chat_id_floor, revision, created_at) VALUES (${SITE}, 'Site', 'open', 0, 0, 0)`,
    ...[1, 2, 3].map(
      (id) => `INSERT INTO agents (site_id, id, name, status) VALUES (${SITE}, ${id}, 'Agent', 'normal')`,
    ),
    `INSERT INTO apps (site_id, appid, name, version, secret, created_at) VALUES (${SITE}, '${appid}', 'App', 'v1', '${sealed}', 0)`,
  ];
  await db.batch(rows.map((text) => db.prepare(text)));
}

const post = (path: string, body: string, headers: Record<string, string> = {}) =>
  fetch(new URL(path, url), { method: "POST", body, headers: { "content-type": "application/json", ...headers } });

async function call(name: string, body: Body): Promise<unknown> {
  const text = JSON.stringify(body);
  return (await post(`/openapi/chat/${name}`, text, { "x-chat-signature": await hmac(APP.secret, text) })).json();
}

const countOf = (table: string) =>
  db.prepare(`SELECT count(*) AS rows FROM ${table} WHERE site_id = ${SITE}`).first<number>("rows");

it("the core needs no file from outside of src/core", () => {
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter((path) => !path.startsWith("src/core/"))).toEqual([]);
});

it("the core alone opens a session and adds an agent to it, each once", async () => {
  const signer = { appid: APP.appid, timestamp: Math.floor(Date.now() / 1000) };
  const created = createBody(signer, { fzr_uid: 1, kefu_id: [1] });
  expect(await call("create_gd", created)).toEqual({ code: 1, msg: "ok", data: { chat_id: 1 } });
  const added = addBody(signer, 1, { kefu_ids: "2,3" });
  expect(await call("add_kf", added)).toMatchObject({ code: 1, msg: "ok" });
  expect([await call("create_gd", created), await call("add_kf", added)]).toMatchObject([{ code: -1 }, { code: -1 }]);
  const tables = ["sessions", "messages", "participants", "customers", "nonces"];
  expect(await Promise.all(tables.map(countOf))).toEqual([1, 1, 2, 1, 2]);
});
