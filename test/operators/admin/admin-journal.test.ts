import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { firstRequestIdAt, newRequestId } from "../../../src/core/request-id.ts";
import { systemRuntime } from "../../../src/core/runtime.ts";
import { countRefusals } from "../../../src/operators/store/home/refusals.ts";
import { call, problem } from "../../support/admin-calls.ts";
import { downAround, downDb } from "../../support/down-db.ts";
import { Faults, faultyD1 } from "../../support/faulty-bindings.ts";
import { databaseOf } from "../../support/homes.ts";
import { JournalConsumer, journalOf, keepingJournal } from "../../support/journal.ts";
import { newRefusal } from "../../support/new-refusal.ts";
import { newSite } from "../../support/new-site.ts";
import { newToken, useToken } from "../../support/new-token.ts";
import { startCall } from "../../support/patient-fetch.ts";
import { NOW, World } from "../../support/world.ts";

type Item = Record<string, unknown> & { request_id: string };
type Page = { items: Item[]; next_cursor: string | null };

/** A request id made at this time, in Unix seconds. */
const idAt = (at: number) => newRequestId({ ...systemRuntime, now: () => at * 1000 });

/** A world whose refused calls reach the journal when `settle` is called. */
async function journaled(home = "main", bindings = {}) {
  const { sent, JOURNAL } = keepingJournal();
  const world = await World.create({ JOURNAL, ...bindings }, home);
  const consumer = new JournalConsumer();
  const settle = async () => void (await consumer.write(sent.splice(0)));
  const refusals = (query = "") => call(world, "GET", `/admin/sites/${world.siteId}/refusals${query}`);
  const items = async (query = "") => {
    await settle();
    const { status, body } = await refusals(query);
    expect(status).toBe(200);
    return (body as Page).items;
  };
  return { world, settle, refusals, items };
}

describe("a refused call of a known app", () => {
  it("a refused call is in the journal with its answer, its reason, the secret that verified, and the client's network", async () => {
    const { world, items } = await journaled("apac");
    const answer = await world.create({ timestamp: NOW - 301 }, { "cf-connecting-ip": "192.0.2.77" });
    const { version } = (await world.operated()).apps[0] as { version: string };
    expect(await items()).toEqual([
      {
        request_id: answer.headers.get("x-request-id"),
        at: NOW,
        appid: world.appid,
        operation: "create_gd",
        status: 401,
        reason: "timestamp_stale",
        secret: version,
        client: "192.0.2.0/24",
        skipped: 0,
        drill: null,
        detail: `timestamp: must be within 300 s of ${NOW}, Unix seconds`,
      },
    ]);
  });

  it("a refused call reaches the journal later when its home was down at first", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { sent, JOURNAL } = keepingJournal();
    const world = await World.create({ JOURNAL }, "apac");
    await world.create();
    const isolate = world.anotherIsolate({ HOME_APAC: downDb(env.HOME_APAC) });
    expect((await isolate.create()).status).toBe(503);
    expect(await new JournalConsumer({ HOME_APAC: downDb(env.HOME_APAC) }).write(sent)).toEqual({ 0: 30 });
    await new JournalConsumer().write(sent, 2);
    expect(await journalOf(world)).toMatchObject([{ reason: "d1_unavailable", status: 503 }]);
    vi.restoreAllMocks();
  });

  it("a refused call is answered before the queue has its journal row", async () => {
    const order: string[] = [];
    const send = async () => {
      await scheduler.wait(20);
      order.push("row");
    };
    const world = await World.create({ JOURNAL: { send } as unknown as Queue });
    await world.create();
    const { answer, rest } = await startCall(world, "create_gd", world.createBody({ timestamp: 1 }));
    await answer;
    order.push("answer");
    await rest();
    expect(order).toEqual(["answer", "row"]);
  });

  it("the journal shows the status that the caller got, also with ERROR_STATUS always-200", async () => {
    const { world, items } = await journaled("main", { ERROR_STATUS: "always-200" });
    await world.create({ timestamp: 1 });
    expect(await items()).toMatchObject([{ status: 200, reason: "timestamp_stale" }]);
  });

  it("the journal has only the network of a client's address", async () => {
    const networks: [address: string, client: string | null][] = [
      ["192.0.2.77", "192.0.2.0/24"],
      ["2001:db8:7:1:2:3:4:5", "2001:db8:7::/48"],
      ["2001:db8::5", "2001:db8:0::/48"],
      ["::1", "0:0:0::/48"],
      ["::ffff:192.0.2.77", "0:0:0::/48"],
      ["999.1.1.1", null],
      ["dead:beefbeefbeefbee:cafe", null],
      [":::::", null],
      ["localhost", null],
    ];
    const { world, items } = await journaled();
    const ids: (string | null)[] = [];
    for (const [address] of networks) {
      const { headers } = await world.anotherIsolate().create({ timestamp: 1 }, { "cf-connecting-ip": address });
      ids.push(headers.get("x-request-id"));
    }
    const clients = new Map((await items()).map(({ request_id, client }) => [request_id, client]));
    expect(networks.map(([address], i) => [address, clients.get(ids[i] ?? "")])).toEqual(networks);
  });

  it("the journal has the first 500 characters of a longer detail", async () => {
    const { world, items } = await journaled();
    const wrong = Object.fromEntries(Object.keys(world.createBody()).map((field) => [field, null]));
    const { appid } = world;
    const { headers } = await world.create({
      ...wrong,
      appid,
      timestamp: NOW,
      ranstr: "r",
      title: 7,
      metadata: 7,
      sender_type: 7,
    });
    const detail = headers.get("x-error-detail") ?? "";
    expect(detail.length).toBeGreaterThan(500);
    expect(await items()).toMatchObject([{ detail: detail.slice(0, 500) }]);
  });

  it("the journal names no secret for a call when none verified it", async () => {
    const { world, items } = await journaled();
    await world.create({}, { "x-chat-signature": "0".repeat(64) });
    expect(await items()).toMatchObject([{ secret: null }]);
  });
});

describe("a request id", () => {
  it("a request id is not taken from the caller: a replay with the id of the first answer is refused", async () => {
    const world = await World.create();
    const body = world.createBody();
    const first = await world.send("create_gd", body);
    const requestId = first.headers.get("x-request-id") ?? "";
    const replay = await world
      .anotherIsolate({ NONCES: undefined })
      .send("create_gd", body, { "x-request-id": requestId });
    expect([replay.status, replay.headers.get("x-request-id") === requestId]).toEqual([401, false]);
    const { sessions, nonces } = await world.stored();
    expect(sessions).toMatchObject([{ request_id: requestId }]);
    const { version } = (await world.operated()).apps[0] as { version: string };
    expect(nonces).toMatchObject([{ owner: requestId, operation: "create_session", secret: version }]);
  });

  it("the audit row of an operator's change has the request id of that call", async () => {
    const world = await World.create();
    const answer = await world.admin("PATCH", `/admin/sites/${world.siteId}`, { name: "Renamed" });
    const { body } = await call(world, "GET", `/admin/audit?site_id=${world.siteId}&limit=1`);
    expect((body as Page).items).toMatchObject([
      { action: "site.renamed", request_id: answer.headers.get("x-request-id") },
    ]);
  });
});

describe("what the journal leaves out", () => {
  it("accepted and repeated calls leave no row in the journal", async () => {
    const { world, items } = await journaled();
    await world.create({}, { "idempotency-key": "k" });
    const secondAnswer = await world.create({ ranstr: "another" }, { "idempotency-key": "k" });
    expect(secondAnswer.headers.get("idempotency-replayed")).toBe("true");
    expect(await items()).toEqual([]);
  });

  it("calls with an unknown appid or without an app leave no row in the journal", async () => {
    const { sent, JOURNAL } = keepingJournal();
    const world = await World.create({ JOURNAL });
    await world.create({ appid: "nobodys" });
    await world.sendRaw("create_gd", "{", {});
    await world.sendRaw("create_gd", "{}", { "content-type": "text/plain" });
    expect(sent).toEqual([]);
  });

  it("the journal has no text that a caller wrote, except the appid", async () => {
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    const { sent, JOURNAL } = keepingJournal();
    const world = await World.create({ JOURNAL });
    const marker = "m4rk3r";
    const wrong: [Record<string, unknown>, Record<string, string>][] = [
      ...Object.keys(world.createBody()).map((field): [Record<string, unknown>, Record<string, string>] => [
        { [field]: field === "appid" ? world.appid : marker },
        {},
      ]),
      ...["title", "sender_type", "metadata", marker].map(
        (field): [Record<string, unknown>, Record<string, string>] => [{ [field]: marker }, {}],
      ),
      [{ [`${marker} name`]: { [marker]: marker } }, {}],
      [{ metadata: { [`${marker} ${marker}`]: marker } }, {}],
      [{ metadata: { [marker]: marker.repeat(500) } }, {}],
      [{ kefu_id: [marker] }, {}],
      [{ timestamp: marker }, {}],
      [{ ranstr: [marker] }, {}],
      ...["x-chat-signature", "idempotency-key", "x-request-id", "user-agent", "cf-connecting-ip"].map(
        (header): [Record<string, unknown>, Record<string, string>] => [{ timestamp: 1 }, { [header]: `${marker} é` }],
      ),
    ];
    for (const [change, headers] of wrong) await world.anotherIsolate().create(change, headers);
    await world.anotherIsolate().add(1, { kefu_ids: `1,${marker}` });
    await world.anotherIsolate().add(1, { kefu_ids: [marker], chat_id: marker });
    await new JournalConsumer().write(sent);
    const rows = await journalOf(world);
    expect(rows.length).toBeGreaterThan(15);
    expect(JSON.stringify(rows)).not.toContain(marker);
    expect(JSON.stringify(sent)).not.toContain(marker);
    expect(JSON.stringify(log.mock.calls)).not.toContain(marker);
    const { results } = await databaseOf(world.home)
      .prepare("SELECT * FROM audit_log WHERE site_id = ?")
      .bind(world.siteId)
      .all();
    expect(JSON.stringify(results)).not.toContain(marker);
    vi.restoreAllMocks();
  });
});

describe("GET /admin/sites/:site_id/refusals", () => {
  it("the list of refusals gives the newest first, page by page, each row once", async () => {
    const site = await World.create();
    const ids = Array.from({ length: 7 }, (_, i) => idAt(NOW - i)).toReversed();
    for (const requestId of ids) await newRefusal(site, { requestId });
    const listedIds: string[] = [];
    let cursor = "";
    do {
      const { body } = await call(site, "GET", `/admin/sites/${site.siteId}/refusals?limit=3${cursor}`);
      const { items, next_cursor } = body as Page;
      listedIds.push(...items.map(({ request_id }) => request_id));
      cursor = next_cursor === null ? "" : `&cursor=${encodeURIComponent(next_cursor)}`;
    } while (cursor !== "");
    expect(listedIds).toEqual(ids.toReversed());
    // A cursor of a later time finds nothing newer than the range.
    const path = `/admin/sites/${site.siteId}/refusals`;
    const first = (await call(site, "GET", `${path}?limit=1`)).body as Page;
    const earlier = await call(site, "GET", `${path}?until=${NOW - 5}&cursor=${first.next_cursor}`);
    expect((earlier.body as Page).items.map(({ request_id }) => request_id)).toEqual(ids.slice(0, 2).toReversed());
  });

  it("a row in the list of refusals says how many more calls like it left no row", async () => {
    const site = await World.create();
    await newRefusal(site, { requestId: idAt(NOW), skipped: 7 });
    const { body } = await call(site, "GET", `/admin/sites/${site.siteId}/refusals`);
    expect((body as Page).items).toMatchObject([{ skipped: 7 }]);
  });

  it("the list of refusals filters by app, reason, operation and time, with both ends included", async () => {
    const site = await World.create();
    const at = async (seconds: number, fields = {}) =>
      (await newRefusal(site, { requestId: idAt(NOW + seconds), at: NOW + seconds, ...fields })).requestId;
    const [a, b, c, d] = [
      await at(-40, { reason: "fields_invalid" }),
      await at(-30, { operation: "add_agents" }),
      await at(-20),
      await at(-10),
    ];
    const other = await newSite(site.home);
    await newRefusal(other, { requestId: idAt(NOW) });
    const foundIds = async (query: string) => {
      const { body } = await call(site, "GET", `/admin/sites/${site.siteId}/refusals?${query}`);
      return (body as Page).items.map(({ request_id }) => request_id);
    };
    expect(await foundIds("")).toEqual([d, c, b, a]);
    expect(await foundIds(`appid=${site.appid}`)).toEqual([d, c, b, a]);
    expect(await foundIds("appid=another")).toEqual([]);
    expect(await foundIds("reason=fields_invalid")).toEqual([a]);
    expect(await foundIds("operation=add_kf")).toEqual([b]);
    expect(await foundIds(`since=${NOW - 30}&until=${NOW - 20}`)).toEqual([c, b]);
    expect(await foundIds(`since=${NOW - 29}&until=${NOW - 21}`)).toEqual([]);
    expect(await foundIds(`until=${NOW - 30}&reason=timestamp_stale`)).toEqual([b]);
  });

  it("a filtered page of refusals ends after 10,000 rows read, with a cursor to go on", async () => {
    const site = await World.create();
    const db = databaseOf(site.home);
    await db
      .prepare(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10500)
         INSERT INTO refusals SELECT ?1, substr(?2, 1, 24) || printf('%012d', i), ?3, ?4, 'create_session', 401,
           CASE i WHEN 1 THEN 'app_limit' ELSE 'timestamp_stale' END, NULL, NULL, NULL, 0, NULL, NULL, NULL FROM n`,
      )
      .bind(site.siteId, firstRequestIdAt(NOW), NOW, site.appid)
      .run();
    const ofHour = { operation: undefined, since: NOW - 3_600, until: NOW };
    expect(await countRefusals(db, site.siteId, ofHour)).toMatchObject({ isWhole: false });
    expect(await countRefusals(db, site.siteId, { ...ofHour, until: NOW - 1 })).toMatchObject({ isWhole: true });
    const path = `/admin/sites/${site.siteId}/refusals?reason=app_limit`;
    const first = (await call(site, "GET", path)).body as Page;
    expect(first.items).toEqual([]);
    const second = (await call(site, "GET", `${path}&cursor=${first.next_cursor}`)).body as Page;
    expect(second.items).toHaveLength(1);
    expect(second.next_cursor).toBeNull();
  });

  it("the list of refusals answers a wrong query with 400 and names the fault", async () => {
    const { world, refusals } = await journaled();
    const other = await newSite(world.home);
    const tooOld = "must be within the last 30 days: older calls are kept no more";
    const time = "must be a Unix time in seconds";
    const cases: [string, string, string | RegExp][] = [
      ["reason=no_such", "reason", /^must be one of signature_missing, .*agents_invalid/],
      ["reason=body_not_json", "reason", /^must be one of /],
      ["operation=create_session", "operation", "must be create_gd or add_kf"],
      ["appid=a%20b", "appid", "must be an appid"],
      ["since=yesterday", "since", time],
      ["until=-1", "until", time],
      ["since=1.5", "since", time],
      [`since=${NOW - 30 * 86_400 - 1}`, "since", tooOld],
      [`until=${NOW - 30 * 86_400 - 1}`, "until", tooOld],
      [`since=${NOW}&until=${NOW - 1}`, "since", "must not be after until"],
      ["cursor=17", "cursor", "is not a next_cursor"],
      [`cursor=${other.siteId}:${idAt(NOW)}`, "cursor", "is not a next_cursor"],
      [`cursor=${world.siteId}:${crypto.randomUUID()}`, "cursor", "is not a next_cursor"],
      ["limit=0", "limit", "must be an integer from 1 to 100"],
      ["page=2", "page", "is not a field of this call"],
    ];
    for (const [query, field, message] of cases) {
      const { status, body } = await refusals(`?${query}`);
      const text = typeof message === "string" ? message : expect.stringMatching(message);
      expect([query, status, (body as { errors: unknown }).errors]).toEqual([query, 400, [{ field, message: text }]]);
    }
  });
});

describe("GET /admin/sites/:site_id/requests/:request_id", () => {
  const find = (world: World, requestId: string | null) =>
    call(world, "GET", `/admin/sites/${world.siteId}/requests/${requestId}`);

  it("a refused call is found by its request id, with the same values as in the list", async () => {
    const { world, items } = await journaled();
    const { headers } = await world.create({ timestamp: 1 });
    const [item] = await items();
    expect(await find(world, headers.get("x-request-id"))).toMatchObject({ status: 200, body: item });
  });

  it("an accepted call is found with its session by its request id, even after its nonce is deleted", async () => {
    const { world } = await journaled("apac");
    const { headers, envelope } = await world.create();
    const requestId = headers.get("x-request-id");
    const { chat_id } = envelope.data as { chat_id: number };
    const acceptedCall = { outcome: "ok", chat_id, at: NOW, appid: world.appid, operation: "create_gd" };
    expect(await find(world, requestId)).toMatchObject({ status: 200, body: acceptedCall });
    const db = databaseOf(world.home);
    await db.prepare("DELETE FROM nonces WHERE site_id = ?").bind(world.siteId).run();
    // 30 sessions of the same time, and 30 of more than a year later.
    await db
      .prepare(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
         INSERT INTO sessions (site_id, id, appid, kind, customer_external_id, status, auto_title, created_at, request_id)
         SELECT site_id, id + i, appid, kind, customer_external_id, status, auto_title,
           created_at + iif(i > 30, 34560000, 0), 'another' FROM n CROSS JOIN sessions WHERE site_id = ?`,
      )
      .bind(world.siteId)
      .run();
    world.clock.now += 86_400 * 400;
    expect(await find(world, requestId)).toMatchObject({ status: 200, body: acceptedCall });
  });

  it("an accepted call that opened no session is found by its request id while its nonce is stored", async () => {
    const { world } = await journaled();
    const chatId = await world.chatId({});
    const answer = await world.add(chatId, { kefu_ids: "3" });
    const body = { outcome: "ok", chat_id: chatId, at: NOW, appid: world.appid, operation: "add_kf" };
    expect(await find(world, answer.headers.get("x-request-id"))).toMatchObject({ status: 200, body });
    world.clock.now += 1_860 + 61;
    expect(await find(world, answer.headers.get("x-request-id"))).toMatchObject({ status: 404 });
  });

  it("a repeated call is found by its request id, with the session of the first call", async () => {
    const { world } = await journaled();
    const first = await world.create({}, { "idempotency-key": "k" });
    const secondAnswer = await world.create({ ranstr: "again" }, { "idempotency-key": "k" });
    const { chat_id } = first.envelope.data as { chat_id: number };
    const body = { outcome: "repeated", chat_id, at: NOW, appid: world.appid, operation: "create_gd" };
    expect(await find(world, secondAnswer.headers.get("x-request-id"))).toMatchObject({ status: 200, body });
  });

  it("a call that the database refused is found by its nonce before its journal row arrives", async () => {
    const { world, settle } = await journaled();
    const { headers } = await world.create({ kefu_id: [99], fzr_uid: 99 });
    const requestId = headers.get("x-request-id");
    const { version: secret } = (await world.operated()).apps[0] as { version: string };
    const call = { request_id: requestId, at: NOW, appid: world.appid, operation: "create_gd", secret, skipped: 0 };
    const body = { ...call, status: 400, reason: "agents_invalid", client: null, drill: null };
    expect((await find(world, requestId)).body).toEqual({ ...body, detail: null });
    await settle();
    const detail = expect.stringContaining("99");
    expect((await find(world, requestId)).body).toEqual({ ...body, detail });
  });

  it("with ERROR_STATUS always-200, a refused call has the same status before and after its journal row arrives", async () => {
    const { world, settle } = await journaled("main", { ERROR_STATUS: "always-200" });
    const answer = await world.create({ kefu_id: [99], fzr_uid: 99 });
    const statusNow = async () =>
      ((await find(world, answer.headers.get("x-request-id"))).body as { status: number }).status;
    expect(await statusNow()).toBe(200);
    await settle();
    expect(await statusNow()).toBe(200);
  });

  it("a call that was stored although its answer was 503 is found with its session", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { sent, JOURNAL } = keepingJournal();
    const world = await World.create({ JOURNAL }, "apac");
    await world.create();
    const faults = new Faults(({ name }) => (name.endsWith(".batch") ? "after" : undefined));
    const isolate = world.anotherIsolate({ HOME_APAC: faultyD1(env.HOME_APAC, faults) });
    const answer = await isolate.create();
    await faults.end();
    await new JournalConsumer().write(sent);
    expect(answer.status).toBe(503);
    const findBody = async () => (await find(world, answer.headers.get("x-request-id"))).body;
    expect(await findBody()).toMatchObject({ reason: "d1_unavailable", chat_id: 2 });
    await env.HOME_APAC.prepare("DELETE FROM nonces WHERE site_id = ?").bind(world.siteId).run();
    expect(await findBody()).toMatchObject({ reason: "d1_unavailable", chat_id: 2 });
    vi.restoreAllMocks();
  });

  it("a call that added agents although its answer was 503 is found with its session", async () => {
    const { world } = await journaled();
    const chatId = await world.chatId({});
    const requestId = (await world.add(chatId, { kefu_ids: "3" })).headers.get("x-request-id") ?? "";
    await newRefusal(world, { requestId, operation: "add_agents", status: 503, reason: "d1_unavailable" });
    expect((await find(world, requestId)).body).toMatchObject({ reason: "d1_unavailable", chat_id: chatId });
  });

  it("a call of another site is not found by its request id", async () => {
    const { world, settle } = await journaled();
    const refused = await world.create({ timestamp: 1 });
    await settle();
    const isolate = world.anotherIsolate();
    const [onItsWay, accepted] = [await isolate.create({ kefu_id: [99], fzr_uid: 99 }), await isolate.create()];
    const other = await World.create();
    for (const { headers } of [refused, onItsWay, accepted]) {
      expect(await find(other, headers.get("x-request-id"))).toMatchObject(problem(404, "Not found"));
    }
  });

  it("a malformed request id is 400, and a request id in upper case is found", async () => {
    const { world, settle } = await journaled();
    const { headers } = await world.create({ timestamp: 1 });
    await settle();
    const requestId = headers.get("x-request-id");
    const message = "must be a request id, as x-request-id gives it";
    for (const none of ["1", "nothing", crypto.randomUUID(), `${requestId}0`]) {
      expect(await find(world, none)).toMatchObject(problem(400, "Invalid input", [{ field: "request_id", message }]));
    }
    expect((await find(world, requestId?.toUpperCase() ?? "")).status).toBe(200);
  });
});

describe("GET /admin/requests/:request_id", () => {
  it("GET /admin/requests/:request_id finds a refused call of any site and home, and names the site", async () => {
    const { world, items } = await journaled("apac");
    const { headers } = await world.create({ timestamp: 1 });
    const [item] = await items();
    const other = await World.create();
    const answer = await call(other, "GET", `/admin/requests/${headers.get("x-request-id")}`);
    expect(answer).toMatchObject({ status: 200, body: { site_id: world.siteId, ...item } });
  });

  it("GET /admin/requests/:request_id is 404 when every home has answered and none has the call", async () => {
    const world = await World.create();
    expect(await call(world, "GET", `/admin/requests/${idAt(NOW)}`)).toMatchObject(problem(404, "Not found"));
  });

  it("GET /admin/requests/:request_id is 503 with homes_down when the call may be in a home that is down", async () => {
    const { world, settle } = await journaled("main");
    const { headers } = await world.create({ timestamp: 1 });
    await settle();
    const isolate = world.anotherIsolate({ HOME_APAC: downDb(env.HOME_APAC) });
    const silent = await call(isolate, "GET", `/admin/requests/${idAt(NOW)}`);
    expect(silent).toMatchObject({ status: 503, body: { homes_down: ["apac"] } });
    expect(silent.headers.get("retry-after")).toBe("1");
    expect((await call(isolate, "GET", `/admin/requests/${headers.get("x-request-id")}`)).status).toBe(200);
  });

  it("GET /admin/requests/:request_id is 503 when a site names a home that is not bound", async () => {
    const world = await World.create({ HOME_APAC: undefined });
    await newSite("apac");
    expect(await call(world, "GET", `/admin/requests/${idAt(NOW)}`)).toMatchObject({
      status: 503,
      body: { homes_down: ["apac"] },
    });
  });

  it("GET /admin/requests/:request_id is 400 for a malformed id", async () => {
    const world = await World.create();
    expect(await call(world, "GET", "/admin/requests/17")).toMatchObject({
      status: 400,
      body: { errors: [{ field: "request_id" }] },
    });
  });
});

describe("a request id that is not found", () => {
  /** A day before the calls of other tests, because tests share homes. */
  const AT = NOW - 86_400;

  /** Refused calls of a site: one a second in the 14 s before and after `at`, none at `at`. Each row skips two more. */
  async function surrounded(home: string, at: number) {
    const { world } = await journaled(home);
    const seconds = [-121, ...Array.from({ length: 29 }, (_, i) => i - 14).filter((second) => second !== 0), 121];
    const rows = await Promise.all(
      seconds.map((second) => newRefusal(world, { requestId: idAt(at + second), at: at + second, skipped: 2 })),
    );
    const near = rows.filter((row) => Math.abs(row.at - at) <= 10).map(({ requestId }) => requestId);
    return { world, near: near.toReversed(), leftOut: 2 * 28 };
  }

  it("the 404 for a request id gives the time in the id, the refused calls around it, and how many left no row", async () => {
    const { world, near, leftOut } = await surrounded("apac", AT);
    const other = await World.create({}, "apac");
    await newRefusal(other, { requestId: idAt(AT), skipped: 1_000 });
    const { status, body } = await call(world, "GET", `/admin/sites/${world.siteId}/requests/${idAt(AT)}`);
    const { around, ...fields } = body as { around: Item[] };
    const detail = expect.stringContaining("holds the time");
    expect([status, fields]).toEqual([
      404,
      { type: "about:blank", title: "Not found", status, detail, at: AT, left_out: leftOut },
    ]);
    expect(around.map(({ request_id }) => request_id)).toEqual(near);
    expect(around[0]).toMatchObject({ site_id: world.siteId, appid: world.appid, operation: "create_gd", skipped: 2 });
  });

  it("the 404 for a request id lists calls of one site for a token of that site, and of all sites for other tokens", async () => {
    const at = AT - 3_600;
    const { world, near, leftOut } = await surrounded("apac", at);
    const other = await World.create();
    const { requestId } = await newRefusal(other, { requestId: idAt(at), skipped: 1_000 });
    const { token } = await newToken({ role: "viewer", siteId: world.siteId });
    const ownBody = (await useToken(world, token, "GET", `/admin/requests/${idAt(at)}`)).body;
    const all = (await call(world, "GET", `/admin/requests/${idAt(at)}`)).body;
    const idsOf = (body: unknown) => (body as { around: Item[] }).around.map(({ request_id }) => request_id);
    expect([ownBody, idsOf(ownBody)]).toEqual([expect.objectContaining({ at, left_out: leftOut }), near]);
    expect(idsOf(all)).toContain(requestId);
    expect((all as { left_out: number }).left_out).toBeGreaterThanOrEqual(leftOut + 1_000);
  });

  it.each(["site", "all"])(
    "the 404 for a request id names in homes_down each home that did not answer: %s",
    async (of) => {
      const { world } = await journaled("apac");
      const isolate = world.anotherIsolate({ HOME_APAC: downAround(env.HOME_APAC) });
      const path = of === "site" ? `/admin/sites/${world.siteId}` : "/admin";
      const { status, body } = await call(isolate, "GET", `${path}/requests/${idAt(AT - 7_200)}`);
      const detail = expect.stringMatching(/These homes do not answer, .*: apac\.$/);
      const expected = { detail, at: AT - 7_200, homes_down: ["apac"] };
      expect([status, body]).toEqual([404, expect.objectContaining(expected)]);
    },
  );

  it.each([
    ["is longer ago than calls are kept", -30 * 86_400 - 1, "are kept no longer"],
    ["is in the future", 61, "is in the future"],
  ])("the 404 for a request id explains that the time in the id %s", async (_, seconds, detail) => {
    const { world } = await journaled();
    await newRefusal(world, { requestId: idAt(NOW + seconds), skipped: 3 });
    const { status, body } = await call(world, "GET", `/admin/sites/${world.siteId}/requests/${idAt(NOW + seconds)}`);
    const expected = { detail: expect.stringContaining(detail), at: NOW + seconds, around: [], left_out: 0 };
    expect([status, body]).toEqual([404, expect.objectContaining(expected)]);
  });
});

describe("a flood of forgeries for a known appid", () => {
  it("a flood of forgeries leaves at most 21 journal rows per isolate, and an honest call is accepted after it", async () => {
    const { world, items } = await journaled();
    const forge = async () => {
      const { headers } = await world.create({}, { "x-chat-signature": "0".repeat(64) });
      return headers.get("x-request-id");
    };
    const first = await Promise.all(Array.from({ length: 20 }, forge));
    await Promise.all(Array.from({ length: 30 }, forge));
    // One more row counts the rest.
    const ids = (await items("?limit=100")).map(({ request_id }) => request_id);
    expect(ids).toEqual(expect.arrayContaining(first));
    expect(ids.length).toBeLessThanOrEqual(21);
    expect((await world.create()).status).toBe(200);
  });
});
