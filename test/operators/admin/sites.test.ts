import { describe, expect, it } from "vitest";
import { type AdminAnswer, call, problem } from "../../support/admin-calls.ts";
import { databaseOf } from "../../support/homes.ts";
import { newToken, useToken } from "../../support/new-token.ts";
import { replacing } from "../../support/replacing.ts";
import { expectUnwritten } from "../../support/signed-routes.ts";
import { NOW, World } from "../../support/world.ts";

const summary = ({ status, body }: AdminAnswer) => ({ status, body });
const bad = (field: string, message: string) => problem(400, "Invalid input", [{ field, message }]);

const FIRST_ID = "must be an integer from 1 to 1000000000000";
const UNKNOWN = { ...problem(404, "Not found"), body: { detail: "There is no such site." } };

const NO_EVENTS = { events: 0, event_seq_floor: 0, retention_days: null };

/** A site's rows in the directory and in the home. */
async function storedSite(id: number, home: string) {
  const rowIn = (db: D1Database, sql: string) => db.prepare(sql).bind(id).first();
  return {
    directory: await rowIn(databaseOf("main"), "SELECT * FROM sites WHERE id = ?"),
    home: await rowIn(databaseOf(home), "SELECT * FROM home_sites WHERE site_id = ?"),
  };
}

describe("POST /admin/sites", () => {
  it.each(["main", "apac"])(
    "a new site in %s is stored in its home and in the directory, and in no other home",
    async (home) => {
      const world = await World.create();
      const answer = await call(world, "POST", "/admin/sites", { name: "Shop", home, first_chat_id: 5_001 });
      expect(summary(answer)).toEqual({
        status: 201,
        body: { id: expect.any(Number), name: "Shop", home, status: "open" },
      });
      const { id } = answer.body as { id: number };
      expect(await storedSite(id, home)).toEqual({
        directory: {
          id,
          name: "Shop",
          home,
          first_chat_id: 5_001,
          status: "open",
          revision: 0,
          created_at: NOW,
          event_seq_floor: 0,
          retention_days: null,
        },
        home: {
          site_id: id,
          name: "Shop",
          status: "open",
          chat_id_floor: 5_000,
          revision: 0,
          created_at: NOW,
          ...NO_EVENTS,
        },
      });
      expect((await storedSite(id, home === "main" ? "apac" : "main")).home).toBeNull();
      const list = (await call(world, "GET", `/admin/sites?cursor=${id - 1}`)).body as { items: unknown[] };
      expect(list.items).toEqual([{ id, name: "Shop", home, status: "open", created_at: NOW }]);
      const audit = (await call(world, "GET", `/admin/audit?site_id=${id}`)).body as { items: unknown[] };
      const details = { name: "Shop", first_chat_id: 5_001 };
      expect(audit.items).toMatchObject([
        { home, action: "site.created", site_id: id, details },
        { home: "main", action: "site.begun", site_id: id, details: { ...details, home } },
      ]);
    },
  );

  it.each<[field: string, message: string, values: unknown[]]>([
    ["home", "must be one of main, apac", ["emea", "", "MAIN", "HOME_APAC", "constructor"]],
    ["home", "must be the name of a home", [5, null, ["main"]]],
    ["first_chat_id", FIRST_ID, [0, -1, 1.5, 2 ** 53, "7", null, 1_000_000_000_001]],
  ])("POST /admin/sites refuses a %s that %s, and stores no site", async (field, message, values) => {
    const world = await World.create();
    const before = await world.operated();
    for (const value of values) {
      const answer = await call(world, "POST", "/admin/sites", { name: "Shop", [field]: value });
      expect([value, summary(answer)]).toEqual([value, bad(field, message)]);
    }
    expect(await world.operated()).toEqual(before);
  });
});

describe.each(["main", "apac"])("PATCH /admin/sites/:site_id in %s", (home) => {
  const change = async (world: World, body: unknown) => call(world, "PATCH", `/admin/sites/${world.siteId}`, body);
  const actions = async ({ siteId }: World) => {
    const { results } = await databaseOf(home)
      .prepare(
        "SELECT action, details FROM audit_log WHERE site_id = ? AND action LIKE 'site.%' AND action NOT IN ('site.begun', 'site.created') ORDER BY id",
      )
      .bind(siteId)
      .all<{ action: string; details: string }>();
    return results.map(({ action, details }) => [action, JSON.parse(details)]);
  };

  it("a site is renamed, closed and opened in its home and in the directory", async () => {
    const world = await World.create({}, home);
    const { siteId: id } = world;
    for (const [body, name, status] of [
      [{ name: "B" }, "B", "open"],
      [{ status: "closed" }, "B", "closed"],
      [{ status: "closed" }, "B", "closed"],
      [{ name: "C", status: "open" }, "C", "open"],
    ] as const) {
      expect(summary(await change(world, body))).toEqual({
        status: 200,
        body: { id, name, home, status, events: false, retention_days: null },
      });
      expect(await storedSite(id, home)).toMatchObject({ directory: { name, status, home }, home: { name, status } });
    }
    expect(await actions(world)).toEqual([
      ["site.renamed", { from: "Site", to: "B" }],
      ["site.closed", { name: "B", from: "open", to: "closed" }],
      ["site.renamed", { from: "B", to: "C" }],
      ["site.opened", { name: "C", from: "closed", to: "open" }],
    ]);
  });

  it("PATCH turns the events of a site on and off", async () => {
    const world = await World.create({}, home);
    for (const events of [true, true, false]) {
      expect(summary(await change(world, { events }))).toMatchObject({ status: 200, body: { events } });
      expect(await storedSite(world.siteId, home)).toMatchObject({ home: { events: Number(events) } });
    }
    expect(summary(await change(world, { events: 1 }))).toEqual(bad("events", "must be true or false"));
    expect(await actions(world)).toEqual([
      ["site.events_on", { from: false, to: true }],
      ["site.events_off", { from: true, to: false }],
    ]);
  });

  it("after PATCH of first_chat_id the next session gets that chat_id", async () => {
    const world = await World.create({}, home);
    expect(await world.chatId()).toBe(1);
    expect((await change(world, { first_chat_id: 1_000 })).status).toBe(200);
    expect((await change(world, { first_chat_id: 1_000 })).status).toBe(200);
    expect([await world.chatId(), await world.chatId()]).toEqual([1_000, 1_001]);
    expect(await actions(world)).toEqual([["site.first_chat_id_set", { first_chat_id: 1_000, from: 1, to: 1_000 }]]);
  });

  it("only an owner may set first_chat_id; an operator may change everything else", async () => {
    const world = await World.create({}, home);
    const path = `/admin/sites/${world.siteId}`;
    const { token } = await newToken({ role: "operator" });
    const before = [await storedSite(world.siteId, home), await world.operated()];
    for (const [method, at] of [
      ["PATCH", path],
      ["POST", "/admin/sites"],
    ] as const) {
      const answer = await useToken(world, token, method, at, { name: "New", first_chat_id: 2 });
      expect([at, answer]).toMatchObject([at, { status: 403, body: { reason: "role_too_low" } }]);
    }
    expect([await storedSite(world.siteId, home), await world.operated()]).toEqual(before);
    expect((await useToken(world, token, "PATCH", path, { name: "New" })).status).toBe(200);
    expect((await useToken(world, token, "POST", "/admin/sites", { name: "New", home, first_chat_id: 1 })).status).toBe(
      201,
    );
  });

  it("PATCH refuses a first_chat_id that may already be given, and makes none of the call's other changes", async () => {
    const world = await World.create({}, home);
    for (let i = 0; i < 3; i++) await world.chatId();
    const before = [await storedSite(world.siteId, home), await world.operated()];
    for (const first_chat_id of [2, 3]) {
      expect(summary(await change(world, { first_chat_id, name: "Renamed", status: "closed" }))).toEqual(
        bad("first_chat_id", "must be above 3, the highest chat_id that the site has given or skipped"),
      );
    }
    expect([await storedSite(world.siteId, home), await world.operated()]).toEqual(before);
    expect((await change(world, { first_chat_id: 4 })).status).toBe(200);
    expect(await world.chatId()).toBe(4);
  });

  const WRONG: [body: unknown, field: string, message: string][] = [
    [{}, "", "must change name, status, first_chat_id, events or retention_days"],
    [{ home: "main", name: "x" }, "home", "is not a field of this call"],
    [{ status: "creating" }, "status", 'must be "open" or "closed"'],
    [{ status: true }, "status", 'must be "open" or "closed"'],
    [{ first_chat_id: 0 }, "first_chat_id", FIRST_ID],
    [{ first_chat_id: "9" }, "first_chat_id", FIRST_ID],
  ];

  it("PATCH of a site refuses wrong changes and changes nothing", async () => {
    const world = await World.create({}, home);
    const before = [await storedSite(world.siteId, home), await world.operated()];
    for (const [body, field, message] of WRONG) {
      expect([body, summary(await change(world, body))]).toEqual([body, bad(field, message)]);
    }
    expect([await storedSite(world.siteId, home), await world.operated()]).toEqual(before);
  });

  it("PATCH of a site writes the missing copy in the directory when the same call is repeated", async () => {
    const world = await World.create({}, home);
    const db = databaseOf("main");
    const prepare = (sql: string) => {
      if (/^update "sites"/i.test(sql)) throw new Error("D1_ERROR: D1 DB is overloaded.");
      return db.prepare(sql);
    };
    const isolate = world.anotherIsolate({ DB: replacing(db, { prepare }) });
    expect((await change(isolate, { status: "closed" })).status).toBe(503);
    expect(await storedSite(world.siteId, home)).toMatchObject({
      directory: { status: "open" },
      home: { status: "closed" },
    });
    expect((await change(world, { status: "closed" })).status).toBe(200);
    expect(await storedSite(world.siteId, home)).toMatchObject({ directory: { status: "closed" } });
  });
});

it("PATCH /admin/sites/:site_id is 404 for an unknown or malformed id", async () => {
  const world = await World.create();
  for (const id of ["0", "-1", "1.5", "abc", "999999"]) {
    expect(summary(await call(world, "PATCH", `/admin/sites/${id}`, { name: "x" }))).toMatchObject(UNKNOWN);
  }
});

describe.each(["main", "apac"])("a closed site in %s", (home) => {
  it.each([
    ["warm", (world: World) => world],
    ["cold", (world: World) => world.anotherIsolate()],
  ])(
    "a call to a closed site is 503 in a %s isolate, and the same request is accepted when the site is open",
    async (_, other) => {
      const world = await World.create({}, home);
      const chatId = await world.chatId();
      const isolate = other(world);
      const status = (to: string) => world.admin("PATCH", `/admin/sites/${world.siteId}`, { status: to });
      expect((await status("closed")).status).toBe(200);
      const requests = [
        ["create_gd", JSON.stringify(world.createBody())],
        ["add_kf", JSON.stringify(world.addBody(chatId))],
      ] as const;
      const key = { "idempotency-key": "k" };
      for (const [operation, text] of requests) {
        const answer = await expectUnwritten(world, () => isolate.send(operation, text, key));
        expect([answer.status, answer.envelope]).toEqual([503, { code: -1, msg: "服务暂时不可用", data: "" }]);
        expect(answer.headers.get("retry-after")).toBe("30");
        expect(answer.headers.get("x-error-detail")).toBe("the site is closed for now");
      }
      expect((await status("open")).status).toBe(200);
      isolate.clock.now += 200;
      for (const [operation, text] of requests) {
        const answer = await isolate.send(operation, text, key);
        expect([answer.status, answer.headers.has("idempotency-replayed")]).toEqual([200, false]);
      }
      expect((await world.stored()).sessions).toHaveLength(2);
    },
  );

  it("a closed site answers a wrong signature with 401, and other sites of its home work", async () => {
    const [world, other] = [await World.create({}, home), await World.create({}, home)];
    await world.admin("PATCH", `/admin/sites/${world.siteId}`, { status: "closed" });
    const answer = await world.create({}, { "x-chat-signature": "0".repeat(64) });
    expect([answer.status, answer.headers.has("x-error-detail")]).toEqual([401, false]);
    expect((await other.create()).status).toBe(200);
    expect((await world.admin("GET", `/admin/sites/${world.siteId}/sessions`)).status).toBe(200);
  });
});
