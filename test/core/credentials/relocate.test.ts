import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Credentials } from "../../../src/core/credentials/open-secrets.ts";
import { downDb } from "../../support/down-db.ts";
import { type Change, ResolvingIsolate, recordOf, refusalOf, warmIsolate } from "../../support/resolving-isolate.ts";
import { World } from "../../support/world.ts";

/** An app of `apac` whose record in the isolate names another home, as after a move or a restore. */
async function misplace(home: string, change: Change = {}) {
  const world = await World.create({}, "apac");
  const { known } = await warmIsolate(world);
  const record: Credentials = { ...known, home };
  return { world, isolate: new ResolvingIsolate(change), record };
}

describe("looking for an app whose home does not answer", () => {
  it("an app whose home does not answer is found where the directory says, and its record is put into KV", async () => {
    const { world, isolate, record } = await misplace("eu");
    await env.CREDENTIALS.put(`app:${world.appid}`, JSON.stringify({ ...(await recordOf(world.appid)), home: "eu" }));
    expect(await isolate.relocate(record)).toMatchObject({ source: "d1", credentials: { home: "apac", keys: [{}] } });
    expect(await recordOf(world.appid)).toMatchObject({ home: "apac" });
    expect(await isolate.remembered(world.appid)).toMatchObject({ credentials: { home: "apac" } });
  });

  it("simultaneous searches for an app whose home does not answer read the directory once", async () => {
    const { isolate, record } = await misplace("eu");
    const credentials = await Promise.all(Array.from({ length: 5 }, () => isolate.relocate(record)));
    expect(credentials.map((each) => each?.credentials.home)).toEqual(Array(5).fill("apac"));
    expect([isolate.trips.single, isolate.tripsToApac.single]).toEqual([1, 1]);
  });

  it("a search for an app in another home is repeated after the directory did not answer", async () => {
    const { isolate, record } = await misplace("eu", { directory: downDb(env.DB) });
    await refusalOf(isolate.relocate(record));
    isolate.bindings.directory = env.DB;
    expect(await isolate.relocate(record)).toMatchObject({ credentials: { home: "apac" } });
  });

  it("a directory that names no other home is asked once in 5 s for each app and client", async () => {
    const { world, isolate, record } = await misplace("apac");
    const trips = async (client?: string) => {
      expect(await isolate.relocate(record, client)).toBeUndefined();
      return isolate.trips.single;
    };
    expect([await trips(), await trips()]).toEqual([1, 1]);
    expect(await trips("192.0.2.66")).toBe(2);
    isolate.clock.now += 4;
    expect(await trips()).toBe(2);
    isolate.clock.now += 1;
    await env.DB.prepare("DELETE FROM app_routes WHERE appid = ?").bind(world.appid).run();
    expect(await trips()).toBe(3);
    expect(isolate.tripsToApac.single).toBe(0);
  });

  it("an app of main is not looked for in the directory, because that is the database that does not answer", async () => {
    const { isolate, record } = await misplace("main");
    expect(await isolate.relocate(record)).toBeUndefined();
    expect([isolate.trips.single, isolate.tripsToApac.single]).toEqual([0, 0]);
  });

  it.each<[string, Change, string]>([
    ["the directory is down", { directory: downDb(env.DB) }, "d1_unavailable"],
    ["the other home is down", { apac: downDb(env.HOME_APAC) }, "d1_unavailable"],
    ["the other home is closed", { closedHomes: ["apac"] }, "home_closed"],
  ])("a search for an app in another home is unavailable when %s", async (_, change, reason) => {
    const { isolate, record } = await misplace("eu", change);
    const { code, context } = await refusalOf(isolate.relocate(record));
    expect([code, context.reason]).toEqual(["unavailable", reason]);
  });
});
