import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { AppRecord } from "../../../src/core/credentials/find-app.ts";
import { importKeyring, seal } from "../../../src/core/credentials/sealed-secret.ts";
import { systemRuntime } from "../../../src/core/runtime.ts";
import { nonceKey } from "../../../src/core/signed/kv-nonces.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { downDb } from "../../support/down-db.ts";
import { databaseOf } from "../../support/homes.ts";
import { eventsOn } from "../../support/new-webhook.ts";
import { replacing } from "../../support/replacing.ts";
import { SIGNED_ROUTES } from "../../support/signed-routes.ts";
import { type Answer, type ReplacedBindings, World } from "../../support/world.ts";
import { NOTHING, observedHomes } from "./observed-homes.ts";

const HOMES = ["main", "apac"];
const otherThan = (home: string) => (home === "main" ? "apac" : "main");

const recordOf = async (appid: string): Promise<AppRecord> => {
  const record = await env.CREDENTIALS.get<AppRecord>(`app:${appid}`, "json");
  if (record === null) throw new Error("KV has no record");
  return record;
};

/** The KV of a location that has these app records, and sees no later change of them. */
function kvWith(...records: AppRecord[]): KVNamespace {
  const known = new Map(records.map((record) => [`app:${record.appid}`, record]));
  return replacing(env.CREDENTIALS, {
    get: async (key: string) => known.get(key) ?? null,
    put: async () => {},
  });
}

const counts = async (world: World) => {
  const { sessions, messages, nonces } = await world.stored();
  return [sessions.length, messages.length, nonces.length];
};

const sum = (world: World, calls: ReturnType<ReturnType<typeof observedHomes>["look"]>) =>
  world.home === "main" ? calls.main.batches : calls.apac.batches;

const rotate = (world: World, overlap_seconds: number) =>
  world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds });

const REFUSED = { status: 401, envelope: { code: -1, msg: "token验证失败!", data: "" } };

describe("an app", () => {
  it.each(HOMES)(
    "an app of the home %s opens no session in the other home, even when a cache names a site there",
    async (home) => {
      const [world, far] = [await World.create({}, home), await World.create({}, otherThan(home))];
      const otherHome = { home: far.home, siteId: far.siteId };
      const record = {
        ...(await recordOf(world.appid)),
        ...otherHome,
        secret: await sealedFor({ ...world, ...otherHome }),
      };
      const isolate = world.anotherIsolate({ CREDENTIALS: kvWith({ ...record, version: "another" }) });
      expect((await isolate.create()).status).toBe(200);
      expect(await counts(far)).toEqual([0, 0, 0]);
      expect(await counts(world)).toEqual([1, 1, 1]);
    },
  );

  it("an app of one home is refused by the gate of the other home", async () => {
    const [world, far] = [await World.create(), await World.create({}, "apac")];
    // The directory names the other home, but the app still belongs to no site there.
    await env.DB.prepare("UPDATE app_routes SET site_id = ? WHERE appid = ?").bind(far.siteId, world.appid).run();
    const otherHome = { home: far.home, siteId: far.siteId };
    const record = {
      ...(await recordOf(world.appid)),
      ...otherHome,
      secret: await sealedFor({ ...world, ...otherHome }),
    };
    for (const CREDENTIALS of [kvWith({ ...record, version: "another" }), undefined]) {
      expect(await world.anotherIsolate({ CREDENTIALS }).create()).toMatchObject(REFUSED);
    }
    expect([await counts(world), await counts(far)]).toEqual([
      [0, 0, 0],
      [0, 0, 0],
    ]);
  });

  it("an app opens no session in another site of its home", async () => {
    const [world, other] = [await World.create({}, "apac"), await World.create({}, "apac")];
    await env.DB.prepare("DELETE FROM app_routes WHERE appid = ?").bind(world.appid).run();
    const { siteId } = other;
    const secret = await sealedFor({ ...world, siteId });
    const record = { ...(await recordOf(world.appid)), siteId, secret, version: "another" };
    const { status, envelope } = await world.anotherIsolate({ CREDENTIALS: kvWith(record) }).create();
    expect({ status, envelope }).toEqual(REFUSED);
    expect([await counts(world), await counts(other)]).toEqual([
      [0, 0, 0],
      [0, 0, 0],
    ]);
  });
});

describe("a stale record of KV", () => {
  type MakeStale = (record: AppRecord, world: World) => Promise<AppRecord> | AppRecord;
  const STALE: [string, MakeStale][] = [
    ["of the other home", (record) => ({ ...record, home: otherThan(record.home) })],
    ["of an unknown home", (record) => ({ ...record, home: "eu" })],
    ["of another version", (record) => record],
    [
      "of an unknown site",
      async (record, { appid, secret }) => {
        const siteId = record.siteId + 100_000;
        return { ...record, siteId, version: "another", secret: await sealedFor({ siteId, appid, secret }) };
      },
    ],
    ["that says revoked", (record) => ({ ...record, revokedAt: 1 })],
    ["that says that the site has events", (record) => ({ ...record, events: true })],
  ];
  const cases = HOMES.flatMap((home) => STALE.map(([name, make]) => ({ home, name, make })));

  it.each(cases)(
    "a stale record of KV, $name, does not decide: the request is done once in $home",
    async ({ home, name, make }) => {
      const world = await World.create({}, home);
      const record = await recordOf(world.appid);
      if (name === "of another version") {
        // The record has the same secret under another version, as after a restore. The signature verifies, but the gate refuses.
        const secret = await sealedFor(world);
        await databaseOf(home)
          .prepare("UPDATE apps SET version = 'another', secret = ? WHERE appid = ?")
          .bind(secret, world.appid)
          .run();
      }
      const homes = observedHomes();
      const isolate = world.anotherIsolate({ ...homes.bindings, CREDENTIALS: kvWith(await make(record, world)) });
      const { status, envelope } = await isolate.create();
      expect([name, status, envelope.code]).toEqual([name, 200, 1]);
      expect(await counts(world)).toEqual([1, 1, 1]);
      const { main, apac } = homes.look();
      expect(main.batches + apac.batches).toBeLessThanOrEqual(2);
      // The isolate is warm now: it has the record and needs one batch.
      expect((await isolate.create()).status).toBe(200);
      expect(sum(world, homes.look())).toBe(1);
    },
  );

  it.each(SIGNED_ROUTES)(
    "a stale record of KV leads to one result of $operation, under one owner of the claim",
    async (route) => {
      const world = await World.create({}, "apac");
      const body = JSON.stringify(await route.acceptable(world));
      const before = await world.stored();
      const record = await recordOf(world.appid);
      const isolate = world.anotherIsolate({ CREDENTIALS: kvWith({ ...record, home: "main" }) });
      expect((await isolate.send(route.operation, body)).status).toBe(200);
      const { nonces } = await world.stored();
      expect(nonces).toHaveLength(before.nonces.length + 1);
      // The second run continues the numbers of tries, so that no earlier try of the request has the same number as a new try.
      expect(Number(nonces.at(-1)?.attempt)).toBeGreaterThan(1);
      expect((await isolate.send(route.operation, body)).status).toBe(401);
    },
  );

  it.each(HOMES)("a stale record of KV admits neither a revoked app nor an old secret in %s", async (home) => {
    const [revoked, rotated] = [await World.create({}, home), await World.create({}, home)];
    const records = [await recordOf(revoked.appid), await recordOf(rotated.appid)];
    await revoked.admin("DELETE", `/admin/apps/${revoked.appid}`);
    await rotate(rotated, 0);
    for (const world of [revoked, rotated]) {
      const { status, envelope } = await world.anotherIsolate({ CREDENTIALS: kvWith(...records) }).create();
      expect({ status, envelope }).toEqual(REFUSED);
      expect(await counts(world)).toEqual([0, 0, 0]);
    }
  });
});

describe.each(HOMES)("whether a site of %s has events", (home) => {
  const eventsOf = async ({ siteId }: World) => {
    const find = "SELECT session_id FROM events WHERE site_id = ? AND session_id IS NOT NULL";
    const { results } = await databaseOf(home).prepare(find).bind(siteId).all<{ session_id: number }>();
    return results.map(({ session_id }) => session_id);
  };

  it.each(SIGNED_ROUTES)("D1, and not a cached record, decides whether $operation writes an event", async (route) => {
    for (const [has, says] of [
      [true, false],
      [false, true],
      [true, undefined],
    ]) {
      const world = await World.create({}, home);
      const body = JSON.stringify(await route.acceptable(world));
      const record = await recordOf(world.appid);
      if (has) await eventsOn(world);
      const isolate = world.anotherIsolate({ CREDENTIALS: kvWith({ ...record, events: says as boolean }) });
      expect((await isolate.send(route.operation, body)).status).toBe(200);
      expect((await isolate.send(route.operation, body)).status).toBe(401);
      expect(await eventsOf(world)).toHaveLength(has ? 1 : 0);
    }
  });

  it("the record in KV shows whether the site has events, from the first webhook and after each change", async () => {
    const world = await World.create({}, home);
    const says: boolean[] = [];
    const at = `/admin/sites/${world.siteId}`;
    for (const [method, path, body] of [
      ["POST", `${at}/webhooks`, { url: "https://hooks.example.com/" }],
      ["PATCH", at, { events: false }],
      ["PATCH", at, { events: true }],
    ] as const) {
      expect((await world.admin(method, path, body)).status).toBeLessThan(300);
      says.push((await recordOf(world.appid)).events);
      const homes = observedHomes();
      await world.anotherIsolate(homes.bindings).create();
      expect(sum(world, homes.look())).toBe(1);
    }
    expect(says).toEqual([true, false, true]);
    expect(await eventsOf(world)).toEqual([1, 3]);
  });

  it("a change of a site's events changes nothing else in KV's record, which may know a later rotation or revocation", async () => {
    const world = await World.create({}, home);
    const record = await recordOf(world.appid);
    for (const known of [{ version: "of a rotation that a restore has undone" }, { revokedAt: 1 }]) {
      await env.CREDENTIALS.put(`app:${world.appid}`, JSON.stringify({ ...record, ...known }));
      for (const events of [true, false]) await world.admin("PATCH", `/admin/sites/${world.siteId}`, { events });
      expect(await recordOf(world.appid)).toMatchObject(known);
    }
  });

  /** An isolate whose batches run through `change`, which may act before and after each batch. */
  function meeting(world: World, change: (batch: number, run: () => Promise<D1Result[]>) => Promise<D1Result[]>) {
    const db = databaseOf(home);
    let batches = 0;
    const batch = (statements: D1PreparedStatement[]) => change(++batches, () => db.batch(statements));
    return world.anotherIsolate({ [home === "main" ? "DB" : "HOME_APAC"]: replacing(db, { batch }) });
  }
  const turn = ({ siteId }: World) =>
    databaseOf(home).prepare("UPDATE home_sites SET events = NOT events WHERE site_id = ?").bind(siteId).run();

  it("a call is done once when the site's events change before each of its first two runs", async () => {
    const world = await World.create({}, home);
    const isolate = meeting(world, async (batch, run) => {
      if (batch < 3) await turn(world);
      return run();
    });
    expect((await isolate.create()).status).toBe(200);
    expect(await counts(world)).toEqual([1, 1, 1]);
    expect(await eventsOf(world)).toEqual([]);
  });

  it("a call is done once when the site's events change and change back around a run", async () => {
    const world = await World.create({}, home);
    const isolate = meeting(world, async (batch, run) => {
      if (batch > 1) return run();
      await turn(world);
      const refused = await run();
      await turn(world);
      return refused;
    });
    expect((await isolate.create()).status).toBe(200);
    expect(await counts(world)).toEqual([1, 1, 1]);
  });

  it("a call is done once when the site's events change while another call caches the older record", async () => {
    const world = await World.create({}, home);
    const isolate = meeting(world, async (batch, run) => {
      if (batch > 1) return run();
      // The overlap keeps the old secret in force. The other call reads the new record, and then events change.
      await rotate(world, 3_600);
      await isolate.sendRaw("create_gd", JSON.stringify(world.createBody()), { "x-chat-signature": "0".repeat(64) });
      await turn(world);
      return run();
    });
    expect((await isolate.create()).status).toBe(200);
    expect(await counts(world)).toEqual([1, 1, 1]);
    expect(await eventsOf(world)).toEqual([1]);
  });

  it("a call is done once when the site's events change and change back while its first try is on its way", async () => {
    const world = await World.create({}, home);
    let late = () => Promise.resolve<D1Result[]>([]);
    const isolate = meeting(world, async (batch, run) => {
      if (batch === 1) {
        late = run;
        throw new Error("D1_ERROR: Network connection lost.");
      }
      if (batch < 4) await turn(world);
      if (batch === 3) await late();
      return run();
    });
    expect((await isolate.create()).status).toBe(200);
    expect(await counts(world)).toEqual([1, 1, 1]);
  });
});

/** A secret sealed for the version `another` of an app. */
async function sealedFor({ siteId, appid, secret }: Pick<World, "siteId" | "appid" | "secret">): Promise<string> {
  const keyring = await importKeyring([Uint8Array.fromBase64(env.MASTER_KEY)]);
  return seal(systemRuntime, keyring, { siteId, appid, version: "another" }, "current", secret);
}

describe.each(HOMES)("a closed site of %s", (home) => {
  const setStatus = (world: World, status: string) => world.admin("PATCH", `/admin/sites/${world.siteId}`, { status });

  it("a closed site refuses with 503 and Retry-After, and the same request is accepted once the site is open", async () => {
    const world = await World.create({}, home);
    const body = JSON.stringify(world.createBody({ ranstr: "kept" }));
    await setStatus(world, "closed");
    const refused = await world.send("create_gd", body);
    expect([refused.status, refused.envelope]).toEqual([503, { code: -1, msg: "服务暂时不可用", data: "" }]);
    expect(refused.headers.get("retry-after")).toBe("30");
    expect(refused.headers.get("x-error-detail")).toBe("the site is closed for now");
    expect(await counts(world)).toEqual([0, 0, 0]);
    expect(await env.NONCES.get(await nonceKey(world.appid, "kept"))).toBeNull();
    // Neither another isolate nor the same isolate treats the request as a replay.
    expect((await world.send("create_gd", body)).status).toBe(503);
    await setStatus(world, "open");
    expect((await world.send("create_gd", body)).status).toBe(200);
    expect((await world.anotherIsolate().send("create_gd", body)).status).toBe(401);
    expect(await counts(world)).toEqual([1, 1, 1]);
  });

  it("a closed site is not revealed to a revoked app or a forger, and other sites stay open", async () => {
    const [world, other] = [await World.create({}, home), await World.create({}, home)];
    await setStatus(world, "closed");
    expect((await other.create()).status).toBe(200);
    const forged = await world.sendRaw("create_gd", JSON.stringify(world.createBody()), {
      "x-chat-signature": "0".repeat(64),
    });
    expect(forged).toMatchObject(REFUSED);
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    expect(await world.anotherIsolate().create()).toMatchObject(REFUSED);
  });
});

describe("a closed home", () => {
  it("a closed home is never asked, its callers get 503, and the other home's sites are served", async () => {
    const [world, near] = [await World.create({}, "apac"), await World.create()];
    const homes = observedHomes();
    for (const CREDENTIALS of [env.CREDENTIALS, undefined]) {
      const closed = world.anotherIsolate({ ...homes.bindings, ...closedHomeVars("apac"), CREDENTIALS });
      for (const _ of ["cold", "warm"]) {
        const { status, headers } = await closed.create();
        expect([status, headers.get("retry-after")]).toEqual([503, "30"]);
      }
      expect(homes.look().apac).toEqual(NOTHING);
    }
    expect(await counts(world)).toEqual([0, 0, 0]);
    expect((await near.anotherIsolate(closedHomeVars("apac")).create()).status).toBe(200);
  });

  it("a home that is open again is asked again, and no ranstr was used meanwhile", async () => {
    const world = await World.create({}, "apac");
    const body = JSON.stringify(world.createBody());
    expect((await world.anotherIsolate(closedHomeVars("apac")).send("create_gd", body)).status).toBe(503);
    expect((await world.send("create_gd", body)).status).toBe(200);
  });

  it("a closed home is not asked when the directory names it and the cache names another home", async () => {
    const world = await World.create({}, "apac");
    const record = await recordOf(world.appid);
    for (const stale of [{ home: "main" }, { home: "eu" }, { home: "main", revokedAt: 1 }]) {
      const homes = observedHomes();
      const CREDENTIALS = kvWith({ ...record, ...stale });
      const isolate = world.anotherIsolate({ ...homes.bindings, ...closedHomeVars("apac"), CREDENTIALS });
      expect([stale, (await isolate.create()).status]).toEqual([stale, 503]);
      expect(homes.look().apac).toEqual(NOTHING);
    }
  });

  it("when main is closed, its callers get 503 from the caches alone, and apac is served", async () => {
    const [near, far] = [await World.create(), await World.create({}, "apac")];
    const homes = observedHomes();
    const closed = near.anotherIsolate({ ...homes.bindings, ...closedHomeVars("main") });
    for (const _ of ["cold", "warm"]) expect((await closed.create()).status).toBe(503);
    expect(homes.look().main).toEqual(NOTHING);
    expect((await far.anotherIsolate(closedHomeVars("main")).create()).status).toBe(200);
  });
});

describe("a home that does not answer", () => {
  it.each<[string, ReplacedBindings]>([
    ["is down", { HOME_EU: downDb(env.HOME_APAC) }],
    ["is not bound", {}],
  ])("when a home %s, the request is done once in the home that the directory names", async (_, bindings) => {
    const world = await World.create({}, "apac");
    const CREDENTIALS = kvWith({ ...(await recordOf(world.appid)), home: "eu" });
    const isolate = world.anotherIsolate({ ...bindings, CREDENTIALS });
    expect((await isolate.create()).status).toBe(200);
    expect(await counts(world)).toEqual([1, 1, 1]);
    expect((await isolate.create()).status).toBe(200);
    expect(await counts(world)).toEqual([2, 2, 2]);
  });

  it("an app without another home gets 503 when its home does not answer, and the directory is asked once in 5 s", async () => {
    const world = await World.create({}, "apac");
    const homes = observedHomes({ apac: downDb(env.HOME_APAC) });
    const isolate = world.anotherIsolate(homes.bindings);
    const refused = async () => {
      const { status, headers } = await isolate.create();
      expect([status, headers.has("retry-after")]).toEqual([503, true]);
      return homes.look().main.statements;
    };
    expect([await refused(), await refused(), await refused()]).toEqual([1, 0, 0]);
    isolate.clock.now += 5;
    expect([await refused(), await refused()]).toEqual([1, 0]);
    expect(await counts(world)).toEqual([0, 0, 0]);
    const near = await World.create();
    expect((await near.anotherIsolate(homes.bindings).create()).status).toBe(200);
  });

  it("a request with the old secret gets 503 when the app's new home refuses it", async () => {
    const world = await World.create({}, "apac");
    const record = await recordOf(world.appid);
    await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 0 });
    const isolate = world.anotherIsolate({ CREDENTIALS: kvWith({ ...record, home: "eu" }) });
    expect((await isolate.create()).status).toBe(503);
    expect(await counts(world)).toEqual([0, 0, 0]);
  });

  it("a caller gets 503 when neither the home nor the directory answers", async () => {
    const world = await World.create({}, "apac");
    const bindings = { DB: downDb(env.DB), HOME_APAC: downDb(env.HOME_APAC) };
    expect((await world.anotherIsolate(bindings).create()).status).toBe(503);
  });

  it("a refused statement is a fault of the deployment, and the directory is not asked", async () => {
    const world = await World.create({}, "apac");
    const batch = async () => Promise.reject(new Error("D1_ERROR: datatype mismatch: SQLITE_MISMATCH"));
    const homes = observedHomes({ apac: replacing(env.HOME_APAC, { batch }) });
    expect((await world.anotherIsolate(homes.bindings).create()).status).toBe(500);
    expect(homes.look().main).toEqual(NOTHING);
  });
});

describe("a directory that does not answer", () => {
  const ok = ({ status }: Answer) => status === 200;

  it("a silent directory stops no app of another home that a cache knows, even after its secret is replaced", async () => {
    const world = await World.create({}, "apac");
    const isolate = world.anotherIsolate({ DB: downDb(env.DB) });
    expect([ok(await isolate.create()), ok(await isolate.create())]).toEqual([true, true]);
    const rotated = await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 0 });
    isolate.secret = (await rotated.json<{ secret: string }>()).secret;
    expect(ok(await isolate.create())).toBe(true);
    expect(await counts(world)).toEqual([3, 3, 3]);
  });

  it("a silent directory means 503 for an app that no cache knows, and for apps of the directory's own database", async () => {
    const [far, near] = [await World.create({}, "apac"), await World.create()];
    const down = { DB: downDb(env.DB) };
    expect((await far.anotherIsolate({ ...down, CREDENTIALS: undefined }).create()).status).toBe(503);
    expect((await near.anotherIsolate(down).create()).status).toBe(503);
  });
});
