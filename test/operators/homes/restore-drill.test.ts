import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { call, conflict, problem } from "../../support/admin-calls.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import { replacing } from "../../support/replacing.ts";
import { expectUnwritten } from "../../support/signed-routes.ts";
import { bookmarkDatabase } from "../../support/time-travel.ts";
import { eventStore } from "../../support/webhook-store.ts";
import { hmac, NOW, World } from "../../support/world.ts";

/** The steps of docs/operating/data-and-restore.md: close the home, restore it, reconcile it, look at the apps, open it. */

const UNAVAILABLE = { code: -1, msg: "服务暂时不可用", data: "" };
const NONCE_SECONDS = 1_860;
const SKIPPED = 1_000_000;

const withClosed = (world: World, home: string) => world.anotherIsolate(closedHomeVars(home));
const reconcile = (world: World, home: string, body?: unknown) =>
  call(world, "POST", `/admin/homes/${home}/restored`, body);

async function issue(world: World, siteId: number, name: string) {
  const { status, body } = await call(world, "POST", `/admin/sites/${siteId}/apps`, { name });
  expect(status).toBe(201);
  return body as { appid: string; secret: string };
}

/** Another isolate that signs for another app, on that app's site when it has its own. */
const as = (world: World, app: { appid: string; secret: string; siteId?: number }) =>
  Object.assign(world.anotherIsolate(), app);

const countSites = (db: D1Database) => db.prepare("SELECT count(*) AS n FROM home_sites").first("n");

/** A request that an eavesdropper has recorded. */
async function capture(world: World) {
  const body = JSON.stringify(world.createBody());
  return { body, headers: { "x-chat-signature": await hmac(world.secret, body) } };
}

describe("the home apac, restored", () => {
  it("the restored home apac gives no chat_id twice, accepts no earlier request again, and lists the apps to look at", async () => {
    const world = await World.create({}, "apac");
    const [rotatedApp, revokedApp] = [
      await issue(world, world.siteId, "Rotated"),
      await issue(world, world.siteId, "Revoked"),
    ];
    const chatIds = [await world.chatId(), await world.chatId(), await world.chatId()];
    const travelBack = await bookmarkDatabase(env.HOME_APAC);

    // The restore undoes these changes.
    const request = await capture(world);
    const first = await world.sendRaw("create_gd", request.body, request.headers);
    chatIds.push((first.envelope.data as { chat_id: number }).chat_id, await world.chatId(), await world.chatId());
    const rotation = await call(world, "POST", `/admin/apps/${rotatedApp.appid}/rotate`, { overlap_seconds: 0 });
    const { secret: nextSecret } = rotation.body as { secret: string };
    expect((await call(world, "DELETE", `/admin/apps/${revokedApp.appid}`)).status).toBe(204);
    const newApp = await issue(world, world.siteId, "Issued");
    expect((await as(world, newApp).create()).status).toBe(200);
    await call(world, "PATCH", `/admin/sites/${world.siteId}`, { name: "Renamed" });
    const late = await World.create({}, "apac");
    const lateIds = [await late.chatId(), await late.chatId()];

    // While the home is closed, no caller is served and no ranstr is used up.
    const shut = withClosed(world, "apac");
    const waiting = JSON.stringify(world.createBody({ timestamp: NOW }));
    const refusal = await expectUnwritten(world, () => shut.send("create_gd", waiting));
    expect([refusal.status, refusal.envelope]).toEqual([503, UNAVAILABLE]);
    expect(Number(refusal.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await call(shut, "GET", "/admin/homes")).body).toMatchObject({
      items: [
        { name: "main", status: "open" },
        { name: "apac", status: "closed" },
      ],
    });
    const elsewhere = await World.create();
    expect((await as(shut, elsewhere).create()).status).toBe(200);

    await travelBack();
    expect((await world.stored()).sessions).toHaveLength(3);
    const answer = await reconcile(shut, "apac");
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: {
        sites: await countSites(env.HOME_APAC),
        lifted_by: SKIPPED,
        erased_again: 0,
        erasures_left: 0,
        reopen_after: NOW + NONCE_SECONDS,
        settling_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        homes_down: [],
        sites_deleted_again: 0,
        tokens: [],
        people: [],
      },
    });
    const { reopen_after } = answer.body as { reopen_after: number };
    const list = await call(shut, "GET", "/admin/homes/apac/divergent?limit=100");
    const { items: apps } = list.body as { items: unknown[] };
    expect(apps).toHaveLength(4);
    expect(apps).toEqual(
      expect.arrayContaining([
        { appid: rotatedApp.appid, site_id: world.siteId, why: "rotated" },
        { appid: revokedApp.appid, site_id: world.siteId, why: "revoked" },
        { appid: newApp.appid, site_id: world.siteId, why: "missing" },
        { appid: late.appid, site_id: late.siteId, why: "missing" },
      ]),
    );
    const { items } = (await call(shut, "GET", `/admin/sites?cursor=${world.siteId - 1}&limit=1`)).body as never;
    expect(items).toMatchObject([{ id: world.siteId, name: "Renamed" }]);
    const row = await env.HOME_APAC.prepare("SELECT name FROM home_sites WHERE site_id = ?").bind(world.siteId).first();
    expect(row).toEqual({ name: "Renamed" });

    // The operator looks at the listed apps while the home is closed.
    expect((await call(shut, "DELETE", `/admin/apps/${revokedApp.appid}`)).status).toBe(204);
    const secondAnswer = await call(shut, "POST", `/admin/apps/${rotatedApp.appid}/rotate`, { overlap_seconds: 0 });
    for (const { appid, secret, siteId } of [{ ...newApp, siteId: world.siteId }, late]) {
      const importAnswer = await call(shut, "POST", `/admin/sites/${siteId}/apps`, { name: "App", appid, secret });
      expect(importAnswer.status).toBe(201);
    }
    await call(shut, "POST", `/admin/sites/${late.siteId}/agents`, { id: 1, name: "A" });

    // The home is open again.
    world.clock.now = reopen_after;
    for (const isolate of [world, world.anotherIsolate({ NONCES: undefined })]) {
      const replay = await expectUnwritten(world, () => isolate.sendRaw("create_gd", request.body, request.headers));
      expect(replay.status).toBe(401);
      expect(replay.headers.get("x-error-detail")).toContain("timestamp: must be within");
    }
    const fresh = [await world.chatId(), await world.anotherIsolate().chatId(), await as(world, newApp).chatId()];
    expect(fresh).toEqual([3 + SKIPPED + 1, 3 + SKIPPED + 2, 3 + SKIPPED + 3]);
    expect(Math.min(...fresh)).toBeGreaterThan(Math.max(...chatIds));
    const lateFresh = await as(world, late).chatId({ kefu_id: [1] });
    expect(lateFresh).toBeGreaterThan(Math.max(...lateIds));
    const { secret: newest } = secondAnswer.body as { secret: string };
    for (const secret of [rotatedApp.secret, nextSecret]) {
      expect((await as(world, { appid: rotatedApp.appid, secret }).create()).status).toBe(401);
    }
    expect((await as(world, { appid: rotatedApp.appid, secret: newest }).create()).status).toBe(200);
    expect((await as(world, revokedApp).create()).status).toBe(401);
  });

  it("the restored home apac gives no seq twice and serves the webhooks that the restore did not lose", async () => {
    const world = await World.create({}, "apac");
    const { id } = await newWebhook(world);
    await world.chatId();
    const travelBack = await bookmarkDatabase(env.HOME_APAC);
    await world.chatId();
    await call(world, "POST", `/admin/sites/${world.siteId}/webhooks/${id}/ping`);
    const late = await World.create({}, "apac");
    await newWebhook(late);
    await late.chatId();
    await travelBack();
    expect((await reconcile(withClosed(world, "apac"), "apac")).status).toBe(200);
    await world.chatId();
    await world.chatId();
    const { events, deliveries } = await eventStore(world);
    expect(events.map(({ seq }) => seq)).toEqual([1, SKIPPED + 2, SKIPPED + 3]);
    expect(deliveries.map(({ seq }) => seq)).toEqual([1, SKIPPED + 2, SKIPPED + 3]);
    // Only the home knew these webhooks, so the restore has lost them.
    expect(await eventStore(late)).toMatchObject({ site: { events: 0, event_seq_floor: SKIPPED }, webhooks: [] });
  });

  it("the restored home apac accepts no agents before its reconciliation for a site that it has lost", async () => {
    const travelBack = await bookmarkDatabase(env.HOME_APAC);
    const world = await World.create({}, "apac");
    await travelBack();
    const add = () => call(world, "POST", `/admin/sites/${world.siteId}/agents`, { id: 9, name: "Nine" });
    expect(await add()).toMatchObject(problem(404, "Not found"));
    const { audit } = await world.operated();
    expect(audit.filter(({ action }) => action === "agent.added")).toEqual([]);
    await reconcile(withClosed(world, "apac"), "apac");
    expect((await add()).status).toBe(201);
  });

  it("a restored home accepts an earlier request while its timestamp is fresh, so reopen_after waits", async () => {
    const world = await World.create({}, "apac");
    const travelBack = await bookmarkDatabase(env.HOME_APAC);
    const request = await capture(world);
    const send = (isolate: World) => isolate.sendRaw("create_gd", request.body, request.headers);
    expect((await send(world)).status).toBe(200);
    await travelBack();
    const { reopen_after } = (await reconcile(withClosed(world, "apac"), "apac")).body as { reopen_after: number };
    const early = world.anotherIsolate({ NONCES: undefined });
    early.clock.now = NOW + 300;
    expect((await send(early)).envelope).toMatchObject({ code: 1, data: { chat_id: SKIPPED + 1 } });
    // The widest tolerance and the latest timestamp that an earlier request may have.
    const wide = world.anotherIsolate({ NONCES: undefined, TIMESTAMP_TOLERANCE_SECONDS: "900" as never });
    const latest = JSON.stringify(world.createBody({ timestamp: NOW + 900 }));
    wide.clock.now = reopen_after;
    expect((await wide.send("create_gd", latest)).status).toBe(401);
  });
});

describe("the home main, restored", () => {
  it("the restored home main gets the sites and routes of apac back and gives no chat_id twice, while apac works", async () => {
    const world = await World.create();
    const chatIds = [await world.chatId(), await world.chatId()];
    const apacSite = await World.create({}, "apac");
    const travelBack = await bookmarkDatabase(env.DB);

    chatIds.push(await world.chatId(), await world.chatId());
    const lostWorld = await World.create({}, "apac");
    const newApp = await issue(apacSite, apacSite.siteId, "Issued in apac");
    await call(apacSite, "PATCH", `/admin/sites/${apacSite.siteId}`, { name: "Renamed", status: "closed" });
    expect(await lostWorld.chatId()).toBe(1);

    const shut = withClosed(world, "main");
    expect((await expectUnwritten(world, () => shut.create())).status).toBe(503);
    await travelBack();
    expect((await as(shut, lostWorld).create()).status).toBe(200);
    // A cold isolate finds no route, and apac uses the lost site's id.
    await env.CREDENTIALS.delete(`app:${lostWorld.appid}`);
    expect((await expectUnwritten(lostWorld, () => lostWorld.anotherIsolate().create())).status).toBe(401);
    // The directory has lost an id and an appid, so it must give out none while it is closed.
    for (const home of ["main", "apac"]) {
      const answer = await call(shut, "POST", "/admin/sites", { name: "Clash", home });
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "30"]);
    }
    const sameAppid = await call(shut, "POST", `/admin/sites/${apacSite.siteId}/apps`, {
      name: "App",
      appid: lostWorld.appid,
    });
    expect(sameAppid.body).toMatchObject({ status: 503, detail: "The home main is closed." });
    // Without closing, the home that uses the id refuses the new site.
    const clash = await call(world.anotherIsolate(), "POST", "/admin/sites", { name: "Clash", home: "apac" });
    expect({ status: clash.status, body: clash.body }).toEqual(conflict("site_id_taken"));
    expect(clash.body).toMatchObject({ detail: expect.stringContaining("POST /admin/homes/main/restored") });

    const answer = await reconcile(shut, "main");
    expect(answer.body).toEqual({
      sites: await countSites(env.DB),
      lifted_by: SKIPPED,
      erased_again: 0,
      erasures_left: 0,
      reopen_after: NOW + NONCE_SECONDS,
      settling_id: expect.any(String),
      homes_down: [],
      sites_deleted_again: 0,
      tokens: expect.any(Array),
      people: expect.any(Array),
    });
    const { body: list } = await call(shut, "GET", "/admin/homes/main/divergent");
    expect(list).toEqual({ items: [], next_cursor: null, homes_down: [] });
    expect((await lostWorld.anotherIsolate().create()).status).toBe(200);
    const { items } = (await call(shut, "GET", `/admin/sites?cursor=${apacSite.siteId - 1}`)).body as never;
    expect(items).toEqual([
      { id: apacSite.siteId, name: "Renamed", home: "apac", status: "closed", created_at: NOW },
      { id: lostWorld.siteId, name: "Site", home: "apac", status: "open", created_at: NOW },
    ]);
    await call(shut, "PATCH", `/admin/sites/${apacSite.siteId}`, { status: "open" });
    await env.CREDENTIALS.delete(`app:${newApp.appid}`);
    expect((await as(apacSite, newApp).create()).status).toBe(200);
    const madeSite = await call(world.anotherIsolate(), "POST", "/admin/sites", { name: "Clash", home: "apac" });
    expect(madeSite.status).toBe(201);
    expect((madeSite.body as { id: number }).id).toBeGreaterThan(lostWorld.siteId);

    world.clock.now = NOW + NONCE_SECONDS;
    const fresh = await world.anotherIsolate().chatId();
    expect(fresh).toBe(2 + SKIPPED + 1);
    expect(chatIds).toEqual([1, 2, 3, 4]);
  });
});

describe("tokens that were deleted before main was restored", () => {
  const make = (world: World, name: string, more: object = {}) =>
    call(world, "POST", "/admin/tokens", { name, role: "operator", ...more }).then(
      ({ body }) => body as { id: string; token: string },
    );
  const statusWith = async (world: World, token: string) =>
    (await world.fetch(new Request("http://worker/admin/sites", { headers: { authorization: `Bearer ${token}` } })))
      .status;

  it("the restored home main accepts tokens that were deleted since, lists them, and lets them be deleted again", async () => {
    const world = await World.create();
    const { siteId } = world;
    const [keptToken, deleted] = [await make(world, "A kept one"), await make(world, "B deleted", { site_id: siteId })];
    const short = await make(world, "C expires", { expires_in_days: 1 });
    const owners = await make(world, "D of an owner", { role: "owner" });
    const travelBack = await bookmarkDatabase(env.DB);
    const erase = () => call(world, "DELETE", `/admin/tokens/${deleted.id}`);
    expect((await erase()).status).toBe(204);
    expect(await statusWith(world, deleted.token)).toBe(401);

    await travelBack();
    const shut = withClosed(world, "main");
    shut.clock.now = NOW + 86_400;
    expect(await statusWith(shut, deleted.token)).toBe(200);
    const { body } = await reconcile(shut, "main");
    const { tokens } = body as { tokens: { id: string }[] };
    const ids = [keptToken, deleted, short, owners].map(({ id }) => id);
    expect(tokens.filter(({ id }) => ids.includes(id))).toEqual([
      { id: owners.id, name: "D of an owner", role: "owner", site_id: null, created_at: NOW },
      { id: keptToken.id, name: "A kept one", role: "operator", site_id: null, created_at: NOW },
      { id: deleted.id, name: "B deleted", role: "operator", site_id: siteId, created_at: NOW },
    ]);
    expect(JSON.stringify(body)).not.toContain("ast_");
    expect((await erase()).status).toBe(204);
    expect(await statusWith(shut, deleted.token)).toBe(401);
  });
});

describe("POST /admin/homes/:name/restored", () => {
  it("each reconciliation without a settling_id skips the given number of ids, for every site of that home only", async () => {
    const [world, other] = [await World.create({}, "apac"), await World.create()];
    const shut = withClosed(world, "apac");
    expect(await world.chatId()).toBe(1);
    expect((await reconcile(shut, "apac", { lift: 5 })).body).toMatchObject({ lifted_by: 5 });
    expect(await world.chatId()).toBe(7);
    await reconcile(shut, "apac", { lift: 5 });
    await reconcile(shut, "apac", { lift: 5 });
    expect(await world.chatId()).toBe(18);
    expect(await other.chatId()).toBe(1);
    const audit = (await call(world, "GET", "/admin/audit?limit=100")).body as { items: Record<string, unknown>[] };
    for (const home of ["main", "apac"]) {
      const entries = audit.items.filter((entry) => entry.action === "home.restored" && entry.home === home);
      const entry = { subject: "apac", site_id: null, details: { lifted_by: 5, settling_id: expect.any(String) } };
      expect(entries.slice(0, 3)).toMatchObject(Array(3).fill(entry));
    }
  });

  it("repeating a reconciliation with one settling_id skips ids once and leaves one audit row in each database", async () => {
    const world = await World.create({}, "apac");
    const shut = withClosed(world, "apac");
    const settling_id = crypto.randomUUID();
    const first = await reconcile(shut, "apac", { lift: 5, settling_id });
    expect(first.body).toMatchObject({ settling_id, lifted_by: 5, reopen_after: NOW + NONCE_SECONDS });
    expect(await world.chatId()).toBe(6);
    shut.clock.now = NOW + 100;
    const { sites } = first.body as { sites: number };
    expect((await reconcile(shut, "apac", { lift: 5, settling_id })).body).toEqual({
      settling_id,
      sites,
      lifted_by: 0,
      erased_again: 0,
      erasures_left: 0,
      reopen_after: NOW + NONCE_SECONDS,
      homes_down: [],
      sites_deleted_again: 0,
      tokens: [],
      people: [],
    });
    expect(await world.chatId()).toBe(7);
    const rows = "SELECT count(*) AS n FROM audit_log WHERE json_extract(details, '$.settling_id') = ?";
    for (const db of [env.DB, env.HOME_APAC]) expect(await db.prepare(rows).bind(settling_id).first("n")).toBe(1);
  });

  it("the reconciliation of a home skips no ids when its audit row cannot be written", async () => {
    const world = await World.create({}, "apac");
    await env.HOME_APAC.exec(
      "CREATE TRIGGER no_audit BEFORE INSERT ON audit_log WHEN new.action = 'home.restored' BEGIN SELECT RAISE(ABORT, 'no'); END",
    );
    try {
      expect((await reconcile(withClosed(world, "apac"), "apac", { lift: 5 })).status).toBe(500);
      expect(await world.chatId()).toBe(1);
    } finally {
      await env.HOME_APAC.exec("DROP TRIGGER no_audit");
    }
  });

  it("the reconciliation of an open home is 409 and changes nothing, unless the call forces it", async () => {
    const world = await World.create({}, "apac");
    const { status, body } = await reconcile(world, "apac", { lift: 5 });
    expect({ status, body }).toEqual(conflict("home_open"));
    expect(body).toMatchObject({ detail: expect.stringContaining("npm run deploy -- --close apac") });
    expect(await world.chatId()).toBe(1);
    expect((await reconcile(world, "apac", { lift: 5, force: true })).status).toBe(200);
    expect(await world.chatId()).toBe(7);
  });

  it.each<[field: string, message: string, values: unknown[]]>([
    ["lift", "must be an integer from 1 to 1000000000", [0, -1, 1.5, "5", null, 1_000_000_001]],
    ["settling_id", "must be 1 to 64 of A-Z a-z 0-9 _ -", ["", "a b", "x".repeat(65), 5, null]],
    ["force", "must be true or false", ["true"]],
  ])("the reconciliation of a home refuses a %s that %s", async (field, message, values) => {
    const world = await World.create({}, "apac");
    for (const value of values) {
      const { status, body } = await reconcile(withClosed(world, "apac"), "apac", { [field]: value });
      const expected = problem(400, "Invalid input", [{ field, message }]);
      expect([value, { status, body }]).toEqual([value, expected]);
    }
    expect(await world.chatId()).toBe(1);
  });

  it("the reconciliation of an unknown home is 404", async () => {
    const world = await World.create();
    for (const home of ["emea", "MAIN", "__proto__", "HOME_APAC"]) {
      for (const { status, body } of [
        await reconcile(world, home),
        await call(world, "GET", `/admin/homes/${home}/divergent`),
      ]) {
        expect([home, { status, body }]).toEqual([home, problem(404, "Not found")]);
        expect(body).toMatchObject({ detail: "There is no such home." });
      }
    }
  });

  it("the reconciliation of a home is 503 when KV fails or hangs, and a repeated call skips ids once", async () => {
    const world = await World.create({}, "apac");
    const settling_id = crypto.randomUUID();
    const put = () => Promise.reject(new Error("KV PUT failed: 500"));
    const isolate = withClosed(world, "apac");
    const silent = world.anotherIsolate({
      ...closedHomeVars("apac"),
      CREDENTIALS: replacing(env.CREDENTIALS, { put }),
    });
    const { status, body } = await reconcile(silent, "apac", { settling_id });
    expect({ status, body }).toEqual(problem(503, "Temporarily unavailable"));
    expect((await reconcile(isolate, "apac", { settling_id })).body).toMatchObject({ lifted_by: 0 });
    expect(await world.chatId()).toBe(1_000_001);
  });
});
