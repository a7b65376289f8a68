import { createHmac, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WIRE_ERRORS } from "../../src/core/errors.ts";
import { DOCUMENTED } from "../../src/core/operations/index.ts";
import { ADMIN_CALLS, ADMIN_DOCUMENTATION } from "../../src/operators/admin/calls.ts";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";
import { documentedExample } from "../support/documented-example.ts";
import { exampleBody } from "../support/example-body.ts";
import { METHODS, openApi, templateOf, undocumentedParts } from "../support/matches-openapi.ts";

/**
 * Compares each answer of each operation with openapi.json. test/tools/openapi/faults.test.ts tests the answers 503, because most of
 * them need a database that does not answer.
 */
const NOT_HERE = ["503"];

/** Answers that only two simultaneous calls can cause. test/operators/services/release-app.test.ts tests them. */
const OF_TWO_CALLS = ["delete /admin/apps/{appid} 409"];

let worker: BuiltWorker;
let misconfigured: BuiltWorker;
let site: { siteId: number; appid: string; secret: string };
const answers = new Set<string>();

beforeAll(async () => {
  const signIn = { CONSOLE_SIGN_IN: "both", ACCESS_TEAM_DOMAIN: "acme", ACCESS_AUD: "console" };
  worker = await startBuiltWorker({ homes: ["DB", "HOME_APAC"], vars: { WEBHOOK_LOOPBACK: "allow", ...signIn } });
  misconfigured = await startBuiltWorker({ vars: { REPLAY_LOOK_MS: "soon" } });
  site = await worker.provision();
});
afterAll(async () => {
  await worker?.close();
  await misconfigured?.close();
});

/** Sends a request, compares the answer with the document, and returns the answer's status. */
async function call(method: string, path: string, init: RequestInit = {}, at = worker): Promise<number> {
  return (await exchange(method, path, init, at)).status;
}

async function exchange(method: string, path: string, init: RequestInit, at = worker) {
  const url = new URL(path, at.url);
  const answer = await fetch(url, { method, ...init });
  const text = await answer.text();
  const { status, headers } = answer;
  expect(undocumentedParts({ method, path: url.pathname, status, headers, text })).toEqual([]);
  const template = templateOf(url.pathname) ?? "";
  const operations = METHODS.filter((name) => name in (openApi.paths[template] ?? {}));
  const names = operations.includes(method.toLowerCase()) ? [method.toLowerCase()] : operations;
  for (const name of names) answers.add(`${name} ${template} ${status}`);
  return { status, headers, text };
}

const JSON_TYPE = { "content-type": "application/json" };

function signed(fields: Record<string, unknown>, headers: Record<string, string> = {}): RequestInit {
  const stamp = { appid: site.appid, timestamp: Math.floor(Date.now() / 1000), ranstr: randomUUID() };
  const body = JSON.stringify({ ...stamp, ...fields });
  const signature = createHmac("sha256", site.secret).update(body).digest("hex");
  return { body, headers: { ...JSON_TYPE, "x-chat-signature": signature, ...headers } };
}

const admin = (body?: unknown, headers: Record<string, string> = {}): RequestInit => ({
  headers: { authorization: `Bearer ${worker.adminToken}`, ...(body !== undefined && JSON_TYPE), ...headers },
  ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
});

const CREATE = "/openapi/chat/create_gd";
const ADD = "/openapi/chat/add_kf";

const session = (change: Record<string, unknown> = {}) => ({
  sbs: "customer_001",
  ip: "2001:db8::1",
  sbs_mc: "王伟",
  content: "我的订单在哪里？",
  title: "Order",
  kefu_id: [10411],
  fzr_uid: 10411,
  ...change,
});

async function newSession(): Promise<number> {
  const { text } = await exchange("POST", CREATE, signed(session()));
  return (JSON.parse(text) as { data: { chat_id: number } }).data.chat_id;
}

/** An address where no server listens. */
const HOOK = { url: "http://127.0.0.1:9/in" };

async function newWebhook(): Promise<string> {
  const { text } = await exchange("POST", `/admin/sites/${site.siteId}/webhooks`, admin(HOOK));
  return (JSON.parse(text) as { id: string }).id;
}

/** The operations whose refusals are all tested below. Other operations have tests of their own for their refusals. */
const BY_HAND = [CREATE, ADD];
const OTHERS = DOCUMENTED.filter(({ operation }) => !BY_HAND.includes(operation.path));
const OWN_REFUSALS = OTHERS.flatMap(({ operation: { path, refusals } }) =>
  Object.values(refusals).map(({ code }) => `post ${path} ${WIRE_ERRORS[code].status}`),
);

describe("the signed operations answer as documented", () => {
  test("a signed success and a repeated success are answered as documented", async () => {
    const key = { "idempotency-key": randomUUID() };
    expect(await call("POST", CREATE, signed(session({ sbs: 1001, sender_type: 1 }), key))).toBe(200);
    const secondAnswer = await exchange("POST", CREATE, signed(session({ sbs: 1001, sender_type: 1 }), key));
    expect([secondAnswer.status, secondAnswer.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
    const chat_id = await newSession();
    expect(await call("POST", ADD, signed({ chat_id, kefu_ids: "10427, 10428" }))).toBe(200);
  });

  test("each refusal of a signed call that a caller can cause is answered as documented", async () => {
    const chat_id = await newSession();
    const stale = { timestamp: 1781683144 };
    const request = signed(session());
    expect(await call("POST", CREATE, request)).toBe(200);
    expect(await call("POST", CREATE, request)).toBe(401);
    const large = JSON.stringify({ appid: site.appid, content: "x".repeat(65_536) });
    const others: [string, Record<string, unknown>, Record<string, unknown>][] = [];
    for (const { operation, documentation } of OTHERS) {
      const example = async () => exampleBody(documentation, { chatId: await newSession(), agent: 10427 });
      others.push([operation.path, await example(), await example()]);
    }
    for (const [path, good, other] of [
      [CREATE, session(), session({ content: "Another" })],
      [ADD, { chat_id, kefu_ids: [10427] }, { chat_id, kefu_ids: [10428] }],
      ...others,
    ] as const) {
      expect(await call("POST", path, { body: "[]", headers: JSON_TYPE })).toBe(400);
      expect(await call("POST", path, signed({ ranstr: "" }))).toBe(400);
      expect(await call("POST", path, signed(good, { "idempotency-key": "with a blank" }))).toBe(400);
      expect(await call("POST", path, { body: JSON.stringify(good), headers: JSON_TYPE })).toBe(400);
      expect(await call("POST", path, signed(good, { "x-chat-signature": "" }))).toBe(401);
      expect(await call("POST", path, signed({ ...good, ...stale }))).toBe(401);
      expect(await call("GET", path)).toBe(405);
      expect(await call("DELETE", path)).toBe(405);
      expect(await call("POST", path, { body: large, headers: JSON_TYPE })).toBe(413);
      expect(await call("POST", path, signed(good, { "content-type": "text/plain" }))).toBe(415);
      expect(await call("POST", path, signed(good, { "content-encoding": "gzip" }))).toBe(415);
      const key = { "idempotency-key": randomUUID() };
      expect(await call("POST", path, signed(good, key))).toBe(200);
      expect(await call("POST", path, signed(other, key))).toBe(422);
    }
    expect(await call("POST", CREATE, signed(session({ kefu_id: [10411, 999] })))).toBe(400);
    expect(await call("POST", CREATE, signed(session({ fzr_uid: 10427 })))).toBe(400);
    expect(await call("POST", ADD, signed({ chat_id: -1, kefu_ids: [10427] }))).toBe(404);
    expect(await call("POST", ADD, signed({ chat_id, kefu_ids: [999] }))).toBe(409);
  });
});

describe("the admin API answers as documented", () => {
  test("each success of the admin API is answered as documented", async () => {
    const at = `/admin/sites/${site.siteId}`;
    const chat_id = await newSession();
    expect(await call("POST", "/admin/sites", admin({ name: "Shop", home: "apac", first_chat_id: 900 }))).toBe(201);
    expect(await call("PATCH", at, admin({ name: "Shop", status: "closed" }))).toBe(200);
    expect(await call("POST", CREATE, signed(session()))).toBe(503);
    expect(await call("PATCH", at, admin({ status: "open", first_chat_id: 900_220 }))).toBe(200);
    expect(await call("GET", "/admin/homes", admin())).toBe(200);
    expect(await call("POST", "/admin/homes/main/restored", admin())).toBe(409);
    expect(await call("POST", "/admin/homes/main/restored", admin({ lift: 5, force: true }))).toBe(200);
    expect(await call("GET", "/admin/homes/main/divergent?limit=5", admin())).toBe(200);
    const issued = await exchange("POST", `${at}/apps`, admin({ name: "App" }));
    expect(issued.status).toBe(201);
    const { appid, version } = JSON.parse(issued.text) as { appid: string; version: string };
    const expecting = admin({ expected_version: version });
    expect(await call("POST", `/admin/apps/${appid}/rotate`, expecting)).toBe(200);
    expect(await call("POST", `/admin/apps/${appid}/rotate`, expecting)).toBe(409);
    expect(await call("POST", `/admin/apps/${appid}/rotate`, admin())).toBe(409);
    expect(await call("POST", `/admin/apps/${appid}/rotate`, admin({ ends: "current" }))).toBe(200);
    expect(await call("POST", `/admin/apps/${appid}/end-overlap`, expecting)).toBe(409);
    expect(await call("POST", `/admin/apps/${appid}/end-overlap`, admin())).toBe(200);
    expect(await call("POST", `/admin/apps/${appid}/rotate`, admin({ overlap_seconds: 0 }))).toBe(200);
    expect(await call("DELETE", `/admin/apps/${appid}`, admin())).toBe(204);
    expect(await call("POST", `/admin/apps/${appid}/rotate`, admin())).toBe(409);
    expect(await call("POST", `/admin/apps/${appid}/end-overlap`, admin())).toBe(409);
    expect(await call("POST", "/admin/reseal", admin())).toBe(200);
    expect(await call("POST", `${at}/agents`, admin({ id: 77, name: "Li Na" }))).toBe(201);
    expect(await call("PATCH", `${at}/agents/77`, admin({ name: "Na Li", status: "disabled" }))).toBe(200);
    expect(await call("GET", `${at}/sessions/${chat_id}`, admin())).toBe(200);
    const id = await newWebhook();
    expect(await call("GET", `${at}/webhooks`, admin())).toBe(200);
    const change = admin({ ...HOOK, events: ["session.created"], status: "enabled" });
    expect(await call("PATCH", `${at}/webhooks/${id}`, change)).toBe(200);
    expect(await call("POST", `${at}/webhooks/${id}/rotate`, admin())).toBe(200);
    expect(await call("POST", `${at}/webhooks/${id}/rotate`, admin({ expected_version: version }))).toBe(409);
    expect(await call("POST", `${at}/webhooks/${id}/rotate`, admin({ ends: "previous" }))).toBe(200);
    expect(await call("POST", `${at}/webhooks/${id}/end-overlap`, admin())).toBe(200);
    expect(await call("POST", `${at}/webhooks/${id}/rotate`, admin({ overlap_seconds: 0 }))).toBe(200);
    expect(await call("POST", `${at}/webhooks/${id}/ping`, admin())).toBe(202);
    expect(await call("POST", `${at}/webhooks/${id}/drill`, admin())).toBe(200);
    expect(await call("POST", `${at}/webhooks/${id}/drill`, admin())).toBe(429);
    const sessionId = await newSession();
    expect(await call("POST", ADD, signed({ chat_id: sessionId, kefu_ids: [10427] }))).toBe(200);
    expect(await call("GET", `${at}/webhooks/${id}/deliveries?status=pending`, admin())).toBe(200);
    const { DB } = worker.env as { DB: D1Database };
    await DB.prepare("UPDATE events SET data = NULL WHERE site_id = ? AND type = 'ping'").bind(site.siteId).run();
    const page = await exchange("GET", `${at}/events?after=0&limit=100`, admin());
    const { items } = JSON.parse(page.text) as { items: { seq: number; type: string; data: unknown }[] };
    expect(await call("POST", `${at}/webhooks/${id}/deliveries/${items[2]?.seq}/redeliver`, admin())).toBe(202);
    const all = { since: 0, until: 9_000_000_000, status: ["failed", "pending", "missed", "delivered"] };
    expect(await call("POST", `${at}/webhooks/${id}/redeliver`, admin({ ...all, dry_run: true }))).toBe(200);
    expect(await call("POST", `${at}/webhooks/${id}/redeliver`, admin({ ...all, after_seq: 0 }))).toBe(202);
    expect(await call("POST", `${at}/webhooks/${id}/redeliver`, admin())).toBe(202);
    expect(items.map(({ type, data }) => [type, data === null])).toEqual([
      ["ping", true],
      ["session.created", false],
      ["session.agents_added", false],
    ]);
    const deliveries = `${at}/webhooks/${id}/deliveries`;
    for (const list of ["/admin/sites", `${at}/apps`, `${at}/agents`, `${at}/sessions`, deliveries, "/admin/audit"]) {
      const first = await exchange("GET", `${list}?limit=1`, admin());
      const { next_cursor } = JSON.parse(first.text) as { next_cursor: string };
      expect(next_cursor).toBeTypeOf("string");
      expect(await call("GET", `${list}?cursor=${next_cursor}`, admin())).toBe(200);
      expect(await call("GET", `${list}?limit=100`, admin())).toBe(200);
    }
    expect(await call("GET", `${at}/sessions?status=replied&sbs=customer_001`, admin())).toBe(200);
    expect(await call("GET", `/admin/audit?site_id=${site.siteId}`, admin())).toBe(200);
    expect(await call("DELETE", `${at}/webhooks/${id}`, admin())).toBe(204);
  });

  test("each refusal that follows from the declaration of a call is answered as documented", async () => {
    const { DB } = worker.env as { DB: D1Database };
    // The directory has begun a site under an id that the home has given to another site.
    await DB.batch([
      DB.prepare(
        "INSERT INTO sites (id, name, home, first_chat_id, status, revision, created_at) VALUES (9000, 'Begun', 'main', 1, 'creating', 0, 1)",
      ),
      DB.prepare("INSERT INTO home_sites VALUES (9000, 'Another', 'open', 0, 0, 2, 0, 0, NULL)"),
    ]);
    expect(await call("POST", "/admin/sites", admin({ name: "Begun" }))).toBe(409);
    for (const { method, at, scope, body, query } of ADMIN) {
      const path = at(ids());
      if (body !== undefined) {
        expect(await call(method, path, admin("{"))).toBe(400);
        expect(await call(method, path, admin({ surplus: 1 }))).toBe(400);
        expect(await call(method, path, admin({ name: "x".repeat(65_536) }))).toBe(413);
        expect(await call(method, path, admin({}, { "content-type": "text/plain" }))).toBe(415);
      }
      if (query !== undefined) expect(await call(method, `${path}?surplus=1`, admin())).toBe(400);
      const elsewhere = { ...ids(), site_id: 999_999, appid: "unknown" };
      if (scope === "site" || scope === "app") expect(await call(method, at(elsewhere), admin(body))).toBe(404);
      if (scope === "site") expect(await call(method, at({ ...ids(), site_id: 9_000 }), admin(body))).toBe(409);
      expect(await call("PUT", path, admin())).toBe(405);
    }
  });

  test("each other refusal of the admin API that a caller can cause is answered as documented", async () => {
    const at = `/admin/sites/${site.siteId}`;
    const webhook = `${at}/webhooks/${await newWebhook()}`;
    expect(await call("POST", "/admin/sites", admin({ name: "x", home: "nowhere" }))).toBe(400);
    expect(await call("PATCH", at, admin({ first_chat_id: 1 }))).toBe(400);
    expect(await call("GET", "/admin/audit?site_id=999999", admin())).toBe(404);
    expect(await call("POST", `${at}/apps`, admin({ name: "x", appid: site.appid }))).toBe(409);
    expect(await call("POST", `${at}/agents`, admin({ id: 10411, name: "x" }))).toBe(409);
    expect(await call("GET", `${at}/webhooks/wh_0/deliveries`, admin())).toBe(404);
    expect(await call("POST", `${webhook}/deliveries/999999/redeliver`, admin())).toBe(404);
    expect(await call("PATCH", webhook, admin({ status: "disabled" }))).toBe(200);
    for (const what of ["ping", "redeliver", "deliveries/2/redeliver"])
      expect(await call("POST", `${webhook}/${what}`, admin())).toBe(409);
    expect(await call("GET", "/admin/homes/nowhere/divergent", admin())).toBe(404);
    expect(await call("POST", "/admin/homes/nowhere/restored", admin({ force: true }))).toBe(404);
    for (const { at, query } of ADMIN) {
      const { cursor } = (query?.def as { shape?: { cursor?: unknown } } | undefined)?.shape ?? {};
      if (cursor !== undefined) expect(await call("GET", `${at(ids())}?cursor=%20`, admin())).toBe(400);
    }
    expect(await call("GET", `${at}/sessions/999999`, admin())).toBe(404);
  });

  test("the calls about tokens, and each call that a token may not make, are answered as documented", async () => {
    const madeToken = await exchange(
      "POST",
      "/admin/tokens",
      admin({ name: "Viewer", role: "viewer", site_id: site.siteId }),
    );
    expect(madeToken.status).toBe(201);
    const { id, token } = JSON.parse(madeToken.text) as { id: string; token: string };
    const days = admin({ name: "Owner", role: "owner", expires_in_days: 1 });
    expect(await call("POST", "/admin/tokens", days)).toBe(201);
    for (const bad of ["{", { name: "x", role: "owner", site_id: site.siteId }, { name: "x", role: "root" }]) {
      expect(await call("POST", "/admin/tokens", admin(bad))).toBe(400);
    }
    const first = await exchange("GET", "/admin/tokens?limit=1", admin());
    const { next_cursor } = JSON.parse(first.text) as { next_cursor: string };
    expect(await call("GET", `/admin/tokens?cursor=${next_cursor}`, admin())).toBe(200);
    expect(await call("GET", "/admin/tokens?cursor=none", admin())).toBe(400);
    const viewer = { authorization: `Bearer ${token}` };
    const { text } = await exchange("POST", "/admin/tokens", admin({ name: "Scraper", role: "metrics" }));
    const scraper = { authorization: `Bearer ${(JSON.parse(text) as { token: string }).token}` };
    expect(await call("GET", `/admin/sites/${site.siteId}/events`, admin(undefined, viewer))).toBe(200);
    expect(await call("GET", "/admin/sites", admin(undefined, viewer))).toBe(200);
    const roleCalls = operations().filter(({ responses }) => responses.includes("403"));
    expect(roleCalls.length).toBeGreaterThan(20);
    for (const { method, path } of roleCalls) {
      const bearer = path === "/admin/metrics" ? viewer : scraper;
      expect(await call(method, path, admin(undefined, bearer))).toBe(403);
    }
    for (const { method, path } of operations().filter((each) => each.path.startsWith("/admin/"))) {
      expect([path, await call(method, `${path}?limit=1&limit=1`, admin())]).toEqual([path, 400]);
    }
    expect(await call("DELETE", `/admin/tokens/${id}`, admin())).toBe(204);
    expect(await call("DELETE", `/admin/tokens/${id}`, admin())).toBe(404);
    expect(await call("GET", "/admin/sites", admin(undefined, viewer))).toBe(401);
  });

  test("the calls about refused calls are answered as documented once the queue has filled the journal", async () => {
    const at = `/admin/sites/${site.siteId}`;
    const { headers } = await exchange("POST", CREATE, signed(session({ timestamp: 1 })));
    const refusedId = headers.get("x-request-id") ?? "";
    await expect.poll(() => call("GET", `/admin/requests/${refusedId}`, admin()), { interval: 500 }).toBe(200);
    const acceptedId = (await exchange("POST", CREATE, signed(session()))).headers.get("x-request-id") ?? "";
    for (const id of [refusedId, acceptedId]) {
      expect(await call("GET", `${at}/requests/${id}`, admin())).toBe(200);
    }
    const filter = `appid=${site.appid}&reason=timestamp_stale&operation=create_gd&since=${Math.floor(Date.now() / 1000) - 600}`;
    const { text } = await exchange("GET", `${at}/refusals?limit=1&${filter}`, admin());
    expect((JSON.parse(text) as { items: unknown[] }).items).toMatchObject([{ request_id: refusedId }]);
    expect(await call("GET", `${at}/refusals?cursor=${site.siteId}:${refusedId}`, admin())).toBe(200);
    expect(await call("GET", `${at}/refusals?reason=none`, admin())).toBe(400);
    const unknown = "019a0b1c-2d3e-7f40-8a51-6b7c8d9e0f12";
    for (const requests of ["/admin/requests", `${at}/requests`]) {
      expect(await call("GET", `${requests}/${unknown}`, admin())).toBe(404);
      expect(await call("GET", `${requests}/none`, admin())).toBe(400);
    }
  });

  test("the export and the erasure of a customer are answered as documented", async () => {
    const at = `/admin/sites/${site.siteId}/customers`;
    await newSession();
    for (const what of ["export", "erase"]) {
      expect(await call("POST", `${at}/${what}`, admin({ sbs: "customer_001" }))).toBe(200);
      expect(await call("POST", `${at}/${what}`, admin({ sbs: "" }))).toBe(400);
      expect(await call("POST", `${at}/${what}`, admin({ sbs: "nobody" }))).toBe(404);
    }
    // The second erasure finds nothing, and answers with zeros.
    expect(await call("POST", `${at}/erase`, admin({ sbs: "customer_001" }))).toBe(200);
  });

  test("the calls about people are answered as documented", async () => {
    const post = (person: Record<string, unknown>) => exchange("POST", "/admin/people", admin(person));
    const named = await post({ name: "Mei", role: "viewer", site_id: site.siteId });
    expect([named.status, Object.keys(JSON.parse(named.text) as object)]).toEqual([
      201,
      expect.arrayContaining(["id", "token"]),
    ]);
    const statuses = [];
    for (const email of ["ada@example.com", "ADA@example.com"])
      statuses.push((await post({ email, role: "owner", expires_in_days: 90 })).status);
    expect(statuses).toEqual([201, 409]);
    for (const bad of [{}, { name: "Ada", email: "ada@example.org" }, { email: "*@example.com" }])
      expect((await post({ ...bad, role: "viewer" })).status).toBe(400);
    const first = await exchange("GET", "/admin/people?limit=1", admin());
    const { next_cursor } = JSON.parse(first.text) as { next_cursor: string };
    expect(await call("GET", `/admin/people?cursor=${next_cursor}`, admin())).toBe(200);
    const path = `/admin/people/${(JSON.parse(named.text) as { id: string }).id}`;
    expect(await call("DELETE", path, admin())).toBe(204);
    expect(await call("DELETE", path, admin())).toBe(404);
  });

  test("usage and metrics are answered as documented", async () => {
    const { DB } = worker.env as { DB: D1Database };
    const at = `/admin/sites/${site.siteId}/usage`;
    const now = Math.floor(Date.now() / 1_000);
    // The cron would count these calls after half an hour.
    await DB.batch([
      DB.prepare("INSERT INTO usage VALUES (?, ?, 'create_session', 'accepted', 'v', 3, ?, ?, NULL)").bind(
        site.siteId,
        site.appid,
        now,
        now - (now % 3_600),
      ),
      DB.prepare("INSERT INTO folds (id, nonces_until, refusals_until) VALUES (1, ?1, ?1)").bind(now),
    ]);
    for (const query of ["", "?by=day", `?by=hour&since=${now - 7_200}&until=${now}&appid=${site.appid}`]) {
      const { status, text } = await exchange("GET", `${at}${query}`, admin());
      expect([status, text]).toEqual([200, expect.stringContaining('"outcome":"ok","count":3')]);
    }
    expect(await call("GET", `${at}?by=week`, admin())).toBe(400);
    for (const query of ["", "?by=site"]) expect(await call("GET", `/admin/metrics${query}`, admin())).toBe(200);
    expect(await call("GET", "/admin/metrics?by=app", admin())).toBe(400);
  });

  test("the export and the deletion of a site are answered as documented", async () => {
    const madeSite = await exchange("POST", "/admin/sites", admin({ name: "Ends" }));
    const at = `/admin/sites/${(JSON.parse(madeSite.text) as { id: number }).id}`;
    expect(await call("POST", `${at}/agents`, admin({ id: 1, name: "Li Na" }))).toBe(201);
    expect(await call("PATCH", at, admin({ retention_days: 30 }))).toBe(200);
    expect(await call("GET", at, admin())).toBe(200);
    await newSession();
    for (const of of [at, `/admin/sites/${site.siteId}`]) expect(await call("GET", `${of}/export`, admin())).toBe(200);
    expect(await call("GET", `${at}/export?after=none`, admin())).toBe(400);
    expect(await call("DELETE", at, admin({ name: "Ends" }))).toBe(409);
    expect(await call("PATCH", at, admin({ status: "closed" }))).toBe(200);
    expect(await call("DELETE", at, admin({ name: "Other" }))).toBe(400);
    expect(await call("DELETE", at, admin({ name: "Ends" }))).toBe(202);
    expect(await call("GET", at, admin())).toBe(200);
    expect(await call("GET", `${at}/export`, admin())).toBe(404);
  });

  test("each other call of the admin API succeeds with its documented example", async () => {
    const id = await newWebhook();
    const { headers } = await exchange("POST", CREATE, signed(session({ timestamp: 1 })));
    const values = { ...ids(), webhook_id: id, chat_id: await newSession(), request_id: headers.get("x-request-id") };
    const wasSeen = (start: string) => [...answers].some((answer) => answer.startsWith(start) && / 20\d$/.test(answer));
    for (const { method, template, at, body } of ADMIN) {
      if (wasSeen(`${method.toLowerCase()} ${template} `)) continue;
      expect([200, 201, 202, 204]).toContain(await call(method, at(values), admin(body)));
    }
  });
});

test("health is answered as documented", async () => {
  expect(await call("GET", "/healthz")).toBe(200);
  expect(await call("POST", "/healthz")).toBe(405);
});

test("a deployment that is not configured answers 500, and health 503, as documented", async () => {
  for (const { method, path } of operations()) {
    const init = path.startsWith("/admin") ? admin() : method === "POST" ? signed({}) : {};
    expect(await call(method, path, init, misconfigured)).toBe(path === "/healthz" ? 503 : 500);
  }
});

test("a wrong token is answered with 401, and too many failures from one address with 429, as documented", async () => {
  const wrong = { headers: { authorization: "Bearer wrong", ...JSON_TYPE } };
  const forged = { body: JSON.stringify({ appid: site.appid }), headers: JSON_TYPE };
  const targets = operations().filter(({ path }) => path !== "/healthz");
  const attempt = ({ method, path }: { method: string; path: string }) =>
    call(method, path, path.startsWith("/admin") ? wrong : forged);
  for (const operation of targets) expect(await attempt(operation)).toBe(401);
  const post = { ...forged, method: "POST" };
  const fail = async () => {
    const failing = ["/admin/sites", "/openapi/chat/add_kf"].map((path) =>
      fetch(new URL(path, worker.url), path.startsWith("/admin") ? wrong : post),
    );
    return (await Promise.all(failing)).map(({ status }) => status);
  };
  const statuses = new Set<number>();
  // The limits are counted by the minute. When a minute ends meanwhile, the loop starts again.
  for (let round = 0; round < 3 && !(statuses.size === 1 && statuses.has(429)); round++) {
    for (let calls = 0; calls < 700 && (await fail()).some((status) => status !== 429); calls++);
    statuses.clear();
    for (const operation of targets) statuses.add(await attempt(operation));
  }
  expect([...statuses]).toEqual([429]);
});

test("each documented answer was seen in a test", () => {
  const documented = Object.entries(openApi.paths).flatMap(([template, item]) =>
    METHODS.filter((method) => method in item).flatMap((method) => {
      const { responses } = item[method] as { responses: Record<string, unknown> };
      const statuses = Object.keys(responses).filter((status) => !NOT_HERE.includes(status));
      return statuses.map((status) => `${method} ${template} ${status}`);
    }),
  );
  const isElsewhere = (answer: string) =>
    [...OWN_REFUSALS, ...OF_TWO_CALLS].includes(answer) || NOT_HERE.some((status) => answer.endsWith(` ${status}`));
  const answersHere = (answers: Iterable<string>) => [...answers].filter((answer) => !isElsewhere(answer)).sort();
  expect(answersHere(answers)).toEqual(answersHere(documented));
});

/** Parameters of paths on this site. */
const ids = () => ({ site_id: site.siteId, chat_id: 1, appid: site.appid, name: "main", seq: 1 });

/** The path with these parameters, and with the documented examples of the others. */
const fill = (template: string, values: Record<string, unknown>) => {
  const documented: { name: string; example: unknown }[] = openApi.paths[template]?.parameters ?? [];
  const examples = Object.fromEntries(documented.map(({ name, example }) => [name, example]));
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name] ?? examples[name];
    if (value === undefined) throw new Error(`there is no example of ${name} in ${template}`);
    return String(value);
  });
};

/** All calls of the admin API, with a body made of their documented examples. */
const ADMIN = ADMIN_CALLS.map(({ id, method, path, scope, query }) => {
  const template = `/admin${path.replaceAll(/:(\w+)/g, "{$1}")}`;
  const { body } = ADMIN_DOCUMENTATION[id]();
  return {
    method: method.toUpperCase(),
    template,
    at: (values: Record<string, unknown>) => fill(template, values),
    scope,
    query,
    body: body && documentedExample(openApi.components.schemas[body.name]),
  };
});

/** All operations with their paths on this site and their documented statuses. */
function operations(): { method: string; path: string; responses: string[] }[] {
  return Object.entries(openApi.paths).flatMap(([template, item]) =>
    METHODS.filter((method) => method in item).map((method) => {
      const { responses } = item[method] as { responses: Record<string, unknown> };
      return { method: method.toUpperCase(), path: fill(template, ids()), responses: Object.keys(responses) };
    }),
  );
}
