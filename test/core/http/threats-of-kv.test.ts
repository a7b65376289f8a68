import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { downDb } from "../../support/down-db.ts";
import { type Fault, Faults, faultyD1 } from "../../support/faulty-bindings.ts";
import { forgeRecord } from "../../support/forge-record.ts";
import { databaseOf } from "../../support/homes.ts";
import { startCall } from "../../support/patient-fetch.ts";
import { recordOf } from "../../support/resolving-isolate.ts";
import { expectTokenInvalid } from "../../support/signed-routes.ts";
import { type Answer, NOW, type ReplacedBindings, World } from "../../support/world.ts";

/**
 * Tests what an attacker who writes to KV can do with an app's home. threats.test.ts has the cases in which homes answer. The tests watch
 * two databases: the database that has the app, and the database that a record names.
 */

const BINDING: Record<string, keyof ReplacedBindings> = { main: "DB", apac: "HOME_APAC", eu: "HOME_EU" };

/** The database of a home. `eu` is a home without sites, and `nowhere` is not bound. */
const realDb = (home: string) => (home === "eu" ? env.UNMIGRATED : databaseOf(home));

/** For each home, how its nth call fails. */
type Plans = Record<string, (nth: number) => Fault | undefined>;

/** An isolate of the world's deployment, with faults in its homes. */
function faulty(world: World, plans: Plans, bindings: ReplacedBindings = {}) {
  const faults: Record<string, Faults> = {};
  const databases: ReplacedBindings = {};
  const all: Plans = { main: () => undefined, ...plans };
  for (const [home, plan] of Object.entries(all)) {
    const through = new Faults(({ nth }) => plan(nth));
    faults[home] = through;
    Object.assign(databases, { [BINDING[home] ?? ""]: faultyD1(realDb(home), through) });
  }
  const isolate = world.anotherIsolate({ ...databases, ...bindings });
  return { isolate, calls: (home: string) => faults[home]?.calls ?? [], all: Object.values(faults) };
}

/** Advances fake time, in small steps while a database works, so that its work uses little of the 8 s. @returns the passed milliseconds */
async function patiently<T>(all: Faults[], work: Promise<T>): Promise<{ value: T; tookMs: number }> {
  const since = Date.now();
  let settled = false;
  const done = () => {
    settled = true;
  };
  work.then(done, done);
  while (!settled) {
    const waits = all.some((faults) => faults.isSilent) ? 100 : 20;
    await vi.advanceTimersByTimeAsync(all.some((faults) => faults.isWorking) ? 1 : waits);
    await scheduler.wait(1);
  }
  return { value: await work, tookMs: Date.now() - since };
}

async function createThrough({ isolate, all }: ReturnType<typeof faulty>, change = {}) {
  const { answer, rest } = await startCall(isolate, "create_gd", isolate.createBody(change));
  const { value, tookMs } = await patiently(all, answer);
  return { answer: value as Answer, tookMs, rest };
}

const hangs = (): Fault => "never done";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

describe("a record of KV that names a silent home", () => {
  it.each([
    ["main", "apac"],
    ["apac", "eu"],
  ])(
    "a record of KV that names a silent home stops no app of %s: the session exists once within 8 s",
    async (home, named) => {
      const world = await World.create({}, home);
      await forgeRecord(world, { home: named });
      const faultyWorld = faulty(world, { [named]: hangs });
      const { answer, tookMs, rest } = await createThrough(faultyWorld);
      expect([answer.status, tookMs < 8_000]).toEqual([200, true]);
      expect(faultyWorld.calls(named).length).toBeOneOf([1, 2]);
      for (const faults of faultyWorld.all) await faults.end();
      await rest();
      expect((await world.stored()).sessions).toHaveLength(1);
      // The isolate and KV know the right home from now on.
      expect(await recordOf(world.appid)).toMatchObject({ home });
      const before = faultyWorld.calls(named).length;
      expect((await faultyWorld.isolate.create()).status).toBe(200);
      expect(faultyWorld.calls(named)).toHaveLength(before);
    },
  );

  it("a record of KV stops no app by calling it revoked, or by holding an ended secret", async () => {
    for (const change of [{ revokedAt: NOW - 1 }, { secret: "ended" }]) {
      const world = await World.create();
      const { secret, version } = await recordOf(world.appid);
      const rotated = await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 0 });
      world.secret = (await rotated.json<{ secret: string }>()).secret;
      await forgeRecord(world, { home: "apac", ...("secret" in change ? { secret, version } : change) });
      const faultyWorld = faulty(world, { apac: hangs });
      const { answer, tookMs, rest } = await createThrough(faultyWorld);
      expect([answer.status, tookMs < 8_000]).toEqual([200, true]);
      expect(faultyWorld.calls("apac").length).toBeOneOf([1, 2]);
      for (const faults of faultyWorld.all) await faults.end();
      await rest();
      expect((await world.stored()).sessions).toHaveLength(1);
    }
  });

  it("a record of KV stops no app by naming another site, because its seal does not open", async () => {
    const world = await World.create();
    await forgeRecord(world, { home: "apac", siteId: world.siteId + 1 });
    const faultyWorld = faulty(world, { apac: hangs });
    const { answer, rest } = await createThrough(faultyWorld);
    await rest();
    expect([answer.status, faultyWorld.calls("apac")]).toEqual([200, []]);
  });
});

describe("a slow home that is the right one", () => {
  it.each<[string, Plans, ReplacedBindings]>([
    ["answers", {}, {}],
    ["is down", {}, { DB: downDb(env.DB) }],
    ["is silent", { main: hangs }, {}],
  ])(
    "a slow home gets its second and third try while the directory %s, and the session exists once",
    async (_, plans, bindings) => {
      const world = await World.create({}, "apac");
      const faultyWorld = faulty(world, { ...plans, apac: (nth) => (nth < 2 ? "never done" : undefined) }, bindings);
      const { answer, tookMs, rest } = await createThrough(faultyWorld);
      expect([answer.status, tookMs < 8_000, faultyWorld.calls("apac").length]).toEqual([200, true, 3]);
      for (const faults of faultyWorld.all) await faults.end();
      await rest();
      expect((await world.stored()).sessions).toHaveLength(1);
    },
  );

  it("a home that answers causes no question to the directory, and a silent one causes one in 5 s for a client", async () => {
    const world = await World.create({}, "apac");
    const faultyWorld = faulty(world, { apac: () => undefined });
    expect((await createThrough(faultyWorld)).answer.status).toBe(200);
    expect([faultyWorld.calls("main"), faultyWorld.calls("apac")]).toEqual([[], ["DB.batch"]]);
    for (const faults of faultyWorld.all)
      faults.plan(({ nth }) => (faults === faultyWorld.all[1] && nth < 4 ? "before" : undefined));
    const bodies = [1, 2, 3, 4].map((n) => faultyWorld.isolate.createBody({ sbs: `customer ${n}` }));
    const calls = await Promise.all(bodies.map((body) => startCall(faultyWorld.isolate, "create_gd", body)));
    const { value } = await patiently(faultyWorld.all, Promise.all(calls.map(({ answer }) => answer)));
    expect(value.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    await Promise.all(calls.map(({ rest }) => rest()));
    expect(faultyWorld.calls("main")).toHaveLength(1);
    expect((await world.stored()).sessions).toHaveLength(5);
  });
});

describe("a record of KV that names a closed home", () => {
  beforeEach(() => void vi.useRealTimers());

  it("a record of KV that names a closed home stops no app of another home, because the directory is asked", async () => {
    const world = await World.create(closedHomeVars("apac"));
    await forgeRecord(world, { home: "apac" });
    expect((await world.anotherIsolate().create()).status).toBe(200);
    expect((await world.stored()).sessions).toHaveLength(1);
    expect(await recordOf(world.appid)).toMatchObject({ home: "main" });
    const impostor = Object.assign(world.anotherIsolate(), { secret: "no secret of this app" });
    await forgeRecord(world, { home: "apac" });
    await expectTokenInvalid(world, () => impostor.create());
  });

  it("a record of KV that names main stops an app while main is closed or silent", async () => {
    const world = await World.create({}, "apac");
    await forgeRecord(world, { home: "main" });
    for (const bindings of [closedHomeVars("main"), { DB: downDb(env.DB) }]) {
      expect((await world.anotherIsolate(bindings).create()).status).toBe(503);
    }
    expect((await world.stored()).sessions).toEqual([]);
    await env.CREDENTIALS.delete(`app:${world.appid}`);
    expect((await world.anotherIsolate(closedHomeVars("main")).create()).status).toBe(200);
  });

  it("a record of KV that names a closed home is believed when the directory, asked once in 5 s, confirms it", async () => {
    const world = await World.create({}, "apac");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    const faultyWorld = faulty(world, { apac: () => undefined }, closedHomeVars("apac"));
    for (let n = 0; n < 3; n++) {
      const { answer } = await createThrough(faultyWorld);
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "30"]);
    }
    expect([faultyWorld.calls("main").length, faultyWorld.calls("apac")]).toEqual([1, []]);
    expect((await world.stored()).nonces).toEqual([]);
  });

  it("a record of KV that names a closed home is believed within a second while the directory is silent", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    const world = await World.create({}, "apac");
    const faultyWorld = faulty(world, { main: hangs, apac: () => undefined }, closedHomeVars("apac"));
    for (let n = 0; n < 2; n++) {
      const { answer, tookMs } = await createThrough(faultyWorld);
      expect([answer.status, answer.headers.get("retry-after"), tookMs < 1_500]).toEqual([503, "30", true]);
    }
    expect(faultyWorld.calls("apac")).toEqual([]);
    for (const faults of faultyWorld.all) await faults.end();
  });
});
