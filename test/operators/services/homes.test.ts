import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { systemRuntime } from "../../../src/core/runtime.ts";
import { NONCE_SECONDS } from "../../../src/core/signed/kv-nonces.ts";
import { issueApp } from "../../../src/operators/services/apps.ts";
import { listDivergentApps } from "../../../src/operators/services/divergent-apps.ts";
import { listHomes, reconcileHome, reconcileSchema } from "../../../src/operators/services/homes.ts";
import { changeSite, createSite, findSite } from "../../../src/operators/services/sites.ts";
import { updateSiteCopy } from "../../../src/operators/store/directory/sites.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { downDb } from "../../support/down-db.ts";
import { databaseOf } from "../../support/homes.ts";
import { replacing } from "../../support/replacing.ts";
import { contextAt } from "../../support/service-context.ts";
import { bookmarkDatabase } from "../../support/time-travel.ts";
import { NOW, type ReplacedBindings, World } from "../../support/world.ts";

/** Uses the real KV, because a reconciliation compares a home with the records that were published there. */
const context = (bindings: ReplacedBindings = {}) => contextAt(NOW, { CREDENTIALS: env.CREDENTIALS, ...bindings });
const reconcile = (home: string, skip = 1_000_000, bindings: ReplacedBindings = {}) =>
  reconcileHome(context({ ...closedHomeVars(home), ...bindings }), { home, skip });
const divergent = async (home: string, bindings: ReplacedBindings = {}) =>
  (await listDivergentApps(context(bindings), { home, limit: 100 })).items;

const siteRow = (siteId: number) => env.DB.prepare("SELECT * FROM sites WHERE id = ?").bind(siteId).first();
const homeRow = (home: string, siteId: number) =>
  databaseOf(home).prepare("SELECT * FROM home_sites WHERE site_id = ?").bind(siteId).first();
const count = (db: D1Database, table: string) => db.prepare(`SELECT count(*) AS n FROM ${table}`).first<number>("n");
const floors = async (home: string) =>
  (await databaseOf(home).prepare("SELECT site_id, chat_id_floor FROM home_sites ORDER BY 1").all()).results;

const admin = async (world: World, method: string, path: string, body?: unknown) => {
  const answer = await world.admin(method, path, body);
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
};

describe("the list of homes", () => {
  const statusesOf = async (bindings: ReplacedBindings = {}) =>
    Object.fromEntries((await listHomes(contextAt(NOW, bindings))).map(({ name, status }) => [name, status]));

  it("the list of homes has each home, main first, with the number of its sites and whether it is open", async () => {
    await World.create();
    for (const _ of [1, 2]) await World.create({}, "apac");
    const homes = await listHomes(contextAt(NOW));
    expect(homes).toEqual([
      { name: "main", sites: await count(env.DB, "home_sites"), status: "open" },
      { name: "apac", sites: await count(env.HOME_APAC, "home_sites"), status: "open" },
    ]);
    expect(homes[1]?.sites).toBeGreaterThan(1);
  });

  it("the list of homes shows a closed home as closed, and a silent or unmigrated one as down", async () => {
    expect(await statusesOf(closedHomeVars("apac"))).toEqual({ main: "open", apac: "closed" });
    expect(await statusesOf({ HOME_APAC: downDb(env.HOME_APAC) })).toEqual({ main: "open", apac: "down" });
    const prepare = () => env.HOME_APAC.prepare("SELECT site_id FROM no_such_table");
    const empty = replacing(env.HOME_APAC, {
      prepare: () => replacing(prepare(), { bind: () => prepare() }),
    });
    expect(await statusesOf({ HOME_APAC: empty })).toEqual({ main: "open", apac: "down" });
  });

  it("the list of homes includes a home that has sites but no bound database", async () => {
    await World.create({}, "apac");
    expect(await statusesOf({ HOME_APAC: undefined })).toEqual({ main: "open", apac: "down" });
  });
});

describe("a home that was restored", () => {
  it("a restored home gets its lost sites back, takes names and statuses from the directory, and gives no chat id twice", async () => {
    const [keptWorld, renamedWorld] = [await World.create({}, "apac"), await World.create({}, "apac")];
    await keptWorld.chatId();
    const restore = await bookmarkDatabase(env.HOME_APAC);
    const newSite = await createSite(context(), { name: "Lost", home: "apac", firstChatId: 5_000 });
    await issueApp(context(), { site: newSite, name: "N", appid: `lost-${newSite.id}` });
    const chatIds = [await keptWorld.chatId({ sbs: "b" }), await keptWorld.chatId({ sbs: "c" })];
    const change = { name: "New", status: "closed" as const };
    await changeSite(context(), { site: await findSite(context(), renamedWorld), change });
    await restore();
    expect(await homeRow("apac", newSite.id)).toBeNull();

    const result = await reconcile("apac");
    expect(result).toEqual({
      reconciliationId: expect.stringMatching(/^[0-9a-f]{32}$/),
      sites: await count(env.HOME_APAC, "home_sites"),
      skippedBy: 1_000_000,
      erasures: { done: 0, left: 0 },
      reopenAfter: NOW + NONCE_SECONDS,
      homesDown: [],
      sitesDeletedAgain: 0,
      tokens: [],
      people: [],
    });
    expect(await divergent("apac")).toEqual([{ appid: `lost-${newSite.id}`, siteId: newSite.id, why: "missing" }]);
    expect(await homeRow("apac", newSite.id)).toMatchObject({ name: "Lost", status: "open", chat_id_floor: 1_004_999 });
    expect(await homeRow("apac", renamedWorld.siteId)).toMatchObject({ ...change, chat_id_floor: 1_000_000 });
    expect(await homeRow("apac", keptWorld.siteId)).toMatchObject({ status: "open", chat_id_floor: 1_000_001 });
    const next = await keptWorld.anotherIsolate().chatId({ sbs: "d" });
    expect([chatIds, next]).toEqual([[2, 3], 1_000_002]);
    const entry = "SELECT site_id, subject, details FROM audit_log WHERE action = 'home.restored' ORDER BY id DESC";
    const details = JSON.stringify({ lifted_by: 1_000_000, settling_id: result.reconciliationId });
    for (const db of [env.HOME_APAC, env.DB]) {
      expect(await db.prepare(entry).first()).toEqual({ site_id: null, subject: "apac", details });
    }

    // The appid belongs to the site, which may issue the app again.
    await issueApp(context(), { site: newSite, name: "N", appid: `lost-${newSite.id}` });
    await reconcile("apac", 5);
    expect(await homeRow("apac", keptWorld.siteId)).toMatchObject({ chat_id_floor: 1_000_007 });
    expect(await homeRow("apac", newSite.id)).toMatchObject({ chat_id_floor: 1_005_004 });
  });

  it("a restored home keeps a first_chat_id that was set after the restore point", async () => {
    const world = await World.create({}, "apac");
    const restore = await bookmarkDatabase(env.HOME_APAC);
    await changeSite(context(), { site: await findSite(context(), world), change: { firstChatId: 1_000_000_000 } });
    const chatIds = await world.chatId();
    await restore();
    await reconcile("apac", 10);
    expect(chatIds).toBe(1_000_000_000);
    expect(await world.anotherIsolate().chatId()).toBeGreaterThan(chatIds);
    expect(await homeRow("apac", world.siteId)).toMatchObject({ chat_id_floor: 1_000_000_009 });
  });

  it("a restored home lists exactly the apps that were revoked or rotated since, according to KV", async () => {
    const [same, revoked, rotated, both] = await Promise.all([1, 2, 3, 4].map(() => World.create({}, "apac")));
    if (!same || !revoked || !rotated || !both) throw new Error("no worlds");
    await admin(both, "DELETE", `/admin/apps/${both.appid}`);
    const restore = await bookmarkDatabase(env.HOME_APAC);
    await admin(revoked, "DELETE", `/admin/apps/${revoked.appid}`);
    await admin(rotated, "POST", `/admin/apps/${rotated.appid}/rotate`, { overlap_seconds: 0 });
    await restore();
    const worlds = [same, revoked, rotated, both].map(({ appid }) => appid);
    await reconcile("apac", 1);
    const apps = (await divergent("apac")).filter(({ appid }) => worlds.includes(appid));
    expect(apps.sort((a, b) => (a.why < b.why ? -1 : 1))).toEqual([
      { appid: revoked.appid, siteId: revoked.siteId, why: "revoked" },
      { appid: rotated.appid, siteId: rotated.siteId, why: "rotated" },
    ]);
  });

  it("a restored home lists only missing apps when KV is not bound", async () => {
    const world = await World.create({}, "apac");
    const restore = await bookmarkDatabase(env.HOME_APAC);
    await admin(world, "DELETE", `/admin/apps/${world.appid}`);
    await restore();
    await reconcile("apac", 1, { CREDENTIALS: undefined });
    const apps = await divergent("apac", { CREDENTIALS: undefined });
    expect(apps.filter(({ appid }) => appid === world.appid)).toEqual([]);
  });

  it.each<[string, string, ReplacedBindings]>([
    ["the home", "apac", { HOME_APAC: downDb(env.HOME_APAC) }],
    ["the directory", "apac", { DB: downDb(env.DB) }],
  ])("the reconciliation of a home skips no ids when %s does not answer", async (_, home, bindings) => {
    await World.create({}, home);
    const before = await floors(home);
    await expect(reconcile(home, 1_000, bindings)).rejects.toThrow();
    expect(await floors(home)).toEqual(before);
  });

  it.each(["list", "get", "put"])(
    "a home is not reconciled while KV, which holds its floors, refuses %s()",
    async (method) => {
      const world = await World.create({}, "apac");
      await reconcile("apac", 1);
      const fail = async () => Promise.reject(new Error("KV is down"));
      const attempt = reconcile("apac", 1_000, { CREDENTIALS: replacing(env.CREDENTIALS, { [method]: fail }) });
      await expect(attempt).rejects.toMatchObject({ code: "unavailable", context: { reason: "kv_unavailable" } });
      expect(await homeRow("apac", world.siteId)).toMatchObject({ chat_id_floor: method === "put" ? 1_001 : 1 });
    },
  );

  it("reconciling a home takes the newer status of home and directory, and a late older copy does not overwrite it", async () => {
    const world = await World.create({}, "apac");
    const site = await findSite(context(), world);
    const restore = await bookmarkDatabase(env.HOME_APAC);
    await changeSite(context(), { site, change: { status: "closed" } });
    await restore();
    await reconcile("apac", 1);
    expect(await homeRow("apac", world.siteId)).toMatchObject({ status: "closed", revision: 1 });
    // The directory missed these two changes, but the home answered calls by them, so the home's values stay.
    const withoutDirectory = context({ DB: downDb(env.DB) });
    for (const status of ["open", "closed"] as const) {
      await expect(changeSite(withoutDirectory, { site, change: { status, name: "Later" } })).rejects.toThrow();
    }
    await reconcile("apac", 1);
    expect(await homeRow("apac", world.siteId)).toMatchObject({ status: "closed", name: "Later", revision: 3 });
    const copy = { firstChatId: 1, retentionDays: null };
    await updateSiteCopy(systemRuntime, env.DB, world.siteId, { ...copy, name: "New", status: "open", revision: 5 });
    await updateSiteCopy(systemRuntime, env.DB, world.siteId, { ...copy, name: "Old", status: "closed", revision: 4 });
    expect(await findSite(context(), world)).toMatchObject({ name: "New", status: "open", revision: 5 });
    // A reconciliation may raise the directory's first_chat_id.
    const newCopy = { ...copy, name: "New", status: "open" } as const;
    await updateSiteCopy(systemRuntime, env.DB, world.siteId, { ...newCopy, firstChatId: 9, revision: 6 });
    await updateSiteCopy(systemRuntime, env.DB, world.siteId, { ...newCopy, firstChatId: 4, revision: 7 });
    expect(await findSite(context(), world)).toMatchObject({ firstChatId: 9, revision: 7 });
  });

  it("a restored home starts at the first_chat_id that was set, even when the directory saw only a later change", async () => {
    const world = await World.create({}, "apac");
    const site = await findSite(context(), world);
    const restore = await bookmarkDatabase(env.HOME_APAC);
    const withoutDirectory = context({ DB: downDb(env.DB) });
    await changeSite(withoutDirectory, { site, change: { firstChatId: 5_000_000 } }).catch(() => {});
    await changeSite(context(), { site, change: { name: "Later" } });
    await restore();
    await reconcile("apac", 1);
    expect(await homeRow("apac", world.siteId)).toMatchObject({ name: "Later", chat_id_floor: 5_000_000 });
  });

  it("a home that is not bound cannot be reconciled", async () => {
    await expect(reconcile("eu")).rejects.toMatchObject({ code: "not_found", context: { reason: "home_unknown" } });
  });

  it("the reconciliation of a home skips 1,000,000 ids by default, and up to 1,000,000,000", () => {
    expect(reconcileSchema.parse({})).toEqual({ lift: 1_000_000, force: false });
    for (const lift of [1, 1_000_000_000]) expect(reconcileSchema.safeParse({ lift }).success).toBe(true);
    for (const lift of [0, 1_000_000_001, 1.5, "1", null])
      expect(reconcileSchema.safeParse({ lift }).success).toBe(false);
  });
});

describe("a directory that was restored", () => {
  it("a restored directory gets the sites and routes of other homes back, and their apps work in cold isolates", async () => {
    const earlier = await World.create({}, "apac");
    const name = `begun ${crypto.randomUUID()}`;
    const input = { name, home: "apac", firstChatId: 30 };
    await createSite(context({ HOME_APAC: downDb(env.HOME_APAC) }), input).catch(() => {});
    const restore = await bookmarkDatabase(env.DB);
    const newSite = await createSite(context(), input);
    const world = await World.create({}, "apac");
    await changeSite(context(), {
      site: await findSite(context(), earlier),
      change: { name: "New", status: "closed" },
    });
    await restore();
    expect([await siteRow(world.siteId), await siteRow(newSite.id)]).toMatchObject([null, { status: "creating" }]);
    const cold = () => world.anotherIsolate({ CREDENTIALS: undefined }).create();
    expect((await cold()).status).toBe(401);

    const { sites } = await reconcile("main");
    const apps = await divergent("main");
    expect([apps.filter(({ siteId }) => siteId === world.siteId), sites]).toEqual([
      [],
      await count(env.DB, "home_sites"),
    ]);
    expect(await siteRow(world.siteId)).toMatchObject({ name: "Site", home: "apac", status: "open", first_chat_id: 1 });
    expect(await siteRow(newSite.id)).toMatchObject({ name, home: "apac", status: "open", first_chat_id: 30 });
    expect(await siteRow(earlier.siteId)).toMatchObject({ name: "New", status: "closed" });
    expect((await cold()).status).toBe(200);
    expect(await world.anotherIsolate().chatId({ sbs: "b" })).toBe(2);
  });

  it("reconciling main changes no existing route of an appid", async () => {
    const [owner, other] = [await World.create(), await World.create({}, "apac")];
    await env.HOME_APAC.prepare("UPDATE apps SET appid = ? WHERE appid = ?").bind(owner.appid, other.appid).run();
    await reconcile("main", 1);
    const route = env.DB.prepare("SELECT site_id FROM app_routes WHERE appid = ?").bind(owner.appid);
    expect(await route.first("site_id")).toBe(owner.siteId);
    await env.HOME_APAC.prepare("UPDATE apps SET appid = ? WHERE appid = ?").bind(other.appid, owner.appid).run();
  });

  it("reconciling main names the homes that are down and reconciles the others", async () => {
    const world = await World.create();
    const bindings = { HOME_APAC: downDb(env.HOME_APAC) };
    const { homesDown } = await reconcile("main", 1, bindings);
    const list = await listDivergentApps(context(bindings), { home: "main", limit: 100 });
    expect([homesDown, list]).toEqual([["apac"], { items: [], nextCursor: null, homesDown: ["apac"] }]);
    expect(await homeRow("main", world.siteId)).toMatchObject({ chat_id_floor: 1 });
  });

  it("reconciling main makes no route to an app whose site id now belongs to another site, and names the app", async () => {
    const restore = await bookmarkDatabase(env.DB);
    const lostWorld = await World.create({}, "apac");
    await restore();
    const newOwner = await World.create();
    expect(newOwner.siteId).toBe(lostWorld.siteId);
    await reconcile("main", 1);
    expect(await divergent("main")).toEqual([{ appid: lostWorld.appid, siteId: lostWorld.siteId, why: "unrouted" }]);
    const routes = env.DB.prepare("SELECT site_id FROM app_routes WHERE appid = ?").bind(lostWorld.appid);
    expect(await routes.first()).toBeNull();
    expect(await findSite(context(), newOwner)).toMatchObject({ home: "main" });
    expect((await newOwner.create()).status).toBe(200);
    await env.CREDENTIALS.delete(`app:${lostWorld.appid}`);
    expect((await lostWorld.create()).status).toBe(401);
    await env.HOME_APAC.batch(
      ["apps", "agents", "home_sites"].map((table) =>
        env.HOME_APAC.prepare(`DELETE FROM ${table} WHERE site_id = ?`).bind(lostWorld.siteId),
      ),
    );
  });

  it("reconciling main skips ids only for the sites of main", async () => {
    const [world, far] = [await World.create(), await World.create({}, "apac")];
    await reconcile("main", 100);
    expect([await world.chatId(), await far.chatId()]).toEqual([101, 1]);
  });
});
