import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { AppRecord } from "../../../src/core/credentials/find-app.ts";
import { downDb } from "../../support/down-db.ts";
import { Faults, faultyD1 } from "../../support/faulty-bindings.ts";
import { firedTimers } from "../../support/fired-timers.ts";
import { replacing } from "../../support/replacing.ts";
import { kvKey, ResolvingIsolate, recordOf, refusalOf, worldUnknownToKv } from "../../support/resolving-isolate.ts";
import { staleKv } from "../../support/stale-kv.ts";
import { World } from "../../support/world.ts";

/** A KV that answers only when the test says so, and records its puts. */
function heldKv() {
  const { promise, resolve } = Promise.withResolvers<AppRecord | null>();
  const puts: AppRecord[] = [];
  const kv = replacing(env.CREDENTIALS, {
    get: () => promise,
    put: async (_: string, text: string) => void puts.push(JSON.parse(text) as AppRecord),
  });
  return { kv, puts, answer: resolve };
}

/** A directory that answers only when the test says so. */
function heldD1() {
  const faults = new Faults(() => "late");
  return { directory: faultyD1(env.DB, faults), uncounted: true, answer: () => faults.end(), calls: faults.calls };
}

/** A directory that is down, and records whether it was asked. */
function downD1() {
  const statements: unknown[] = [];
  const down = downDb(env.DB);
  const prepare = (sql: string) => {
    statements.push(sql);
    return down.prepare(sql);
  };
  return { directory: replacing(env.DB, { prepare }), statements };
}

const until = async (condition: () => boolean) => {
  await expect.poll(condition).toBe(true);
};

const cold = (isolate: ResolvingIsolate, appid: string, more?: number) =>
  isolate.lookUp({ trust: "cache", appid, inTurn: false }, more);

describe("a cold look-up", () => {
  it.each(["main", "apac"])("a cold look-up asks no D1 when KV answers within 15 ms: home %s", async (home) => {
    const { appid } = await World.create({}, home);
    const record = await recordOf(appid);
    const credentials = replacing(env.CREDENTIALS, { get: async () => record });
    const isolate = new ResolvingIsolate({ credentials, hedged: true });
    expect(await isolate.resolve(appid)).toMatchObject({ source: "kv", credentials: { appid, home } });
    expect([isolate.trips.single, isolate.tripsToApac.single]).toEqual([0, 0]);
  });

  it("a cold look-up asks D1 at once, without the wait of 15 ms, when KV does not have the app", async () => {
    const { appid } = await worldUnknownToKv();
    const credentials = replacing(env.CREDENTIALS, { get: async () => null });
    const isolate = new ResolvingIsolate({ credentials });
    const timers = firedTimers();
    expect(await isolate.resolve(appid)).toMatchObject({ source: "d1" });
    expect(timers).toEqual([]);
  });

  it("a cold look-up uses D1's answer when KV answers later, and corrects an old record of KV", async () => {
    const world = await World.create();
    const { kv, puts, answer } = heldKv();
    const isolate = new ResolvingIsolate({ credentials: kv, hedged: true });
    const record = await recordOf(world.appid);
    expect(await cold(isolate, world.appid)).toMatchObject({ source: "d1", credentials: { revoked: false } });
    answer({ ...record, revokedAt: 1 });
    await isolate.settled();
    expect(await isolate.remembered(world.appid)).toMatchObject({ credentials: { revoked: false } });
    expect(puts).toEqual([record]);
  });

  it("a cold look-up uses KV's answer when D1 answers later, and the next request uses D1's answer", async () => {
    const world = await World.create();
    const [{ kv, puts, answer }, d1] = [heldKv(), heldD1()];
    const isolate = new ResolvingIsolate({ credentials: kv, ...d1, hedged: true });
    const record = await recordOf(world.appid);
    const credentials = cold(isolate, world.appid);
    await until(() => d1.calls.length > 0);
    answer({ ...record, revokedAt: 1 });
    expect(await credentials).toMatchObject({ source: "kv", credentials: { revoked: true } });
    await d1.answer();
    await isolate.settled();
    expect(await isolate.remembered(world.appid)).toMatchObject({ credentials: { revoked: false } });
    expect(puts).toEqual([record]);
  });

  it("a cold look-up uses KV's later answer when D1 fails", async () => {
    const world = await World.create();
    const [{ kv, answer }, { directory, statements }] = [heldKv(), downD1()];
    const isolate = new ResolvingIsolate({ credentials: kv, directory, hedged: true });
    const credentials = cold(isolate, world.appid);
    await until(() => statements.length > 0);
    answer(await recordOf(world.appid));
    expect(await credentials).toMatchObject({ source: "kv", credentials: { appid: world.appid } });
  });

  it("a cold look-up fails with D1's fault when KV does not have the app either", async () => {
    const { appid } = await World.create();
    const [{ kv, answer }, { directory, statements }] = [heldKv(), downD1()];
    const isolate = new ResolvingIsolate({ credentials: kv, directory, hedged: true });
    const credentials = refusalOf(cold(isolate, appid));
    await until(() => statements.length > 0);
    answer(null);
    expect(await credentials).toMatchObject({ code: "unavailable", context: { reason: "d1_unavailable" } });
  });

  it("a cold look-up does not wait for KV when the directory names a closed home", async () => {
    const { appid } = await World.create({}, "apac");
    const isolate = new ResolvingIsolate({ credentials: heldKv().kv, closedHomes: ["apac"], hedged: true });
    const longerThanTheTest = 3_600_000;
    const refusal = await refusalOf(cold(isolate, appid, longerThanTheTest));
    expect(refusal).toMatchObject({ context: { reason: "home_closed" } });
  });

  it("a cold look-up waits for neither KV nor D1 longer than the request's time", async () => {
    const { appid } = await World.create();
    const isolate = new ResolvingIsolate({ credentials: heldKv().kv, directory: downDb(env.DB), hedged: true });
    const timers = firedTimers();
    expect(await refusalOf(cold(isolate, appid, 60))).toMatchObject({ code: "unavailable" });
    expect(Math.max(...timers)).toBeLessThanOrEqual(60);
  });

  it("a cold look-up puts nothing into a KV that hangs for ever, because that KV is slow and not empty", async () => {
    const { appid } = await World.create();
    const { kv, puts } = heldKv();
    const isolate = new ResolvingIsolate({ credentials: kv, hedged: true });
    expect(await cold(isolate, appid)).toMatchObject({ source: "d1" });
    await isolate.settled();
    expect(puts).toEqual([]);
  });

  it("a cold look-up believes KV's late record when the directory, which may be restored, denies the app", async () => {
    const world = await World.create();
    const record = await recordOf(world.appid);
    const { kv, answer } = heldKv();
    const isolate = new ResolvingIsolate({ credentials: kv, hedged: true });
    const appid = `gone-${world.siteId}`;
    const looked = cold(isolate, appid);
    await new Promise((resolve) => setTimeout(resolve, 40));
    answer({ ...record, appid, revokedAt: 1 });
    expect(await looked).toMatchObject({ source: "kv", credentials: { appid, revoked: true } });
  });

  it("a cold look-up does not wait for a hanging KV when the directory says that there is no such app", async () => {
    const isolate = new ResolvingIsolate({ credentials: heldKv().kv, hedged: true });
    expect(await cold(isolate, `gone-${crypto.randomUUID()}`)).toBeUndefined();
  });

  it("a cold look-up keeps the record that another request has read from D1 meanwhile", async () => {
    const world = await World.create();
    const { kv, answer } = heldKv();
    const isolate = new ResolvingIsolate({ credentials: kv });
    const record = await recordOf(world.appid);
    const known = (await new ResolvingIsolate().resolve(world.appid))?.credentials;
    if (known === undefined) throw new Error("the app is not there");
    const slow = cold(isolate, world.appid);
    await isolate.lookUp({ trust: "home", bound: "none", cached: known, client: "", signature: "" });
    answer({ ...record, revokedAt: 1 });
    expect(await slow).toMatchObject({ source: "isolate", credentials: { revoked: false } });
  });

  it("a cold look-up finds an app that was issued after a location of KV had cached the miss", async () => {
    const world = await World.create();
    const appid = `later-${world.siteId}`;
    const credentials = staleKv(env.CREDENTIALS);
    expect(await new ResolvingIsolate({ credentials }).resolve(appid)).toBeUndefined();
    const body = { name: "N", appid, secret: "a secret of its own" };
    const issued = await world.admin("POST", `/admin/sites/${world.siteId}/apps`, body);
    expect(issued.status).toBe(201);
    for (const _ of [1, 2]) {
      const isolate = new ResolvingIsolate({ credentials });
      expect(await isolate.resolve(appid)).toMatchObject({ source: "d1", credentials: { appid } });
    }
    expect(await env.CREDENTIALS.get(kvKey(appid))).not.toBeNull();
  });
});
