import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Bindings } from "../../src/config.ts";
import { closing } from "../support/closing.ts";
import type { Faults } from "../support/faulty-bindings.ts";
import { withoutWaiting } from "../support/patient-fetch.ts";
import { replacing } from "../support/replacing.ts";
import { allTables, answeringBy, PROMPT_HOME, silentHomes } from "../support/silent-homes.ts";
import { World } from "../support/world.ts";

afterEach(() => {
  // The order matters: a restored mock returns the timer that it replaced, which may be a fake.
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const boom = () => {
  throw new Error("down");
};
const deadDb = replacing(env.DB, { prepare: boom });
const deadKv = (kv: KVNamespace) => replacing(kv, { get: async () => boom() });

async function healthz(world: World): Promise<{ status: number; body: unknown }> {
  const response = await world.fetch(new Request("http://worker/healthz"));
  expect(response.headers.get("cache-control")).toBe("no-store");
  return { status: response.status, body: await response.json() };
}

/** The answer when all is well, with these differences. */
const degraded = (main: "ok" | "down", apac: "ok" | "down", kv: "ok" | "down") => {
  const [status, word] = main === "down" ? [503, "down"] : [200, "degraded"];
  return { status, body: { status: word, directory: main, homes: { main, apac }, kv } };
};

const OK = { status: 200, body: { ...degraded("ok", "ok", "ok").body, status: "ok" } };
const KV_DOWN = degraded("ok", "ok", "down");

describe("GET /healthz", () => {
  it.each<[string, Record<string, unknown>, object]>([
    ["ok when all answer", {}, OK],
    ["degraded when NONCES fails", { NONCES: deadKv(env.NONCES) }, KV_DOWN],
    ["degraded when CREDENTIALS fails", { CREDENTIALS: deadKv(env.CREDENTIALS) }, KV_DOWN],
    ["degraded when KV throws at once", { NONCES: replacing(env.NONCES, { get: boom }) }, KV_DOWN],
    ["degraded when NONCES is not bound", { NONCES: undefined }, KV_DOWN],
    ["degraded when CREDENTIALS is not bound", { CREDENTIALS: undefined }, KV_DOWN],
    [
      "degraded when one is not bound and the other fails",
      { NONCES: undefined, CREDENTIALS: deadKv(env.CREDENTIALS) },
      KV_DOWN,
    ],
    ["degraded when a home other than main fails", { HOME_APAC: deadDb }, degraded("ok", "down", "ok")],
    ["degraded when a home and KV fail", { HOME_APAC: deadDb, NONCES: undefined }, degraded("ok", "down", "down")],
    ["degraded when a home was never migrated", { HOME_APAC: env.UNMIGRATED }, degraded("ok", "down", "ok")],
    ["down when the directory fails", { DB: deadDb }, degraded("down", "ok", "ok")],
    ["down when the directory was never migrated", { DB: env.UNMIGRATED }, degraded("down", "ok", "ok")],
    ["down when the directory and KV fail", { DB: deadDb, NONCES: deadKv(env.NONCES) }, degraded("down", "ok", "down")],
    ["down when all fail", { DB: deadDb, HOME_APAC: deadDb, NONCES: undefined }, degraded("down", "down", "down")],
    ["ok when a home that answers is closed", closing("apac"), OK],
  ])("is %s", async (_, change, expected) => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    vi.spyOn(console, "error").mockImplementation(() => {});
    expect(await healthz(await World.create(change as Partial<Bindings>))).toEqual(expected);
  });

  it("has one home, the directory's own database, when no other is bound", async () => {
    const world = await World.create({ HOME_APAC: undefined } as unknown as Partial<Bindings>);
    const body = { status: "ok", directory: "ok", homes: { main: "ok" }, kv: "ok" };
    expect(await healthz(world)).toEqual({ status: 200, body });
  });

  it("waits only for a while for a KV or a home that hangs", async () => {
    const silent = () => new Promise<never>(() => {});
    const hanging = replacing(env.NONCES, { get: silent });
    const home = answeringBy(silent);
    const answers = [World.create({ NONCES: hanging }), World.create({ HOME_APAC: home })];
    expect(await Promise.all(answers.map(async (world) => healthz(await world)))).toEqual([
      KV_DOWN,
      degraded("ok", "down", "ok"),
    ]);
  });

  /** Silent homes, and after them one that answers. */
  const worldWith = (count: number, asked = vi.fn()) => {
    const silence = silentHomes(count);
    const prompt = { get: async () => null };
    const world = World.create({
      ...silence.bindings,
      DB: answeringBy(async (names) => {
        asked();
        return allTables(names);
      }),
      HOME_APAC: PROMPT_HOME,
      HOME_Z: PROMPT_HOME,
      NONCES: replacing(env.NONCES, prompt),
      CREDENTIALS: replacing(env.CREDENTIALS, prompt),
    });
    return { world, silence };
  };

  it("gives each home its full time from its turn on, however many silent homes come before", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    const { world, silence } = worldWith(8);
    const answer = await withoutWaiting(healthz(await world), { isSilent: true } as Faults);
    const homes = { main: "ok", apac: "ok", ...silence.states, z: "ok" };
    expect(answer).toEqual({ status: 200, body: { status: "degraded", directory: "ok", homes, kv: "ok" } });
    expect(silence.most()).toBeLessThanOrEqual(5);
  });

  it("ends within a probe's time limit, so that probes do not pile up, and calls a home down that had no turn", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    const asked = vi.fn();
    const { world, silence } = worldWith(30, asked);
    const isolate = await world;
    const both = Promise.all([healthz(isolate), healthz(isolate)]);
    const answers = await withoutWaiting(both, { isSilent: true } as Faults);
    const homes = { main: "ok", apac: "ok", ...silence.states, z: "down" };
    const expected = { status: 200, body: { status: "degraded", directory: "ok", homes, kv: "ok" } };
    expect(answers).toEqual([expected, expected]);
    expect(asked).toHaveBeenCalledTimes(1);
  });

  it("asks at most every 5 s, and again when the clock went back", async () => {
    let asked = 0;
    const prepare = (sql: string) => {
      asked++;
      return env.DB.prepare(sql);
    };
    const world = await World.create({ DB: replacing(env.DB, { prepare }) });
    const askedAt = async (seconds: number) => {
      world.clock.now += seconds;
      expect(await healthz(world)).toEqual(OK);
      return asked;
    };
    expect([await askedAt(0), await askedAt(0), await askedAt(4)]).toEqual([1, 1, 1]);
    expect([await askedAt(1), await askedAt(4)]).toEqual([2, 2]);
    expect(await askedAt(-3600)).toBe(3);
  });

  it("asks once for all requests at the same time", async () => {
    let asked = 0;
    const rows = async (names: unknown[]) => {
      asked++;
      await scheduler.wait(50);
      return allTables(names);
    };
    const gets: string[] = [];
    const kv = (name: "NONCES" | "CREDENTIALS") => replacing(env[name], { get: async () => void gets.push(name) });
    const world = await World.create({
      DB: answeringBy(rows),
      NONCES: kv("NONCES"),
      CREDENTIALS: kv("CREDENTIALS"),
    });
    const answers = await Promise.all(Array.from({ length: 200 }, () => healthz(world)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer)))).toEqual(new Set([JSON.stringify(OK)]));
    expect([asked, gets.sort()]).toEqual([1, ["CREDENTIALS", "NONCES"]]);
    world.clock.now += 5;
    await Promise.all(Array.from({ length: 200 }, () => healthz(world)));
    expect(asked).toBe(2);
  });

  it("asks again, once, when the request that asked was cancelled", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    let asked = 0;
    const rows = async (names: unknown[]) => (++asked === 1 ? new Promise<never>(() => {}) : allTables(names));
    const world = await World.create({ DB: answeringBy(rows) });
    // Everything that a request waits for ends with the request, its timers too.
    const cancelled = vi.spyOn(globalThis, "setTimeout").mockImplementation((() => 0) as never);
    void healthz(world);
    while (asked === 0) await scheduler.wait(1);
    cancelled.mockRestore();
    const others = Promise.all(Array.from({ length: 20 }, () => healthz(world)));
    const answers = await withoutWaiting(others, { isSilent: true } as Faults);
    expect(answers).toEqual(Array.from({ length: 20 }, () => OK));
    expect(asked).toBe(2);
    expect(await healthz(world)).toEqual(OK);
    expect(asked).toBe(2);
  });

  it("keeps a bad state for 5 s, and sees the recovery after that", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    let down = true;
    const prepare = (sql: string) => (down ? boom() : env.DB.prepare(sql));
    const world = await World.create({ DB: replacing(env.DB, { prepare }) });
    expect((await healthz(world)).status).toBe(503);
    down = false;
    expect((await healthz(world)).status).toBe(503);
    world.clock.now += 5;
    expect(await healthz(world)).toEqual(OK);
  });

  it("needs no token, and tells nothing but the state", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const world = await World.create({ ADMIN_TOKEN: undefined } as unknown as Partial<Bindings>);
    expect(await healthz(world)).toEqual(OK);
  });

  it("is a 500 when the deployment is not configured", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const world = await World.create({ MASTER_KEY: "" });
    const response = await world.fetch(new Request("http://worker/healthz"));
    expect([response.status, await response.json()]).toEqual([500, { code: -1, msg: "系统错误", data: "" }]);
  });
});
