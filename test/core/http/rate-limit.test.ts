import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { clientAddress } from "../../../src/core/http/client-address.ts";
import createSession from "../../../src/core/operations/create-session.ts";
import { systemRuntime } from "../../../src/core/runtime.ts";
import { CLIENT_LIMIT_PERIOD, ExceededLimits, LIMIT_PERIOD } from "../../../src/core/signed/rate-limit.ts";
import { CountedLimit } from "../../support/counted-limit.ts";
import { FAULTS, Faults, faultyD1, faultyLimit } from "../../support/faulty-bindings.ts";
import { startCall, withoutWaiting } from "../../support/patient-fetch.ts";
import { replacing } from "../../support/replacing.ts";
import { expectUnwritten } from "../../support/signed-routes.ts";
import { runtimeAt } from "../../support/test-runtime.ts";
import { type Answer, hmac, NOW, type ReplacedBindings, World } from "../../support/world.ts";

afterEach(() => void vi.useRealTimers());

const files = import.meta.glob("../../../wrangler.toml", { query: "?raw", import: "default", eager: true });
const toml = files["../../../wrangler.toml"] ?? "";

const LIMITED = { code: -1, msg: "请求过于频繁", data: "" };
const UNKNOWN_APPID = "0123456789abcdef0123456789abcdef";

const address = (ip: string) => ({ "cf-connecting-ip": ip });
const forged = { "x-chat-signature": "0".repeat(64) };

function expectLimited(answer: Answer, seconds: number): void {
  expect(answer.status).toBe(429);
  expect(answer.envelope).toEqual(LIMITED);
  expect(answer.headers.get("retry-after")).toBe(String(seconds));
}

/** A world with these limits, and a database that records its calls. */
async function limitedWorld(limits: { app?: number; client?: number }) {
  const [app, client] = [new CountedLimit(limits.app ?? 1_000), new CountedLimit(limits.client ?? 1_000)];
  const faults = new Faults();
  const world = await World.create({ APP_LIMIT: app, CLIENT_LIMIT: client, DB: faultyD1(env.DB, faults) });
  return { world, app, client, trips: () => faults.calls.length };
}

describe("the limit of an app", () => {
  it("the limit of an app counts each request that reached the database, whatever its result", async () => {
    const { world, app } = await limitedWorld({});
    await world.create();
    await world.create({ kefu_id: [1, 404] });
    await world.add(404);
    expect(app.keys).toEqual(Array(3).fill(world.appid));
  });

  it("the limit of an app counts no request with a wrong signature, without JSON, or with a bad field", async () => {
    const { world, app } = await limitedWorld({});
    await world.create({}, forged);
    await world.create({ appid: UNKNOWN_APPID });
    await world.send("create_gd", "{");
    await world.create({ content: "" });
    await world.create({ timestamp: NOW - 301 });
    expect(app.keys).not.toContain(world.appid);
    expect(app.keys.filter((key) => key.startsWith("site "))).toEqual([]);
  });

  it("signed requests that a rule of a field refuses have a separate count for the app", async () => {
    const { world, app, client } = await limitedWorld({});
    await world.create({ content: "" });
    await world.add(1, { kefu_ids: "x" });
    await world.create({ ranstr: 1 });
    await world.create({}, { "idempotency-key": "not visible" });
    expect(app.keys.splice(0)).toEqual(Array(4).fill(`malformed ${world.appid}`));
    await world.create({ content: "" }, forged);
    await world.create({ content: "", timestamp: NOW - 301 });
    await world.create({ content: "", appid: UNKNOWN_APPID });
    expect(app.keys).toEqual([]);
    expect(client.keys).toEqual([`signed unknown`, `signed unknown`, `unknown unknown`]);
  });

  it("the fields of a call are read once, even over the limit of malformed calls", async () => {
    const { world } = await limitedWorld({ app: 1 });
    const read = vi.spyOn(createSession, "read");
    for (const status of [400, 400, 429]) expect((await world.create({ content: "" })).status).toBe(status);
    expect((await world.create()).status).toBe(200);
    expect(read).toHaveBeenCalledTimes(4);
    read.mockRestore();
  });

  it("an exceeded limit of an app is 429 with Retry-After, and the same bytes are accepted later", async () => {
    const { world, app, trips } = await limitedWorld({ app: 1 });
    await world.create();
    // This request exceeds the limit, and the isolate remembers the excess.
    expect((await world.create()).status).toBe(200);
    const text = JSON.stringify(world.createBody());
    const key = { "idempotency-key": "k" };
    await expectUnwritten(world, async () => expectLimited(await world.send("create_gd", text, key), 10));
    const before = trips();
    // Each refusal may ask D1 whether the app is still valid, at most ten times a second.
    for (let i = 0; i < 20; i++) expectLimited(await world.create(), 10);
    expect(trips() - before).toBeLessThanOrEqual(9);
    app.most = 1_000;
    world.clock.now += 1;
    const answer = await world.send("create_gd", text, key);
    expect(answer.status).toBe(200);
    expect(answer.headers.has("idempotency-replayed")).toBe(false);
  });

  it("an exceeded limit of an app lets one request a second through, to see whether it is still exceeded", async () => {
    const { world } = await limitedWorld({ app: 1 });
    const statuses = async () => [(await world.create()).status, (await world.create()).status];
    expect(await statuses()).toEqual([200, 200]);
    expect(await statuses()).toEqual([429, 429]);
    world.clock.now += 1;
    expect(await statuses()).toEqual([200, 429]);
  });

  it("the exceeded limit of one app does not affect other apps", async () => {
    const { world } = await limitedWorld({ app: 1 });
    const issued = await world.admin("POST", `/admin/sites/${world.siteId}/apps`, { name: "Another app" });
    const { appid, secret } = await issued.json<{ appid: string; secret: string }>();
    await world.create();
    await world.create();
    expectLimited(await world.create(), 10);
    const first = { appid: world.appid, secret: world.secret };
    expect((await Object.assign(world, { appid, secret }).create()).status).toBe(200);
    expectLimited(await Object.assign(world, first).create(), 10);
  });
});

describe("an attacker with captured requests", () => {
  /** Accepted requests, as bytes with their signatures. */
  async function captureRequests(world: World, count: number) {
    const requests = await Promise.all(
      Array.from({ length: count }, async () => {
        const body = JSON.stringify(world.createBody());
        return { body, headers: { "x-chat-signature": await hmac(world.secret, body) } };
      }),
    );
    for (const { body, headers } of requests) {
      expect((await world.sendRaw("create_gd", body, headers)).status).toBe(200);
    }
    return requests;
  }

  it.each<[string, ReplacedBindings]>([
    ["with KV", { REPLAY_LOOK_MS: "1000" }],
    ["with KV slower than the replay check", { REPLAY_LOOK_MS: "0" }],
    ["without KV", { NONCES: undefined }],
  ])(
    "replays of captured requests delay no honest request of the app, in an old or a new isolate, %s",
    async (_, bindings) => {
      const app = new CountedLimit(1_000);
      const world = await World.create({ APP_LIMIT: app, ...bindings });
      const requests = await captureRequests(world, 2);
      const count = app.keys.length;
      app.most = count + 2;
      for (const isolate of [world, world.anotherIsolate(), world.anotherIsolate()]) {
        for (let round = 0; round < 2; round++) {
          const answers = await Promise.all(
            requests.map(({ body, headers }) => isolate.sendRaw("create_gd", body, headers)),
          );
          expect(answers.map(({ status }) => status)).toEqual(Array(requests.length).fill(401));
        }
      }
      expect(app.keys).toHaveLength(count);
      expect((await world.create()).status).toBe(200);
      expect((await world.anotherIsolate().create()).status).toBe(200);
    },
  );

  it("captured requests to a closed site keep D1 busy no longer than the limit, and do not use the app's quota", async () => {
    const { world, app, trips } = await limitedWorld({ app: 3 });
    const path = `/admin/sites/${world.siteId}`;
    await world.create();
    await world.admin("PATCH", path, { status: "closed" });
    const body = world.createBody();
    const before = trips();
    for (let i = 0; i < 20; i++) expect((await world.send("create_gd", body)).status).toBe(503);
    // There are four batches until the limit is exceeded. The next refusal has no batch, so one read checks whether the app is still valid.
    expect(trips() - before).toBe(5);
    expect(app.keys.filter((key) => key === world.appid)).toHaveLength(1);
    await world.admin("PATCH", path, { status: "open" });
    world.clock.now += 1;
    expect((await world.send("create_gd", body)).status).toBe(200);
    expect((await world.create()).status).toBe(200);
    expect((await world.stored()).sessions).toHaveLength(3);
  });

  const BAD_REQUESTS: [string, (world: World) => Promise<Answer>][] = [
    ["a bad field", (world) => world.create({ content: "" })],
    ["a bad ranstr", (world) => world.create({ ranstr: "" })],
    ["a bad Idempotency-Key", (world) => world.create({}, { "idempotency-key": "not visible" })],
  ];

  it.each(BAD_REQUESTS)("requests with %s do not use the app's quota, however many are sent", async (_, bad) => {
    const { world, app } = await limitedWorld({ app: 3 });
    const statuses: number[] = [];
    for (let i = 0; i < 10; i++) {
      statuses.push((await bad(world)).status);
      if (i % 4 === 0) expect((await world.create()).status).toBe(200);
    }
    expect(statuses).toEqual([400, 400, 400, 400, ...Array(6).fill(429)]);
    expect(app.keys.filter((key) => key === world.appid)).toHaveLength(3);
    expect((await world.stored()).sessions).toHaveLength(3);
  });

  it("a repeated bad field costs no read of KV and no trip to D1 over the limit of malformed requests", async () => {
    const reads: string[] = [];
    const kv = replacing(env.NONCES as KVNamespace, {
      get: ((key: string) => {
        reads.push(key);
        return (env.NONCES as KVNamespace).get(key);
      }) as never,
    });
    const app = new CountedLimit(3);
    const faults = new Faults();
    const world = await World.create({ APP_LIMIT: app, NONCES: kv, DB: faultyD1(env.DB, faults) });
    await world.create();
    const body = world.createBody({ content: "" });
    for (let i = 0; i < 4; i++) expect((await world.send("create_gd", body)).status).toBe(400);
    reads.length = 0;
    faults.calls.length = 0;
    for (let i = 0; i < 20; i++) expectLimited(await world.send("create_gd", body), LIMIT_PERIOD);
    expect([reads, faults.calls.length]).toEqual([[], 0]);
    // For a correct call of the app KV is still read, and the call is accepted.
    expect((await world.create()).status).toBe(200);
    expect(reads).toHaveLength(1);
    world.clock.now += 1;
    expect((await world.send("create_gd", body)).status).toBe(400);
  });

  it("an exceeded limit of malformed requests delays only the app's own, and shows a forger nothing", async () => {
    const { world, app } = await limitedWorld({ app: 1 });
    for (let i = 0; i < 3; i++) await world.create({ content: "" });
    expectLimited(await world.create({ content: "" }), LIMIT_PERIOD);
    const unsigned = await world.create({ content: "" }, forged);
    expect([unsigned.status, unsigned.headers.has("retry-after")]).toEqual([401, false]);
    app.most = 1_000;
    world.clock.now += 1;
    const answer = await world.create({ content: "" });
    expect([answer.status, answer.headers.get("x-error-detail")]).toEqual([
      400,
      "content: must be a string of 1 to 2000 characters",
    ]);
  });
});

describe("the limit of a client address", () => {
  const ATTACKED = "192.0.2.1";

  it("the limit of a client address counts only failures, and a look-up that finds an app is no failure", async () => {
    const { world, client } = await limitedWorld({});
    await env.CREDENTIALS.delete(`app:${world.appid}`);
    await world.create();
    await world.create({ content: "" });
    await world.add(404);
    await world.anotherIsolate().create();
    expect(client.keys).toEqual([]);
  });

  it("each failure of a client counts once under its kind, and an unknown appid counts as a look-up too", async () => {
    const { world, client } = await limitedWorld({});
    const from = (ip: string) => address(ip);
    await world.create({}, { ...from("192.0.2.1"), ...forged });
    await world.create({}, { ...from("192.0.2.2"), "x-chat-signature": "no hex" });
    await world.sendRaw("create_gd", JSON.stringify(world.createBody()), from("192.0.2.3"));
    expect(client.keys.splice(0)).toEqual(["signed 192.0.2.1", "signed 192.0.2.2", "signed 192.0.2.3"]);
    await world.create({ appid: UNKNOWN_APPID }, from("192.0.2.4"));
    await world.create({ appid: "not an appid of this service" }, from("192.0.2.5"));
    expect(client.keys.splice(0).sort()).toEqual([
      "signed 192.0.2.4",
      "signed 192.0.2.5",
      "unknown 192.0.2.4",
      "unknown 192.0.2.5",
    ]);
  });

  it("an exceeded limit of an address is 429 with Retry-After for unknown appids and wrong signatures", async () => {
    const { world } = await limitedWorld({ client: 1 });
    await world.create();
    expect((await world.create({}, forged)).status).toBe(401);
    expectLimited(await world.create({}, forged), 60);
    expectLimited(await world.create({ appid: UNKNOWN_APPID }), 60);
    expectLimited(await world.create({ appid: "not an appid of this service" }), 60);
    // This call is over the limit of unknown appids.
    expectLimited(await world.create({ appid: "not an appid either" }), 1);
  });

  it("a request that the limit of an address refuses uses up neither its ranstr nor its key", async () => {
    const { world } = await limitedWorld({ client: 0 });
    const text = JSON.stringify(world.createBody());
    const key = { "idempotency-key": "k" };
    await expectUnwritten(world, async () => {
      expectLimited(await world.send("create_gd", text, { ...key, ...forged }), 60);
    });
    expect((await world.send("create_gd", text, key)).status).toBe(200);
  });

  it("a right signature or a right token is never refused at an attacked address", async () => {
    const { world } = await limitedWorld({ client: 3 });
    const here = address(ATTACKED);
    for (let i = 0; i < 8; i++) await world.create({}, { ...here, ...forged });
    expectLimited(await world.create({}, { ...here, ...forged }), 60);
    expect((await world.create({}, here)).status).toBe(200);
    // The cold cases are another app in this isolate, and this app in another isolate.
    const issued = await world.admin("POST", `/admin/sites/${world.siteId}/apps`, { name: "Cold app" });
    const cold = await issued.json<{ appid: string; secret: string }>();
    expect((await world.anotherIsolate().create({}, here)).status).toBe(200);
    expect((await Object.assign(world, cold).create({}, here)).status).toBe(200);
    const operator = new Request("http://worker/admin/sites", {
      headers: { authorization: `Bearer ${env.ADMIN_TOKEN}`, ...here },
    });
    expect((await world.fetch(operator)).status).toBe(200);
  });

  it("wrong admin tokens are counted apart from wrong signatures, and a right token is never counted", async () => {
    const { world, client } = await limitedWorld({ client: 2 });
    const call = (token: string) =>
      world.fetch(
        new Request("http://worker/admin/sites", {
          headers: { authorization: `Bearer ${token}`, ...address("192.0.2.3") },
        }),
      );
    for (let i = 0; i < 4; i++) await world.create({}, { ...address("192.0.2.3"), ...forged });
    client.keys.length = 0;
    expect((await call("x".repeat(40))).status).toBe(401);
    expect((await call("y".repeat(40))).status).toBe(401);
    const answer = await call("z".repeat(40));
    expect(answer.status).toBe(429);
    expect(answer.headers.get("retry-after")).toBe("60");
    expect((await call(env.ADMIN_TOKEN)).status).toBe(200);
    expect(client.keys).toEqual(Array(3).fill("operator 192.0.2.3"));
  });

  const tryMadeUp = (world: World, headers: Record<string, string>) =>
    world.create({ appid: crypto.randomUUID().replaceAll("-", "") }, headers);

  it("an address over its limit gets five look-ups of made-up appids a second, and always 429 with Retry-After 1", async () => {
    const { world, client, trips } = await limitedWorld({ client: 3 });
    const here = address(ATTACKED);
    for (let i = 0; i < 3; i++) expect((await tryMadeUp(world, here)).status).toBe(401);
    expectLimited(await tryMadeUp(world, here), 60);
    const before = trips();
    const since = Date.now();
    const answers = await Promise.all(Array.from({ length: 30 }, () => tryMadeUp(world, here)));
    const seconds = Math.ceil((Date.now() - since) / 1000);
    for (const answer of answers) expectLimited(answer, 1);
    expect(trips() - before).toBeGreaterThan(0);
    expect(trips() - before).toBeLessThanOrEqual(5 * seconds);
    // The answer does not show that this appid exists.
    expectLimited(await world.create({}, { ...here, ...forged }), 1);
    expect((await tryMadeUp(world, address("192.0.2.5"))).status).toBe(401);
    world.clock.now += 60;
    client.most = 1_000;
    expect((await tryMadeUp(world, here)).status).toBe(401);
  });

  it.each<[string, ReplacedBindings, (world: World) => Promise<void>]>([
    ["that KV knows", {}, async () => {}],
    ["without CREDENTIALS", { CREDENTIALS: undefined }, async () => {}],
    ["whose record in KV has expired", {}, (world) => env.CREDENTIALS.delete(`app:${world.appid}`)],
    [
      "that KV has cached as a miss",
      { CREDENTIALS: replacing(env.CREDENTIALS, { get: async () => null }) },
      async () => {},
    ],
    [
      "while KV does not answer",
      { CREDENTIALS: replacing(env.CREDENTIALS, { get: () => new Promise<never>(() => {}) }) },
      async () => {},
    ],
  ])(
    "a cold app %s is served within three tries while twenty callers at its address make up appids",
    async (_, bindings, prepare) => {
      const operator = await World.create();
      await prepare(operator);
      const world = operator.anotherIsolate({ CLIENT_LIMIT: new CountedLimit(3), ...bindings });
      const here = address(ATTACKED);
      for (let i = 0; i < 5; i++) await tryMadeUp(world, here);
      const statuses: number[] = [];
      while (statuses.at(-1) !== 200 && statuses.length < 3) {
        const flood = Promise.all(Array.from({ length: 20 }, () => tryMadeUp(world, here)));
        statuses.push((await world.create({}, here)).status);
        await flood;
      }
      expect(statuses.at(-1)).toBe(200);
      expect(new Set(statuses.slice(0, -1))).toEqual(new Set(statuses.length === 1 ? [] : [429]));
      expect((await world.create({}, here)).status).toBe(200);
      expect((await operator.stored()).sessions).toHaveLength(2);
    },
  );

  it("the calls of a cold app at an attacked address share one turn", async () => {
    const faults = new Faults();
    const world = (await World.create()).anotherIsolate({
      CLIENT_LIMIT: new CountedLimit(3),
      CREDENTIALS: undefined,
      DB: faultyD1(env.DB, faults),
    });
    const here = address(ATTACKED);
    for (let i = 0; i < 4; i++) await tryMadeUp(world, here);
    faults.calls.length = 0;
    const calls = await Promise.all(Array.from({ length: 4 }, () => world.create({}, here)));
    expect(calls.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(faults.calls.filter((call) => call !== "DB.batch")).toHaveLength(1);
  });

  it("a flood of forged signatures for a cached app costs one read of the database in 5 s", async () => {
    const { world, trips } = await limitedWorld({ client: 3 });
    await world.chatId();
    const before = trips();
    const flood = () =>
      Promise.all(
        Array.from({ length: 20 }, () => world.sendRaw("create_gd", JSON.stringify(world.createBody()), forged)),
      );
    const answers = await flood();
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(17);
    expect((await flood()).filter(({ status }) => status === 429)).toHaveLength(20);
    expect(trips() - before).toBe(1);
    world.clock.now += 5;
    await flood();
    expect(trips() - before).toBe(2);
  });

  it("an attacked address can use a rotated secret, and an app that the isolate knows, at once", async () => {
    const operator = await World.create();
    const world = operator.anotherIsolate({ CLIENT_LIMIT: new CountedLimit(3) });
    const here = address(ATTACKED);
    expect((await world.create({}, here)).status).toBe(200);
    for (let i = 0; i < 6; i++) await world.create({}, { ...here, ...forged });
    const rotated = await operator.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 60 });
    world.secret = (await rotated.json<{ secret: string }>()).secret;
    world.clock.now += 5;
    expect((await world.create({}, here)).status).toBe(200);
    world.clock.now += 300;
    for (let i = 0; i < 6; i++) await world.create({ appid: `made-up-${i}` }, here);
    expectLimited(await world.create({ appid: UNKNOWN_APPID }, here), 1);
    expect((await world.create({}, here)).status).toBe(200);
  });

  it("forgeries at one address do not delay an honest caller with a rotated secret at another address", async () => {
    const operator = await World.create();
    const world = operator.anotherIsolate();
    await world.chatId();
    const rotated = await operator.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 0 });
    await world.create({}, { ...address("192.0.2.66"), ...forged });
    const before = await operator.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 0 });
    expect([rotated.status, before.status]).toEqual([200, 200]);
    world.secret = (await before.json<{ secret: string }>()).secret;
    await world.create({}, { ...address("192.0.2.66"), ...forged });
    expect((await world.create({}, address("192.0.2.1"))).status).toBe(200);
  });

  it("failures of an IPv6 client are counted by 64 bits of its address, in every spelling", () => {
    const key = (ip: string) => clientAddress(new Request("http://worker/", { headers: address(ip) }));
    const same = ["2001:db8:0:7::1", "2001:db8:0:7:ffff:1:2:3", "2001:db8:0:7::", "2001:db8:0:7:1::9"];
    expect(new Set(same.map(key)).size).toBe(1);
    expect(key("2001:db8:0:8::1")).not.toBe(key(same[0] ?? ""));
    expect([key("::1"), key("203.0.113.7")]).toEqual(["0:0:0:0", "203.0.113.7"]);
    expect(clientAddress(new Request("http://worker/"))).toBe("unknown");
  });

  it("failures of Workers are counted by the zone that Cloudflare names, and other callers cannot set it", () => {
    const key = (ip: string, zone?: string) =>
      clientAddress(new Request("http://worker/", { headers: { ...address(ip), ...(zone && { "cf-worker": zone }) } }));
    const workers = "2a06:98c0:3600::103";
    expect([key(workers, "shop.example"), key(workers, "evil.example"), key(workers)]).toEqual([
      "2a06:98c0:3600:0 shop.example",
      "2a06:98c0:3600:0 evil.example",
      "2a06:98c0:3600:0 ",
    ]);
    expect(key("2001:db8:0:7::1", "shop.example")).toBe(key("2001:db8:0:7::1"));
    expect(key("203.0.113.7", "shop.example")).toBe("203.0.113.7");
  });
});

describe("the limits that an isolate knows to be exceeded", () => {
  it("an isolate remembers exceeded limits as long as Retry-After says, and at most ten thousand of them", async () => {
    const clock = { now: NOW };
    const limits = new ExceededLimits(runtimeAt(() => clock.now * 1000));
    const none = new CountedLimit(0);
    expect(await limits.count(new CountedLimit(1), "a", 10)).toBe(true);
    expect(limits.isExceeded("a")).toBe(false);
    expect(await limits.count(none, "a", 10)).toBe(false);
    clock.now += 9;
    expect(limits.isExceeded("a")).toBe(true);
    for (let i = 0; i < 10_000; i++) await limits.count(none, `b${i}`, 10);
    expect([limits.isExceeded("a"), limits.isExceeded("b0"), limits.isExceeded("b9999")]).toEqual([false, true, true]);
    clock.now += 10;
    expect(limits.isExceeded("b9999")).toBe(false);
  });
});

describe("the limits of wrangler.toml", () => {
  it("each environment of wrangler.toml allows 1,000 in 10 s to an app, 3,000 to a site, 300 a minute to an address", () => {
    const limits = [...toml.matchAll(/^name = "(\w+)"\nnamespace_id = "(\d+)"\nsimple = (.+)$/gm)];
    expect(limits.map(([, name, , simple]) => `${name} ${simple}`)).toEqual([
      "APP_LIMIT { limit = 1000, period = 10 }",
      "SITE_LIMIT { limit = 3000, period = 10 }",
      "CLIENT_LIMIT { limit = 300, period = 60 }",
      "TOKEN_CHANGES { limit = 300, period = 10 }",
      "TOKEN_READS { limit = 300, period = 10 }",
      "APP_LIMIT { limit = 1000, period = 10 }",
      "SITE_LIMIT { limit = 3000, period = 10 }",
      "CLIENT_LIMIT { limit = 300, period = 60 }",
      "TOKEN_CHANGES { limit = 300, period = 10 }",
      "TOKEN_READS { limit = 300, period = 10 }",
    ]);
    expect(new Set(limits.map(([, , namespace]) => namespace)).size).toBe(10);
    expect([LIMIT_PERIOD, CLIENT_LIMIT_PERIOD]).toEqual([10, 60]);
  });

  it("the platform counts each key of a rate limit separately", async () => {
    const world = await World.create({ APP_LIMIT: env.APP_LIMIT, CLIENT_LIMIT: env.CLIENT_LIMIT });
    const flooding = address(crypto.randomUUID());
    await world.create({}, flooding);
    const limit = () => env.CLIENT_LIMIT.limit({ key: `signed ${flooding["cf-connecting-ip"]}` });
    // A new minute of the limit may begin during the loop, so twice as many requests may pass.
    for (let calls = 0; calls < 600 && (await limit()).success; calls++);
    expectLimited(await world.create({}, { ...flooding, ...forged }), 60);
    expect((await world.create({}, flooding)).status).toBe(200);
    expect((await world.create({}, { ...address(crypto.randomUUID()), ...forged })).status).toBe(401);
  });
});

describe("a broken limiter", () => {
  it.each(FAULTS)("a broken limiter limits nobody: %s", async (fault) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    const world = await World.create();
    const faults = new Faults(() => fault);
    const isolate = world.anotherIsolate({
      APP_LIMIT: faultyLimit(new CountedLimit(0), faults, "APP_LIMIT"),
      SITE_LIMIT: faultyLimit(new CountedLimit(0), faults, "SITE_LIMIT"),
      CLIENT_LIMIT: faultyLimit(new CountedLimit(0), faults, "CLIENT_LIMIT"),
    });
    await env.CREDENTIALS.delete(`app:${world.appid}`);
    const call = await startCall(isolate, "create_gd", isolate.createBody());
    expect((await withoutWaiting(call.answer, faults)).status).toBe(200);
    const refused = await startCall(isolate, "create_gd", isolate.createBody(), forged);
    expect((await withoutWaiting(refused.answer, faults)).status).toBe(401);
    expect(faults.calls).toEqual(["APP_LIMIT.limit", "SITE_LIMIT.limit", "CLIENT_LIMIT.limit"]);
    await faults.end();
    await Promise.all([call.rest(), refused.rest()]);
    expect((await world.stored()).sessions).toHaveLength(1);
  });

  it("a limiter that is not bound limits nobody", async () =>
    expect(await new ExceededLimits(systemRuntime).count(undefined, "key", 1)).toBe(true));
});
