import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { APP_LIMIT_PERIOD, CLIENT_LIMIT_PERIOD, clientAddress, withinRate } from "../../src/http/rate-limit.ts";
import { FAULTS, Faults, faultyD1, faultyLimit } from "../support/faulty-bindings.ts";
import { startCall, withoutWaiting } from "../support/patient-fetch.ts";
import { expectUnwritten } from "../support/signed-routes.ts";
import { type Answer, World } from "../support/world.ts";

// Each of these tests sends many requests; a machine that is busy with others needs more than the usual time.
vi.setConfig({ testTimeout: 30_000 });

afterEach(() => void vi.useRealTimers());

const files = import.meta.glob("../../wrangler.toml", { query: "?raw", import: "default", eager: true });
const toml = files["../../wrangler.toml"] ?? "";

const LIMITED = { code: -1, msg: "请求过于频繁", data: "" };
const UNKNOWN_APPID = "0123456789abcdef0123456789abcdef";

/** A limit that lets `most` pass for each key, and remembers what it was asked. */
class Counted implements RateLimit {
  readonly keys: string[] = [];
  most: number;

  constructor(most: number) {
    this.most = most;
  }

  async limit({ key = "" }: { key?: string }): Promise<{ success: boolean }> {
    this.keys.push(key);
    return { success: this.keys.filter((each) => each === key).length <= this.most };
  }
}

const address = (ip: string) => ({ "cf-connecting-ip": ip });
const forged = { "x-chat-signature": "0".repeat(64) };

function expectLimited(answer: Answer, seconds: number): void {
  expect(answer.status).toBe(429);
  expect(answer.envelope).toEqual(LIMITED);
  expect(answer.headers.get("retry-after")).toBe(String(seconds));
}

/** A world with these limits, and a database that notes its calls. */
async function limitedWorld(limits: { app?: number; client?: number }) {
  const [app, client] = [new Counted(limits.app ?? 1_000), new Counted(limits.client ?? 1_000)];
  const faults = new Faults();
  const world = await World.create({ APP_LIMIT: app, CLIENT_LIMIT: client, DB: faultyD1(env.DB, faults) });
  return { world, app, client, trips: () => faults.calls.length };
}

describe("the limit of an app", () => {
  it("counts once per request with a valid signature, whatever comes of it, under the appid", async () => {
    const { world, app } = await limitedWorld({});
    await world.create();
    await world.create({ content: "" });
    await world.create({ kefu_id: [1, 404] });
    await world.add(404);
    expect(app.keys).toEqual(Array(4).fill(world.appid));
  });

  it("is not used up by one captured request, sent again or kept until it is stale", async () => {
    const { world, app } = await limitedWorld({ app: 1 });
    const body = world.createBody();
    expect((await world.send("create_gd", body)).status).toBe(200);
    expect((await world.send("create_gd", body)).status).toBe(401);
    world.clock.now += 301;
    expect((await world.send("create_gd", body)).status).toBe(401);
    expect(app.keys).toHaveLength(1);
  });

  it("does not count what is not the app's own: a wrong signature, an unknown appid, no JSON", async () => {
    const { world, app } = await limitedWorld({});
    await world.create({}, forged);
    await world.create({ appid: UNKNOWN_APPID });
    await world.send("create_gd", "{");
    expect(app.keys).toEqual([]);
  });

  it("refuses with 429 and Retry-After, and burns neither ranstr nor key: the same bytes are accepted later", async () => {
    const { world, app, trips } = await limitedWorld({ app: 1 });
    await world.create();
    const text = JSON.stringify(world.createBody());
    const key = { "idempotency-key": "k" };
    const before = trips();
    await expectUnwritten(world, async () => expectLimited(await world.send("create_gd", text, key), 10));
    expect(trips()).toBe(before);
    app.most = 1_000;
    const accepted = await world.send("create_gd", text, key);
    expect(accepted.status).toBe(200);
    expect(accepted.headers.has("idempotency-replayed")).toBe(false);
  });

  it("leaves other apps alone", async () => {
    const { world } = await limitedWorld({ app: 1 });
    const issued = await world.admin("POST", `/admin/sites/${world.siteId}/apps`, { name: "Another app" });
    const other = Object.assign(world.anotherIsolate(), await issued.json<{ appid: string; secret: string }>());
    await world.create();
    expectLimited(await world.create(), 10);
    expect((await other.create()).status).toBe(200);
  });
});

describe("the limit of a client address", () => {
  it("is asked before the database is asked about an appid that no cache knows, and never twice in a request", async () => {
    const { world, client, trips } = await limitedWorld({});
    await world.create({ appid: UNKNOWN_APPID }, address("192.0.2.1"));
    expect(client.keys).toEqual(["192.0.2.1"]);
    expect(trips()).toBe(1);
    await world.create({}, { ...address("192.0.2.2"), ...forged });
    expect(client.keys).toEqual(["192.0.2.1", "192.0.2.2"]);
  });

  it("is not asked about a correctly signed request of a cached app", async () => {
    const { world, client } = await limitedWorld({});
    await world.create();
    expect(client.keys).toHaveLength(1);
    await world.create();
    await world.create({ content: "" });
    await world.add(404);
    const fromKv = world.anotherIsolate();
    await fromKv.create();
    expect(client.keys).toHaveLength(1);
  });

  it("is asked once after each failed verification of a known app", async () => {
    const { world, client } = await limitedWorld({});
    await world.create();
    await world.create({}, forged);
    await world.create({}, { "x-chat-signature": "no hex" });
    await world.sendRaw("create_gd", JSON.stringify(world.createBody()));
    await world.create({ appid: "not an appid of this service" });
    expect(client.keys).toHaveLength(1 + 4);
  });

  it("is asked once after each failed admin token and never for a right one", async () => {
    const { world, client } = await limitedWorld({ client: 2 });
    const call = (token: string) =>
      world.fetch(
        new Request("http://worker/admin/sites", {
          headers: { authorization: `Bearer ${token}`, ...address("192.0.2.3") },
        }),
      );
    expect((await call("x".repeat(40))).status).toBe(401);
    expect((await call("y".repeat(40))).status).toBe(401);
    const limited = await call("z".repeat(40));
    expect(limited.status).toBe(429);
    expect(limited.headers.get("retry-after")).toBe("60");
    expect((await call(env.ADMIN_TOKEN)).status).toBe(200);
    expect(client.keys).toEqual(Array(3).fill("192.0.2.3"));
  });

  it("refuses with 429 and Retry-After once it is over, unknown appids and failed verifications alike", async () => {
    const { world } = await limitedWorld({ client: 1 });
    await world.create();
    expectLimited(await world.create({}, forged), 60);
    expectLimited(await world.create({ appid: UNKNOWN_APPID }), 60);
    expectLimited(await world.create({ appid: "not an appid of this service" }), 60);
  });

  it("never refuses a correctly signed request of a cached app, from isolate or KV, however far the client is over it", async () => {
    const { world } = await limitedWorld({ client: 1 });
    await world.create();
    expectLimited(await world.create({}, forged), 60);
    expect((await world.create()).status).toBe(200);
    expect((await world.anotherIsolate().create()).status).toBe(200);
    expectLimited(await world.create({}, forged), 60);
  });

  it("burns neither ranstr nor key", async () => {
    const { world, client } = await limitedWorld({ client: 0 });
    const text = JSON.stringify(world.createBody());
    const key = { "idempotency-key": "k" };
    await env.CREDENTIALS.delete(`app:${world.appid}`);
    await expectUnwritten(world, async () => expectLimited(await world.send("create_gd", text, key), 60));
    client.most = 1_000;
    expect((await world.send("create_gd", text, key)).status).toBe(200);
  });

  it("lets a flood of forged signatures for a cached app cost no more reads than it lets pass, all at once too", async () => {
    const { world, trips } = await limitedWorld({ client: 3 });
    await world.chatId();
    const before = trips();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => world.sendRaw("create_gd", JSON.stringify(world.createBody()), forged)),
    );
    expect(trips() - before).toBeLessThanOrEqual(3);
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(17);
  });

  it("does not stand between an app that was cached a while ago and a deployment without KV", async () => {
    const client = new Counted(1);
    const world = await World.create({ CLIENT_LIMIT: client, CREDENTIALS: undefined });
    await world.chatId();
    client.most = 0;
    world.clock.now += 301;
    expect((await world.create()).status).toBe(200);
    expect(client.keys).toHaveLength(1);
  });

  it("counts IPv6 by the 64 bits that one client has, however they are written", () => {
    const key = (ip: string) => clientAddress(new Request("http://worker/", { headers: address(ip) }));
    const same = ["2001:db8:0:7::1", "2001:db8:0:7:ffff:1:2:3", "2001:db8:0:7::", "2001:db8:0:7:1::9"];
    expect(new Set(same.map(key)).size).toBe(1);
    expect(key("2001:db8:0:8::1")).not.toBe(key(same[0] ?? ""));
    expect([key("::1"), key("203.0.113.7")]).toEqual(["0:0:0:0", "203.0.113.7"]);
    expect(clientAddress(new Request("http://worker/"))).toBe("unknown");
  });

  it("lets a flood of unknown appids cost no more reads of the database than it lets pass", async () => {
    const { world, trips } = await limitedWorld({ client: 10 });
    const flood = Array.from({ length: 60 }, () => {
      const appid = crypto.randomUUID().replaceAll("-", "");
      return world.create({ appid }, address("192.0.2.4"));
    });
    const statuses = (await Promise.all(flood)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(50);
    expect(trips()).toBe(10);
    expect((await world.create({ appid: UNKNOWN_APPID }, address("192.0.2.5"))).status).toBe(401);
  });
});

describe("the limits of wrangler.toml", () => {
  it("are 1,000 in 10 s for an app and 300 a minute for a client address, in every environment", () => {
    const limits = [...toml.matchAll(/^name = "(\w+_LIMIT)"\nnamespace_id = "(\d+)"\nsimple = (.+)$/gm)];
    expect(limits.map(([, name, , simple]) => `${name} ${simple}`)).toEqual([
      "APP_LIMIT { limit = 1000, period = 10 }",
      "CLIENT_LIMIT { limit = 300, period = 60 }",
      "APP_LIMIT { limit = 1000, period = 10 }",
      "CLIENT_LIMIT { limit = 300, period = 60 }",
    ]);
    expect(new Set(limits.map(([, , namespace]) => namespace)).size).toBe(4);
    expect([APP_LIMIT_PERIOD, CLIENT_LIMIT_PERIOD]).toEqual([10, 60]);
  });

  it("are counted by the platform, key by key", async () => {
    const world = await World.create({ APP_LIMIT: env.APP_LIMIT, CLIENT_LIMIT: env.CLIENT_LIMIT });
    const flooding = address(crypto.randomUUID());
    await world.create({}, flooding);
    const limit = () => env.CLIENT_LIMIT.limit({ key: flooding["cf-connecting-ip"] });
    // A minute may end meanwhile, so twice as many may pass.
    for (let calls = 0; calls < 600 && (await limit()).success; calls++);
    expectLimited(await world.create({}, { ...flooding, ...forged }), 60);
    expect((await world.create({}, flooding)).status).toBe(200);
    expect((await world.create({}, { ...address(crypto.randomUUID()), ...forged })).status).toBe(401);
  });
});

describe("a limiter that does not work", () => {
  it.each(FAULTS)("limits nobody: %s", async (fault) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    const world = await World.create();
    const faults = new Faults(() => fault);
    const isolate = world.anotherIsolate({
      APP_LIMIT: faultyLimit(new Counted(0), faults, "APP_LIMIT"),
      CLIENT_LIMIT: faultyLimit(new Counted(0), faults, "CLIENT_LIMIT"),
    });
    await env.CREDENTIALS.delete(`app:${world.appid}`);
    const call = await startCall(isolate, "create_gd", isolate.createBody());
    expect((await withoutWaiting(call.answer, faults)).status).toBe(200);
    const refused = await startCall(isolate, "create_gd", isolate.createBody(), forged);
    expect((await withoutWaiting(refused.answer, faults)).status).toBe(401);
    expect(faults.calls).toEqual(["CLIENT_LIMIT.limit", "APP_LIMIT.limit", "CLIENT_LIMIT.limit"]);
    await faults.end();
    await Promise.all([call.rest(), refused.rest()]);
    expect((await world.stored()).sessions).toHaveLength(1);
  });

  it("limits nobody when it is not bound", async () => expect(await withinRate(undefined, "key")).toBe(true));
});
