import { applyD1Migrations } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { call, conflict, problem } from "../../support/admin-calls.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { downDb } from "../../support/down-db.ts";
import { replacing } from "../../support/replacing.ts";
import { expectUnwritten } from "../../support/signed-routes.ts";
import { World } from "../../support/world.ts";

const UNAVAILABLE = { code: -1, msg: "服务暂时不可用", data: "" };
const NOT_FOUND = { code: -1, msg: "会话不存在", data: "" };

const HOMES = ["main", "apac"] as const;
const OTHER = { main: "apac", apac: "main" } as const;
const BINDING = { main: "DB", apac: "HOME_APAC" } as const;

const homesOf = async (world: World) => {
  const { status, body } = await call(world, "GET", "/admin/homes");
  expect(status).toBe(200);
  const { items, ...rest } = body as { items: { name: string; sites: number; status: string }[] };
  expect(rest).toEqual({});
  return items;
};
const statesOf = async (world: World) => (await homesOf(world)).map(({ name, status }) => [name, status]);

describe("GET /admin/homes", () => {
  it("GET /admin/homes lists every home, main first, with the number of its sites and the status open", async () => {
    const world = await World.create();
    const before = await homesOf(world);
    expect(before).toEqual([
      { name: "main", sites: expect.any(Number), status: "open" },
      { name: "apac", sites: expect.any(Number), status: "open" },
    ]);
    for (const home of ["main", "apac", "apac"]) await call(world, "POST", "/admin/sites", { name: "Shop", home });
    const more = (await homesOf(world)).map(({ sites }, i) => sites - (before[i]?.sites ?? 0));
    expect(more).toEqual([1, 2]);
  });

  it("GET /admin/homes shows a closed home as closed, and one without answer or tables as down", async () => {
    const world = await World.create({}, "apac");
    const with_ = (bindings: Parameters<World["anotherIsolate"]>[0]) => statesOf(world.anotherIsolate(bindings));
    expect(await with_(closedHomeVars("apac", "main"))).toEqual([
      ["main", "closed"],
      ["apac", "closed"],
    ]);
    expect(await with_({ HOME_APAC: downDb(env.HOME_APAC) })).toEqual([
      ["main", "open"],
      ["apac", "down"],
    ]);
    expect(await with_({ HOME_EU_WEST: env.UNMIGRATED })).toEqual([
      ["main", "open"],
      ["apac", "open"],
      ["eu-west", "down"],
    ]);
  });

  it("GET /admin/homes shows a home with sites and no bound database as down, and its sites answer 503", async () => {
    const world = await World.create({}, "apac");
    const unbound = world.anotherIsolate({ HOME_APAC: undefined });
    expect(await statesOf(unbound)).toEqual([
      ["main", "open"],
      ["apac", "down"],
    ]);
    const answer = await expectUnwritten(world, () => unbound.create());
    expect([answer.status, answer.envelope]).toEqual([503, UNAVAILABLE]);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    const { status, body } = await call(unbound, "GET", `/admin/sites/${world.siteId}/sessions`);
    expect({ status, body }).toMatchObject(problem(503, "Temporarily unavailable"));
    expect((body as { detail: string }).detail).toBe("The home apac has no database: bind it as HOME_APAC.");
  });
});

describe("sites in two homes", () => {
  it.each(HOMES)(
    "sites in two homes both count chat ids from 1, and %s knows no session of the other home",
    async (home) => {
      const [world, other] = [await World.create({}, home), await World.create({}, OTHER[home])];
      expect(await world.chatId()).toBe(1);
      expect([await other.chatId(), await other.chatId()]).toEqual([1, 2]);
      const before = await other.stored();
      const foreign = await world.add(2);
      expect([foreign.status, foreign.envelope]).toEqual([404, NOT_FOUND]);
      expect((await world.add(1)).status).toBe(200);
      expect(await other.stored()).toEqual(before);
      const { participants } = await world.stored();
      expect(participants.map(({ session_id, agent_id }) => [session_id, agent_id])).toEqual([
        [1, 2],
        [1, 3],
      ]);
      const own = await call(world, "GET", `/admin/sites/${world.siteId}/sessions/1`);
      expect(own.body).toMatchObject({ chat_id: 1, participants: [{ agent_id: 2 }, { agent_id: 3 }] });
      expect((await call(world, "GET", `/admin/sites/${world.siteId}/sessions/2`)).status).toBe(404);
    },
  );

  it("a site's data is only in its home: the directory has the site, its route and its first audit entries", async () => {
    const world = await World.create({}, "apac");
    await world.add(await world.chatId(), {}, { "idempotency-key": "k" });
    const { results } = await env.DB.prepare(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite%'",
    ).all<{ name: string }>();
    const counts: Record<string, unknown> = {};
    for (const { name } of results) {
      const columns = await env.DB.prepare(`SELECT name FROM pragma_table_info('${name}')`).all();
      if (!columns.results.some((column) => column.name === "site_id")) continue;
      counts[name] = await env.DB.prepare(`SELECT count(*) AS n FROM ${name} WHERE site_id = ?`)
        .bind(world.siteId)
        .first("n");
    }
    expect(Object.keys(counts)).toEqual(expect.arrayContaining(["sessions", "nonces", "apps", "idempotency_keys"]));
    const nonZero = Object.fromEntries(Object.entries(counts).filter(([, n]) => n !== 0));
    expect(nonZero).toEqual({ app_routes: 1, audit_log: 2 });
  });

  it("an Idempotency-Key works in the home apac: the same session again, and 422 for another request", async () => {
    const world = await World.create({}, "apac");
    const key = { "idempotency-key": "order-17" };
    const first = await world.create({}, key);
    for (const isolate of [world, world.anotherIsolate()]) {
      const secondAnswer = await isolate.create({}, key);
      expect([secondAnswer.status, secondAnswer.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
      expect(secondAnswer.envelope).toEqual(first.envelope);
    }
    expect((await world.create({ content: "Another" }, key)).status).toBe(422);
    expect((await world.stored()).sessions).toHaveLength(1);
  });

  it("an appid of a site in apac cannot be taken by a site in main", async () => {
    const [world, other] = [await World.create({}, "apac"), await World.create()];
    const app = { name: "App", appid: world.appid, secret: world.secret };
    const answer = await call(other, "POST", `/admin/sites/${other.siteId}/apps`, app);
    expect(answer.status).toBe(409);
    expect((await world.create()).status).toBe(200);
  });
});

describe.each(HOMES)("the home %s without an answer", (home) => {
  it("a home that does not answer stops only its own sites, with 503 and Retry-After", async () => {
    const [world, other] = [await World.create({}, home), await World.create({}, OTHER[home])];
    const isolate = world.anotherIsolate({ [BINDING[home]]: downDb(home === "main" ? env.DB : env.HOME_APAC) });
    const refusal = await expectUnwritten(world, () => isolate.create());
    expect([refusal.status, refusal.envelope]).toEqual([503, UNAVAILABLE]);
    expect(Number(refusal.headers.get("retry-after"))).toBeGreaterThan(0);
    const otherWorld = Object.assign(world.anotherIsolate(isolate.env), { appid: other.appid, secret: other.secret });
    const answer = await otherWorld.create();
    expect([answer.status, answer.envelope]).toEqual([200, { code: 1, msg: "ok", data: { chat_id: 1 } }]);
    expect((await otherWorld.add(1)).status).toBe(200);
    expect((await otherWorld.create({}, { "x-chat-signature": "0".repeat(64) })).status).toBe(401);
    expect((await otherWorld.create({ content: "" })).status).toBe(400);
  });
});

describe("an operator, while apac does not answer", () => {
  it("an operator sees which home is down and can work with the others", async () => {
    const world = await World.create({ HOME_APAC: downDb(env.HOME_APAC) }, "apac");
    const other = await World.create();
    expect(await statesOf(world)).toEqual([
      ["main", "open"],
      ["apac", "down"],
    ]);
    const health = await world.fetch(new Request("http://worker/healthz"));
    expect([health.status, await health.json()]).toEqual([
      200,
      expect.objectContaining({ status: "degraded", directory: "ok", homes: { main: "ok", apac: "down" } }),
    ]);
    expect((await call(world, "GET", "/admin/audit")).body).toMatchObject({ homes_down: ["apac"] });
    expect((await call(world, "POST", "/admin/reseal")).body).toMatchObject({ homes_down: ["apac"] });
    for (const [method, path, body] of [
      ["GET", "agents", undefined],
      ["POST", "apps", { name: "App" }],
      ["PATCH", "agents/1", { name: "Renamed" }],
    ] as const) {
      const refusal = await call(world, method, `/admin/sites/${world.siteId}/${path}`, body);
      expect(refusal.status).toBe(503);
      const answer = await call(world, method, `/admin/sites/${other.siteId}/${path}`, body);
      expect(answer.status).toBeOneOf([200, 201]);
    }
  });

  it("an operator who repeats a failed call finishes the site or app, and makes none twice", async () => {
    const world = await World.create();
    let isDown = true;
    const batch = (statements: D1PreparedStatement[]) =>
      (isDown ? downDb(env.HOME_APAC) : env.HOME_APAC).batch(statements);
    const isolate = world.anotherIsolate({ HOME_APAC: replacing(env.HOME_APAC, { batch }) });
    const makeSite = () => call(isolate, "POST", "/admin/sites", { name: "Begun", home: "apac", first_chat_id: 70 });
    expect((await makeSite()).status).toBe(503);
    expect((await makeSite()).status).toBe(503);
    const rows = await env.DB.prepare("SELECT id, status FROM sites WHERE name = 'Begun'").all();
    expect(rows.results).toEqual([{ id: expect.any(Number), status: "creating" }]);
    isDown = false;
    const madeSite = await makeSite();
    expect([madeSite.status, madeSite.body]).toEqual([
      201,
      { id: rows.results[0]?.id, name: "Begun", home: "apac", status: "open" },
    ]);
    const { id } = madeSite.body as { id: number };
    const app = { name: "App", appid: `begun-${id}`, secret: "0123456789abcdef" };
    isDown = true;
    expect((await call(isolate, "POST", `/admin/sites/${id}/apps`, app)).status).toBe(503);
    isDown = false;
    const elsewhere = await call(isolate, "POST", `/admin/sites/${world.siteId}/apps`, app);
    expect(elsewhere.status).toBe(409);
    expect((await call(isolate, "POST", `/admin/sites/${id}/apps`, app)).status).toBe(201);
    expect((await call(isolate, "POST", `/admin/sites/${id}/agents`, { id: 1, name: "A" })).status).toBe(201);
    Object.assign(isolate, { appid: app.appid, secret: app.secret });
    expect(await isolate.chatId({ kefu_id: [1] })).toBe(70);
  });
});

describe("the directory without an answer", () => {
  it("calls to an app of apac work without the directory when the isolate or KV knows the app", async () => {
    const world = await World.create({}, "apac");
    await world.chatId();
    const bindings = { DB: downDb(env.DB) };
    const warm = world.anotherIsolate();
    await warm.chatId();
    Object.assign(warm, { env: { ...warm.env, ...bindings } });
    for (const isolate of [warm, world.anotherIsolate(bindings)]) {
      const chatId = await isolate.chatId();
      expect((await isolate.add(chatId)).status).toBe(200);
    }
    const rotation = await call(world, "POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 0 });
    const old = world.secret;
    const { secret } = rotation.body as { secret: string };
    for (const isolate of [warm, world.anotherIsolate(bindings)]) {
      expect((await Object.assign(isolate, { secret: old }).create()).status).toBe(401);
      expect((await Object.assign(isolate, { secret }).create()).status).toBe(200);
    }
    expect((await world.stored()).sessions).toHaveLength(6);
  });
});

describe("a home whose database was never migrated", () => {
  it("a home without migrated tables is down and accepts a site only after the migration", async () => {
    const inApac = await World.create({}, "apac");
    const refusal = await inApac.anotherIsolate({ HOME_APAC: env.UNMIGRATED }).create();
    expect([refusal.status, refusal.envelope]).toEqual([503, UNAVAILABLE]);
    expect(Number(refusal.headers.get("retry-after"))).toBeGreaterThan(0);

    const world = await World.create({ HOME_OC: env.UNMIGRATED });
    expect((await statesOf(world)).at(-1)).toEqual(["oc", "down"]);
    const makeSite = () => call(world, "POST", "/admin/sites", { name: "Down under", home: "oc" });
    const answer = await makeSite();
    expect({ status: answer.status, body: answer.body }).toEqual(problem(503, "Temporarily unavailable"));
    expect(answer.body).toMatchObject({ detail: expect.stringContaining("not migrated") });
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    const list = (await call(world, "GET", "/admin/sites?limit=100")).body as { items: Record<string, unknown>[] };
    const sites = list.items.filter(({ home }) => home === "oc");
    expect(sites).toMatchObject([{ name: "Down under", status: "creating" }]);
    const id = sites[0]?.id;
    const early = await call(world, "POST", `/admin/sites/${id}/apps`, { name: "App" });
    expect({ status: early.status, body: early.body }).toEqual(conflict("site_unfinished"));

    await applyD1Migrations(env.UNMIGRATED, env.MIGRATIONS);
    const madeSite = await makeSite();
    expect([madeSite.status, madeSite.body]).toEqual([201, { id, name: "Down under", home: "oc", status: "open" }]);
    expect((await homesOf(world)).at(-1)).toEqual({ name: "oc", sites: 1, status: "open" });
    const app = (await call(world, "POST", `/admin/sites/${id}/apps`, { name: "App" })).body as Record<string, string>;
    await call(world, "POST", `/admin/sites/${id}/agents`, { id: 1, name: "A" });
    Object.assign(world, { appid: app.appid, secret: app.secret });
    expect(await world.chatId({ kefu_id: [1] })).toBe(1);
    expect(await env.UNMIGRATED.prepare("SELECT site_id, id FROM sessions").all()).toMatchObject({
      results: [{ site_id: id, id: 1 }],
    });
  });
});
