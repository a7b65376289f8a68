import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it, vi } from "vitest";
import numbers from "../../../docs/numbers.json";
import type { AppRecord } from "../../../src/core/credentials/find-app.ts";
import type { Credentials } from "../../../src/core/credentials/open-secrets.ts";
import { APPID } from "../../../src/core/credentials/resolve-credentials.ts";
import { importKeyring, seal } from "../../../src/core/credentials/sealed-secret.ts";
import { ServiceError } from "../../../src/core/errors.ts";
import { systemRuntime } from "../../../src/core/runtime.ts";
import { recordsOf } from "../../support/console-telemetry.ts";
import { downDb } from "../../support/down-db.ts";
import { databaseOf } from "../../support/homes.ts";
import { replacing } from "../../support/replacing.ts";
import {
  type Change,
  kvKey,
  MASTER_KEY,
  ResolvingIsolate,
  recordOf,
  refusalOf,
  warmIsolate,
  worldUnknownToKv,
} from "../../support/resolving-isolate.ts";
import { NOW, World } from "../../support/world.ts";

const OTHER_KEY = MASTER_KEY.toReversed();

/** The trips of a look-up according to docs/numbers.json: the trips of a create without its batch. */
const statedTrips = (name: "trips.cold" | "trips.main" | "trips.home") => numbers.results[name].value - 1;

async function rotate(world: World, overlapSeconds: number, ends?: "previous"): Promise<void> {
  const body = { overlap_seconds: overlapSeconds, ...(ends && { ends }) };
  const answer = await world.admin("POST", `/admin/apps/${world.appid}/rotate`, body);
  if (!answer.ok) throw new Error(await answer.text());
}

/** The version of an app's current secret, as stored. */
const versionOf = ({ appid, home }: World) =>
  databaseOf(home).prepare("SELECT version FROM apps WHERE appid = ?").bind(appid).first<string>("version");

describe("resolving", () => {
  it("a look-up asks the isolate, then KV, then D1, and fills the caches that did not have the app", async () => {
    const world = await worldUnknownToKv();
    const { appid, siteId } = world;
    const first = new ResolvingIsolate();
    const expected = { appid, siteId, home: "main", revoked: false, keys: [{ version: await versionOf(world) }] };
    expect(await first.resolve(appid)).toMatchObject({ source: "d1", credentials: expected });
    expect([first.kvGets, first.trips.single]).toEqual([[kvKey(appid)], 1]);
    expect(statedTrips("trips.main")).toBe(1);

    expect(await first.resolve(appid)).toMatchObject({ source: "isolate", credentials: expected });
    expect([first.kvGets.length, first.trips.single]).toEqual([1, 1]);

    const second = new ResolvingIsolate();
    expect(await second.resolve(appid)).toMatchObject({ source: "kv", credentials: expected });
    expect(await second.resolve(appid)).toMatchObject({ source: "isolate" });
    expect([second.kvGets.length, second.trips.single]).toEqual([1, 0]);
    expect(statedTrips("trips.cold")).toBe(0);
  });

  it("a look-up believes the isolate's record for 300 s", async () => {
    const world = await World.create();
    const { isolate } = await warmIsolate(world);
    isolate.clock.now += 299;
    expect(await isolate.resolve(world.appid)).toMatchObject({ source: "isolate" });
    isolate.clock.now += 1;
    expect(await isolate.resolve(world.appid)).toMatchObject({ source: "kv" });
  });

  it("a look-up of an app in another home asks the directory, then that home, and puts the record into KV", async () => {
    const world = await worldUnknownToKv("apac");
    const { appid, siteId } = world;
    const first = new ResolvingIsolate();
    const expected = { appid, siteId, home: "apac", revoked: false, keys: [{ version: await versionOf(world) }] };
    expect(await first.resolve(appid)).toMatchObject({ source: "d1", credentials: expected });
    expect([first.trips, first.tripsToApac]).toEqual([
      { single: 1, batches: 0 },
      { single: 1, batches: 0 },
    ]);
    expect(statedTrips("trips.home")).toBe(2);
    const second = new ResolvingIsolate();
    expect(await second.resolve(appid)).toMatchObject({ source: "kv", credentials: expected });
    expect([second.trips.single, second.tripsToApac.single]).toEqual([0, 0]);
  });

  it("a location of KV caches a read record or a miss for an hour", async () => {
    const { appid } = await World.create();
    const gets: unknown[][] = [];
    const get = async (...args: unknown[]) => void gets.push(args);
    await new ResolvingIsolate({ credentials: replacing(env.CREDENTIALS, { get }) }).resolve(appid);
    expect(gets).toEqual([[kvKey(appid), { type: "json", cacheTtl: 3_600 }]]);
  });

  it("KV keeps a sealed record for a day, and no clear secret", async () => {
    const world = await worldUnknownToKv();
    const puts: unknown[][] = [];
    const credentials = replacing(env.CREDENTIALS, { put: async (...args: unknown[]) => void puts.push(args) });
    await new ResolvingIsolate({ credentials }).resolve(world.appid);
    const sealed = await env.DB.prepare("SELECT secret FROM apps WHERE appid = ?").bind(world.appid).first("secret");
    expect(puts).toEqual([[kvKey(world.appid), expect.any(String), { expirationTtl: 86_400 }]]);
    expect(JSON.parse(String(puts[0]?.[1]))).toEqual({
      appid: world.appid,
      siteId: world.siteId,
      home: "main",
      events: false,
      version: await versionOf(world),
      secret: sealed,
      previousVersion: null,
      previousSecret: null,
      previousExpiresAt: null,
      revokedAt: null,
    });
    expect(String(puts[0]?.[1])).not.toContain(world.secret);
  });

  it("a look-up finds no appid that D1 does not know, and caches nothing of it", async () => {
    const isolate = new ResolvingIsolate();
    expect(await isolate.resolve("unknown-app")).toBeUndefined();
    expect(await isolate.resolve("unknown-app")).toBeUndefined();
    expect(isolate.trips.single).toBe(2);
    expect(await env.CREDENTIALS.get(kvKey("unknown-app"))).toBeNull();
  });

  it.each([[""], ["a".repeat(65)], ["with blank"], ["a\n"], ["a/b"], ["."], ["漢字"], ["a'--"], ["\0"]])(
    "a look-up asks neither KV nor D1 for %j, which no appid can be",
    async (appid) => {
      const isolate = new ResolvingIsolate();
      expect(APPID.test(appid)).toBe(false);
      expect(await isolate.resolve(appid)).toBeUndefined();
      expect([isolate.kvGets, isolate.trips]).toEqual([[], { single: 0, batches: 0 }]);
    },
  );

  it("a look-up reports a revoked app as revoked, whichever key sealed its secret", async () => {
    const world = await World.create();
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    const credentials = await new ResolvingIsolate({ masterKeys: [OTHER_KEY] }).resolve(world.appid);
    expect(credentials?.credentials).toMatchObject({ revoked: true, keys: [] });
  });

  it("a look-up gives the previous secret until its overlap ends", async () => {
    const world = await World.create();
    const first = await versionOf(world);
    await rotate(world, 60);
    const known = async (now: number) => {
      const isolate = new ResolvingIsolate({ credentials: undefined });
      isolate.clock.now = now;
      const credentials = await isolate.resolve(world.appid);
      return credentials?.credentials.keys.map(({ version, expiresAt }) => [version, expiresAt]);
    };
    const current = [await versionOf(world), Number.POSITIVE_INFINITY];
    expect(await known(NOW + 59)).toEqual([current, [first, NOW + 60]]);
    expect(await known(NOW + 60)).toEqual([current]);
  });

  it("an isolate that holds a thousand apps drops the app that was cached first", async () => {
    const keyring = await importKeyring([MASTER_KEY]);
    const record = async (key: string) => {
      const appid = key.slice("app:".length);
      const secret = await seal(
        systemRuntime,
        keyring,
        { siteId: 1, appid, version: "a" },
        "current",
        "secret of this app",
      );
      const none = { previousVersion: null, previousSecret: null, previousExpiresAt: null, revokedAt: null };
      return { appid, siteId: 1, home: "main", version: "a", secret, ...none };
    };
    const isolate = new ResolvingIsolate({ credentials: replacing(env.CREDENTIALS, { get: record }) });
    const ask = async (i: number) => (await isolate.resolve(`app-${i}`))?.source;
    for (let i = 0; i < 1000; i++) await ask(i);
    expect(await ask(0)).toBe("isolate");
    expect(await ask(1000)).toBe("kv");
    expect([await ask(1), await ask(999), await ask(0)]).toEqual(["isolate", "isolate", "kv"]);
  });
});

describe("resolving without a good answer of KV", () => {
  const never = new Promise<never>(() => {});
  const throwFault = () => {
    throw new Error("KV is down");
  };
  let appid: string;
  beforeAll(async () => {
    ({ appid } = await World.create());
  });

  it.each<[string, KVNamespace | undefined]>([
    ["is not bound", undefined],
    ["throws at once", replacing(env.CREDENTIALS, { get: throwFault })],
    ["rejects", replacing(env.CREDENTIALS, { get: async () => throwFault() })],
    ["hangs for ever", replacing(env.CREDENTIALS, { get: () => never })],
  ])("a look-up asks D1 when KV %s", async (_, credentials) => {
    await new ResolvingIsolate().resolve(appid);
    const isolate = new ResolvingIsolate({ credentials, hedged: true });
    expect(await isolate.resolve(appid)).toMatchObject({ source: "d1", credentials: { appid, revoked: false } });
    expect(isolate.trips.single).toBe(1);
  });

  const none = { previousVersion: null, previousSecret: null, previousExpiresAt: null };
  const good = { siteId: 1, home: "main", version: "a", secret: "v2.00000000.x.y", ...none };

  it.each<[string, string]>([
    ["no JSON", "{"],
    ["null", "null"],
    ["a number", "5"],
    ["a string", '"v1"'],
    ["an array", "[]"],
    ["an empty object", "{}"],
    ["a record of another app", JSON.stringify({ ...good, appid: "another-app", revokedAt: 1 })],
    ["a record without a site", JSON.stringify({ ...good, appid: "APPID", siteId: undefined, revokedAt: 1 })],
    ["a record without a home", JSON.stringify({ ...good, appid: "APPID", home: undefined, revokedAt: 1 })],
    ["a record without a version", JSON.stringify({ ...good, appid: "APPID", version: 1, revokedAt: 1 })],
    ["a record without a secret", JSON.stringify({ ...good, appid: "APPID", secret: null, revokedAt: 1 })],
    ["a record without revokedAt", JSON.stringify({ ...good, appid: "APPID" })],
    ["a previous version in figures", JSON.stringify({ ...good, appid: "APPID", previousVersion: 1, revokedAt: 1 })],
    ["a record without previousSecret", JSON.stringify({ ...good, appid: "APPID", previousSecret: 1, revokedAt: 1 })],
    ["a previous end in words", JSON.stringify({ ...good, appid: "APPID", previousExpiresAt: "soon", revokedAt: 1 })],
    ["a secret in another form", JSON.stringify({ ...good, appid: "APPID", secret: "plain text", revokedAt: null })],
    ["a retired master key", JSON.stringify({ ...good, appid: "APPID", revokedAt: null })],
  ])("a look-up asks D1 when KV holds %s, and replaces that record", async (_, text) => {
    await env.CREDENTIALS.put(kvKey(appid), text.replace("APPID", appid));
    const isolate = new ResolvingIsolate();
    expect(await isolate.resolve(appid)).toMatchObject({ source: "d1", credentials: { appid, revoked: false } });
    expect(await new ResolvingIsolate().resolve(appid)).toMatchObject({
      source: "kv",
      credentials: { appid, revoked: false },
    });
  });

  it("a previous secret without an end in KV's record is ignored", async () => {
    await new ResolvingIsolate().resolve(appid);
    const record = await env.CREDENTIALS.get<Record<string, unknown>>(kvKey(appid), "json");
    await env.CREDENTIALS.put(
      kvKey(appid),
      JSON.stringify({ ...record, previousVersion: "b", previousSecret: "v2.00000000.x.y" }),
    );
    const credentials = await new ResolvingIsolate().resolve(appid);
    expect(credentials).toMatchObject({
      source: "kv",
      credentials: { keys: [{ expiresAt: Number.POSITIVE_INFINITY }] },
    });
    expect(credentials?.credentials.keys).toHaveLength(1);
  });

  it.each<[string, () => unknown]>([
    ["take a record, throwing", throwFault],
    ["take a record", async () => throwFault()],
  ])("a look-up succeeds with a warning when KV does not %s", async (_, put) => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    await new ResolvingIsolate().resolve(appid);
    const record = await recordOf(appid);
    await env.CREDENTIALS.delete(kvKey(appid));
    const isolate = new ResolvingIsolate({ credentials: replacing(env.CREDENTIALS, { put }) });
    expect(await isolate.resolve(appid)).toMatchObject({ source: "d1" });
    await isolate.publish(record);
    const warned = { warning: "CREDENTIALS did not take a record: D1 is asked again", appid };
    expect(recordsOf(warn)).toEqual([warned, warned]);
    warn.mockRestore();
  });
});

describe("resolving without a good answer of D1", () => {
  it("a look-up is unavailable when D1 does not answer", async () => {
    const { appid } = await worldUnknownToKv();
    const isolate = new ResolvingIsolate({ directory: downDb(env.DB) });
    const { code, context } = await refusalOf(isolate.resolve(appid));
    expect([code, context.reason]).toEqual(["unavailable", "d1_unavailable"]);
    expect(await new ResolvingIsolate().resolve(appid)).toMatchObject({ source: "d1" });
  });

  it.each<[string, Change, string]>([
    ["down", { apac: downDb(env.HOME_APAC) }, "d1_unavailable"],
    ["not bound", { apac: undefined }, "home_unbound"],
    ["closed", { closedHomes: ["apac"] }, "home_closed"],
  ])(
    "a look-up is unavailable when the app's home is %s, and a closed home is not asked",
    async (_, change, reason) => {
      const { appid } = await worldUnknownToKv("apac");
      const isolate = new ResolvingIsolate(change);
      const { code, context } = await refusalOf(isolate.resolve(appid));
      expect([code, context.reason]).toEqual(["unavailable", reason]);
      expect(isolate.trips.single).toBe(1);
      if (reason === "home_closed") expect(isolate.tripsToApac).toEqual({ single: 0, batches: 0 });
    },
  );

  it("a look-up of an app that KV knows does not need the directory, in either home", async () => {
    for (const home of ["main", "apac"]) {
      const { appid } = await World.create({}, home);
      const isolate = new ResolvingIsolate({ directory: downDb(env.DB) });
      expect(await isolate.resolve(appid)).toMatchObject({ source: "kv", credentials: { home } });
    }
  });

  it("a look-up with a wrong MASTER_KEY says so, and puts nothing into KV", async () => {
    const { appid } = await worldUnknownToKv();
    const isolate = new ResolvingIsolate({ masterKeys: [OTHER_KEY] });
    const { code, context } = await refusalOf(isolate.resolve(appid));
    expect([code, context.reason]).toEqual(["internal", "master_key_wrong"]);
    const { sealing } = await importKeyring([OTHER_KEY]);
    expect(String(context.cause)).toMatch(
      new RegExp(`^UnsealError: the current secret of app ${appid} was sealed .* MASTER_KEY is ${sealing.id}$`),
    );
    expect(await env.CREDENTIALS.get(kvKey(appid))).toBeNull();
  });

  it("an empty secret, which is another fault, is not reported as a wrong MASTER_KEY", async () => {
    const world = await World.create();
    const { appid, siteId } = world;
    const version = (await versionOf(world)) ?? "";
    const empty = await seal(
      systemRuntime,
      await importKeyring([MASTER_KEY]),
      { siteId, appid, version },
      "current",
      "",
    );
    await env.DB.prepare("UPDATE apps SET secret = ? WHERE appid = ?").bind(empty, appid).run();
    await env.CREDENTIALS.delete(kvKey(appid));
    await expect(new ResolvingIsolate().resolve(appid)).rejects.not.toBeInstanceOf(ServiceError);
  });
});

describe("refreshing", () => {
  it("a refresh reads D1 instead of both caches and finds a new version", async () => {
    const world = await World.create();
    const { isolate, known } = await warmIsolate(world);
    const before = await versionOf(world);
    await rotate(world, 60);
    const keys = [{ version: await versionOf(world) }, { version: before }];
    expect(await isolate.refresh(known)).toMatchObject({ keys });
    expect([isolate.trips.single, isolate.kvGets]).toEqual([1, []]);
    expect(await isolate.resolve(world.appid)).toMatchObject({ source: "isolate", credentials: { keys } });
    expect(await new ResolvingIsolate().resolve(world.appid)).toMatchObject({ source: "kv", credentials: { keys } });
  });

  it("a refresh finds that an app was revoked", async () => {
    const world = await World.create();
    const { isolate, known } = await warmIsolate(world);
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    expect(await isolate.refresh(known)).toMatchObject({ revoked: true, keys: [] });
  });

  it("a refresh asks D1 at most once in 5 s while it finds nothing new", async () => {
    const world = await World.create();
    const { isolate, known } = await warmIsolate(world);
    const trips = async () => {
      expect(await isolate.refresh(known)).toBeUndefined();
      return isolate.trips.single;
    };
    expect([await trips(), await trips()]).toEqual([1, 1]);
    isolate.clock.now += 4;
    expect(await trips()).toBe(1);
    isolate.clock.now += 1;
    expect([await trips(), await trips()]).toEqual([2, 2]);
  });

  it("the refreshes of each app are counted separately", async () => {
    const [world, other] = [await World.create(), await World.create()];
    const { isolate, known } = await warmIsolate(world);
    const another = await isolate.resolve(other.appid);
    isolate.trips.single = 0;
    await isolate.refresh(known);
    if (another !== undefined) await isolate.refresh(another.credentials);
    expect(isolate.trips.single).toBe(2);
  });

  it("a refresh that found a change is not counted, so the next change is found at once", async () => {
    const world = await World.create();
    const { isolate, known } = await warmIsolate(world);
    await rotate(world, 60);
    const second = await isolate.refresh(known);
    await rotate(world, 60, "previous");
    const third = second && (await isolate.refresh(second));
    expect(third?.keys[0]?.version).toBe(await versionOf(world));
  });

  it("refreshes of one client that found nothing new delay no client at another address", async () => {
    const world = await World.create();
    const { isolate, known } = await warmIsolate(world);
    expect(await isolate.refresh(known, "192.0.2.66")).toBeUndefined();
    await rotate(world, 0);
    expect(await isolate.refresh(known, "192.0.2.66")).toBeUndefined();
    expect((await isolate.refresh(known, "192.0.2.1"))?.keys[0]?.version).toBe(await versionOf(world));
    // The other address can use the version that one address found.
    expect((await isolate.refresh(known, "192.0.2.66"))?.keys[0]?.version).toBe(await versionOf(world));
    expect(isolate.trips.single).toBe(2);
  });

  it("simultaneous refreshes of one client read D1 once, and all of them get the result", async () => {
    const world = await World.create();
    const { isolate, known } = await warmIsolate(world);
    const together = () => Promise.all(Array.from({ length: 20 }, () => isolate.refresh(known)));
    await rotate(world, 0);
    const records = await together();
    expect(new Set(records.map((each) => each?.keys[0]?.version))).toEqual(new Set([await versionOf(world)]));
    expect(isolate.trips.single).toBe(1);
  });

  it("a refresh puts only new records into KV", async () => {
    const world = await World.create();
    const puts: string[] = [];
    const put = async (...args: [string, string]) => {
      puts.push(args[0]);
      await env.CREDENTIALS.put(...args);
    };
    const { isolate, known } = await warmIsolate(world, { credentials: replacing(env.CREDENTIALS, { put }) });
    puts.length = 0;
    await isolate.refresh(known);
    expect(puts).toEqual([]);
    await rotate(world, 60);
    isolate.clock.now += 5;
    await isolate.refresh(known);
    expect(puts).toEqual([kvKey(world.appid)]);
  });

  it("a refresh finds that a restore of the database has undone a revocation", async () => {
    const world = await World.create();
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    const { isolate, known } = await warmIsolate(world);
    expect(known.revoked).toBe(true);
    await env.DB.prepare("UPDATE apps SET revoked_at = NULL WHERE appid = ?").bind(world.appid).run();
    expect(await isolate.refresh(known)).toMatchObject({ revoked: false, keys: [{}] });
    expect(await new ResolvingIsolate().resolve(world.appid)).toMatchObject({
      source: "kv",
      credentials: { revoked: false },
    });
  });

  it("a refresh finds a secret that was rotated in a further home at once, while the directory is down", async () => {
    const world = await World.create({}, "apac");
    const { isolate, known } = await warmIsolate(world, { directory: downDb(env.DB) });
    await rotate(world, 0);
    expect(await isolate.refresh(known)).toMatchObject({ home: "apac", keys: [{ version: await versionOf(world) }] });
    expect([isolate.trips.single, isolate.tripsToApac.single]).toEqual([0, 1]);
  });

  it.each<[string, (world: World) => Promise<unknown>]>([
    ["is revoked", (world) => world.admin("DELETE", `/admin/apps/${world.appid}`)],
    ["is not there", ({ appid }) => env.HOME_APAC.prepare("DELETE FROM apps WHERE appid = ?").bind(appid).run()],
  ])("a refresh asks the directory too when the app %s in its former home", async (_, act) => {
    const world = await World.create({}, "apac");
    const { isolate, known } = await warmIsolate(world);
    await act(world);
    const fresh = await isolate.refresh(known);
    expect(fresh?.revoked).toBe(_ === "is revoked" ? true : undefined);
    expect([isolate.trips.single, isolate.tripsToApac.single]).toEqual([1, 1]);
  });

  it.each(["is not bound", "never had the app"])(
    "a refresh follows the directory when the home of the cached record %s",
    async (why) => {
      const world = await World.create({}, "apac");
      const record = await recordOf(world.appid);
      const home = why === "is not bound" ? "eu" : "apac";
      const siteId = why === "is not bound" ? world.siteId : world.siteId + 1_000;
      const isolate = new ResolvingIsolate();
      const known = {
        ...(await new ResolvingIsolate().resolve(world.appid))?.credentials,
        siteId,
        home,
      } as Credentials;
      expect(await isolate.refresh(known)).toMatchObject({ siteId: world.siteId, home: "apac" });
      expect(await recordOf(world.appid)).toEqual(record);
    },
  );

  it("a refresh does not ask a closed home that the directory names", async () => {
    const world = await World.create({}, "apac");
    const { known } = await warmIsolate(world);
    const isolate = new ResolvingIsolate({ closedHomes: ["apac"] });
    const elsewhere = { ...known, home: "main" };
    const { context } = await refusalOf(isolate.refresh(elsewhere));
    expect([context.reason, isolate.tripsToApac]).toEqual(["home_closed", { single: 0, batches: 0 }]);
  });

  it("a refresh drops an app that no longer exists after a restore of the database", async () => {
    const world = await World.create();
    const { isolate, known } = await warmIsolate(world, { credentials: undefined });
    await env.DB.prepare("DELETE FROM apps WHERE appid = ?").bind(world.appid).run();
    expect(await isolate.refresh(known)).toBeUndefined();
    expect(await isolate.resolve(world.appid)).toBeUndefined();
  });
});

describe("confirming", () => {
  it("a confirmation asks D1 once a second for one signature, and ten times a second for one app", async () => {
    const world = await World.create();
    const { isolate, known } = await warmIsolate(world);
    const confirm = (signature: string) =>
      isolate.lookUp({ trust: "home", bound: "signature", cached: known, client: "", signature });
    expect(await confirm("ab")).toMatchObject({ source: "d1" });
    expect(await confirm("AB")).toMatchObject({ source: "isolate", credentials: known });
    expect(isolate.trips.single).toBe(1);
    await confirm("cd");
    expect(isolate.trips.single).toBe(2);
    isolate.clock.now += 1;
    await Promise.all([confirm("ab"), confirm("ab"), confirm("ab")]);
    expect(isolate.trips.single).toBe(3);
    await Promise.all(Array.from({ length: 50 }, (_, i) => confirm(String(i))));
    expect(isolate.trips.single).toBe(12);
  });

  it("a confirmation finds at once that the app was revoked", async () => {
    const world = await World.create();
    const { isolate, known } = await warmIsolate(world);
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    const question = { trust: "home", bound: "signature", cached: known, client: "", signature: "ab" } as const;
    const credentials = await isolate.lookUp(question);
    expect(credentials?.credentials.revoked).toBe(true);
    expect(await isolate.resolve(world.appid)).toMatchObject({ credentials: { revoked: true } });
  });
});

describe("publishing a change", () => {
  it("publishing a change drops the app from the isolate, and puts its record with its home into KV", async () => {
    const world = await World.create({}, "apac");
    const { isolate } = await warmIsolate(world);
    const record = { ...(await recordOf(world.appid)), revokedAt: NOW };
    await isolate.publish(record);
    expect(await recordOf(world.appid)).toEqual(record);
    expect(await isolate.resolve(world.appid)).toMatchObject({ source: "kv", credentials: { revoked: true } });
  });

  it("an app's record is published when the app is issued, rotated or revoked, and no record is ever deleted", async () => {
    const calls: string[] = [];
    const CREDENTIALS = replacing(env.CREDENTIALS, {
      put: async (key: string, text: string, options: KVNamespacePutOptions) => {
        const { version, revokedAt } = JSON.parse(text) as AppRecord;
        calls.push(`put ${version} ${revokedAt}`);
        await env.CREDENTIALS.put(key, text, options);
      },
      delete: async () => void calls.push("delete"),
    });
    const world = await World.create({ CREDENTIALS }, "apac");
    const answers = [
      await world.admin("POST", `/admin/sites/${world.siteId}/apps`, { name: "N", appid: `put-${world.siteId}` }),
      await world.admin("POST", `/admin/apps/put-${world.siteId}/rotate`, { overlap_seconds: 60 }),
    ];
    const versions = await Promise.all(answers.map(async (each) => (await each.json<{ version: string }>()).version));
    await world.admin("DELETE", `/admin/apps/put-${world.siteId}`);
    expect(calls).toEqual([`put ${versions[0]} null`, `put ${versions[1]} null`, `put ${versions[1]} ${NOW}`]);
  });

  it("publishing a change works without KV", async () => {
    const world = await World.create();
    const record = await recordOf(world.appid);
    const { isolate } = await warmIsolate(world, { credentials: undefined });
    await isolate.publish(record);
    expect(await isolate.resolve(world.appid)).toMatchObject({ source: "d1" });
  });
});
