import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { importKeyring, type Keyring, seal, UnsealError, unseal } from "../../../src/core/credentials/sealed-secret.ts";
import { systemRuntime } from "../../../src/core/runtime.ts";
import { WHOLE_LIMIT_MS } from "../../../src/core/store/run-batch.ts";
import { rotateSecret } from "../../../src/operators/services/app-secrets.ts";
import { revokeApp } from "../../../src/operators/services/apps.ts";
import { OWNERS_PER_CALL, resealSecrets } from "../../../src/operators/services/reseal-secrets.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { recordsOf } from "../../support/console-telemetry.ts";
import { forgetHashKeys } from "../../support/customers.ts";
import { Faults, faultyD1 } from "../../support/faulty-bindings.ts";
import { lateDb } from "../../support/late-db.ts";
import { newWebhook, sealedIn } from "../../support/new-webhook.ts";
import { withoutWaiting } from "../../support/patient-fetch.ts";
import { replacing } from "../../support/replacing.ts";
import { contextAt } from "../../support/service-context.ts";
import { answeringBy, silentHomes } from "../../support/silent-homes.ts";
import { NOW, World } from "../../support/world.ts";

const OLD_TEXT = env.MASTER_KEY;
const NEW_TEXT = Uint8Array.fromBase64(OLD_TEXT).toReversed().toBase64();
const OLD = await importKeyring([Uint8Array.fromBase64(OLD_TEXT)]);
const BOTH = await importKeyring([Uint8Array.fromBase64(NEW_TEXT), Uint8Array.fromBase64(OLD_TEXT)]);
const NEW_ID = BOTH.sealing.id;
const [OLD_SEAL, NEW_SEAL] = [`v2.${OLD.sealing.id}`, `v2.${NEW_ID}`];

// Re-sealing covers all apps, webhooks and hash keys of the deployment, so each test begins without any.
beforeEach(async () => {
  await forgetHashKeys();
  for (const db of [env.DB, env.HOME_APAC]) await db.exec("DELETE FROM webhooks; DELETE FROM apps");
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A deployment with the new master key and the old one. `old` below has only the old one. */
const KEYS = { MASTER_KEY: NEW_TEXT, MASTER_KEY_PREVIOUS: OLD_TEXT };
const both = (DB = env.DB) => contextAt(NOW, { DB, ...KEYS });
const old = () => contextAt(NOW, { MASTER_KEY: OLD_TEXT });

type Row = { appid: string; site_id: number; version: string; secret: string } & Record<
  "previous_version" | "previous_secret",
  string | null
>;

async function rows(db = env.DB): Promise<Row[]> {
  return (await db.prepare("SELECT * FROM apps ORDER BY appid").all<Row>()).results;
}

/** The format and key of a seal. */
const sealedWith = (sealed: string) => sealed.split(".", 2).join(".");

const result = (resealed: number, remaining: number, unopened = 0, unopenedApps: string[] = []) => ({
  resealed,
  remaining,
  unopened,
  unopenedApps,
  unopenedWebhooks: [] as string[],
  homesDown: [] as string[],
});

/** The result of a re-sealing, as the admin API shows it. */
const answer = (...values: Parameters<typeof result>) => {
  const { unopenedApps, unopenedWebhooks, homesDown, ...others } = result(...values);
  return { ...others, unopened_apps: unopenedApps, unopened_webhooks: unopenedWebhooks, homes_down: homesDown };
};

const sealsOf = (row: Row | undefined) => [
  sealedWith(row?.secret ?? ""),
  row?.previous_secret == null ? null : sealedWith(row.previous_secret),
];

/** Many apps sealed with the old key, in the order of their appids. */
async function putApps(siteId: number, count: number, db = env.DB): Promise<void> {
  const insert = db.prepare(
    "INSERT INTO apps (appid, site_id, name, version, secret, created_at) VALUES (?, ?, 'N', 'first', ?, 0)",
  );
  const apps = Array.from({ length: count }, async (_, i) => {
    const appid = `app-${String(i).padStart(4, "0")}`;
    return insert.bind(
      appid,
      siteId,
      await seal(systemRuntime, OLD, { siteId, appid, version: "first" }, "current", "secret of this app"),
    );
  });
  await db.batch(await Promise.all(apps));
}

/** A database that counts its queries, also in batches. An `idle` one runs no batch. */
function counting(db: D1Database, idle = false) {
  let queries = 0;
  const count = (statement: D1PreparedStatement): D1PreparedStatement => {
    const { bind, raw } = statement;
    return Object.assign(statement, {
      bind: (...values: unknown[]) => count(bind.apply(statement, values)),
      raw: () => {
        queries++;
        return raw.apply(statement);
      },
    });
  };
  const batch = (statements: D1PreparedStatement[]) => {
    queries += statements.length;
    return idle ? Promise.resolve(statements.map(() => ({ results: [] }))) : db.batch(statements);
  };
  return { queries: () => queries, db: replacing(db, { prepare: (text: string) => count(db.prepare(text)), batch }) };
}

describe("POST /admin/reseal: re-sealing", () => {
  it("re-sealing the secrets seals both slots again, changes nothing else, and has nothing left to do afterwards", async () => {
    const world = await World.create();
    await rotateSecret(old(), { appid: world.appid, overlapSeconds: 60 });
    const [before] = await rows();
    expect(await resealSecrets(both())).toEqual(result(2, 0));
    const [after] = await rows();
    expect(sealsOf(after)).toEqual([NEW_SEAL, NEW_SEAL]);
    expect({ ...after, secret: "", previous_secret: "" }).toEqual({ ...before, secret: "", previous_secret: "" });
    expect(await resealSecrets(both())).toEqual(result(0, 0));
    expect(await rows()).toEqual([after]);
  });

  it("re-sealing the secrets renews only the slot that needs it", async () => {
    const world = await World.create();
    await rotateSecret(both(), { appid: world.appid, overlapSeconds: 60 });
    const [before] = await rows();
    const owner = { ...world, version: String(before?.previous_version) };
    const previous = await seal(systemRuntime, OLD, owner, "previous", world.secret);
    await env.DB.prepare("UPDATE apps SET previous_secret = ?").bind(previous).run();
    expect(await resealSecrets(both())).toEqual(result(1, 0));
    const [after] = await rows();
    expect(after?.secret).toBe(before?.secret);
    expect(sealsOf(after)).toEqual([NEW_SEAL, NEW_SEAL]);
  });

  it("re-sealing the secrets includes revoked apps, so that no stored secret needs the old key", async () => {
    const world = await World.create();
    await revokeApp(old(), world);
    expect(await resealSecrets(both())).toEqual(result(1, 0));
  });

  it("re-sealing the secrets includes secrets of webhooks, counts them with those of apps, and names those that do not open", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const world = await World.create();
    const target = { siteId: world.siteId, id: "wh_good" };
    const earlier = await sealedIn("previous", target, "whsec_earlier");
    const good = await newWebhook(world, { id: target.id, ...earlier });
    const badWebhook = await newWebhook(world, { secret: "v2.00000000.x.y" });
    expect(await resealSecrets(both())).toEqual({ ...result(3, 0, 1), unopenedWebhooks: [badWebhook.id] });
    const row = await env.DB.prepare("SELECT * FROM webhooks WHERE id = ?")
      .bind(good.id)
      .first<Record<string, string>>();
    const open = (slot: "current" | "previous", version = "", sealed = "") =>
      unseal(BOTH, { siteId: world.siteId, webhookId: good.id, version }, slot, sealed);
    expect([sealedWith(row?.secret ?? ""), sealedWith(row?.previous_secret ?? "")]).toEqual([NEW_SEAL, NEW_SEAL]);
    expect(await open("current", row?.version, row?.secret)).toBe(good.secret);
    expect(await open("previous", row?.previous_version, row?.previous_secret)).toBe("whsec_earlier");
    expect(await resealSecrets(both())).toEqual({ ...result(0, 0, 1), unopenedWebhooks: [badWebhook.id] });
  });

  it("re-sealing the secrets has nothing to do without apps", async () => {
    expect(await resealSecrets(both())).toEqual(result(0, 0));
  });

  it("re-sealing the secrets overwrites no rotation that came meanwhile, and counts the secrets that remain", async () => {
    const world = await World.create();
    let rotation: { secret: string } | undefined;
    const batch = async (statements: D1PreparedStatement[]) => {
      rotation ??= await rotateSecret(old(), { appid: world.appid, overlapSeconds: 60 });
      return env.DB.batch(statements);
    };
    expect(await resealSecrets(both(replacing(env.DB, { batch })))).toEqual(result(0, 2));
    expect(await resealSecrets(both())).toEqual(result(2, 0));
    world.secret = rotation?.secret ?? "";
    const isolate = world.anotherIsolate({ MASTER_KEY: NEW_TEXT });
    expect((await isolate.create()).status).toBe(200);
  });

  it("re-sealing the secrets goes on when one secret does not open, and names that one", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const world = await World.create();
    await env.DB.exec("DELETE FROM apps");
    await putApps(world.siteId, 3);
    await env.DB.prepare("UPDATE apps SET secret = 'v2.00000000.x.y' WHERE appid = 'app-0001'").run();
    expect(await resealSecrets(both())).toEqual(result(2, 0, 1, ["app-0001"]));
    expect((await rows()).map((row) => sealedWith(row.secret))).toEqual([NEW_SEAL, "v2.00000000", NEW_SEAL]);
    expect(recordsOf(warn)).toEqual([
      {
        warning: "no master key here opens some secrets: they were not re-sealed",
        secrets: 1,
        apps: ["app-0001"],
        webhooks: [],
        first: `the current secret of app app-0001 was sealed with master key 00000000; MASTER_KEY is ${NEW_ID}`,
      },
    ]);
  });

  it("re-sealing the secrets renews the slot that opens although the app's other slot does not open", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const world = await World.create();
    await rotateSecret(old(), { appid: world.appid, overlapSeconds: 60 });
    await env.DB.prepare("UPDATE apps SET previous_secret = 'damaged'").run();
    expect(await resealSecrets(both())).toEqual(result(1, 0, 1, [world.appid]));
    expect(await rows()).toMatchObject([{ secret: expect.stringMatching(NEW_SEAL), previous_secret: "damaged" }]);
  });

  it.each([OWNERS_PER_CALL, 1_000, 1_001])(
    "re-sealing the secrets goes on past %d apps that do not open and sort first, and ends",
    async (unopened) => {
      vi.spyOn(console, "warn").mockImplementation(() => {});
      const world = await World.create();
      await env.DB.exec("DELETE FROM apps");
      await putApps(world.siteId, OWNERS_PER_CALL + 1);
      await env.DB.prepare(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
         INSERT INTO apps (appid, site_id, name, version, secret, created_at)
         SELECT printf('aaa-%05d', i), ?, 'N', 'first', 'v2.00000000.x.y', 0 FROM n`,
      )
        .bind(unopened, world.siteId)
        .run();
      const appids = Array.from({ length: 20 }, (_, i) => `aaa-${String(i + 1).padStart(5, "0")}`);
      expect(await resealSecrets(both())).toEqual(result(OWNERS_PER_CALL, 1, unopened, appids));
      expect(await resealSecrets(both())).toEqual(result(1, 0, unopened, appids));
      expect(await resealSecrets(both())).toEqual(result(0, 0, unopened, appids));
      const appRows = (await rows()).filter(({ appid }) => appid.startsWith("app-"));
      expect(appRows.every((row) => sealedWith(row.secret) === NEW_SEAL)).toBe(true);
    },
  );

  it("re-sealing the secrets makes at most 50 queries a call, as Workers Free allows, for 100 apps and for ten homes", async () => {
    const [world] = [await World.create(), await World.create({}, "apac")];
    await putApps(world.siteId, 2 * OWNERS_PER_CALL);
    const main = counting(env.DB);
    expect(await resealSecrets(both(main.db))).toMatchObject({ resealed: OWNERS_PER_CALL });
    expect(main.queries()).toBeLessThanOrEqual(50);
    await env.DB.exec("DELETE FROM apps");
    // These databases run no batch, so all nine have the app of apac to re-seal.
    const homes = ["APAC", "B", "C", "D", "E", "F", "G", "H", "I"].map(
      (name) => [name, counting(env.HOME_APAC, true)] as const,
    );
    const bindings = Object.fromEntries(homes.map(([name, { db }]) => [`HOME_${name}`, db]));
    const { remaining, homesDown } = await resealSecrets(contextAt(NOW, { ...bindings, ...KEYS }));
    expect([remaining, homesDown]).toEqual([9, []]);
    // One more query counts the secrets of main.
    const queries = homes.reduce((sum, [, home]) => sum + home.queries(), 1);
    expect([queries <= 50, queries > 40]).toEqual([true, true]);
  });

  it("re-sealing the secrets renews the apps of every home, 100 per call over all homes", async () => {
    const [world, far] = [await World.create(), await World.create({}, "apac")];
    await env.DB.exec("DELETE FROM apps");
    await putApps(world.siteId, OWNERS_PER_CALL - 1);
    await putApps(far.siteId, 2, env.HOME_APAC);
    // The two new apps in apac, and the app of the world in apac.
    expect(await resealSecrets(both())).toEqual(result(OWNERS_PER_CALL, 2));
    expect(await resealSecrets(both())).toEqual(result(2, 0));
    expect(await resealSecrets(both())).toEqual(result(0, 0));
    for (const db of [env.DB, env.HOME_APAC]) {
      expect((await rows(db)).every((row) => sealedWith(row.secret) === NEW_SEAL)).toBe(true);
    }
    expect((await far.anotherIsolate({ MASTER_KEY: NEW_TEXT, CREDENTIALS: undefined }).create()).status).toBe(200);
  });

  it("re-sealing the secrets waits once for all silent homes together, and goes on in the others", async () => {
    await World.create();
    await World.create({}, "apac");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    const silence = silentHomes(4);
    const faults = new Faults();
    // Fake time advances only while every pending call is silent, because real databases need real time.
    const bindings = { DB: faultyD1(env.DB, faults), HOME_APAC: faultyD1(env.HOME_APAC, faults) };
    const ctx = contextAt(NOW, {
      ...bindings,
      ...silence.bindings,
      ...KEYS,
    });
    const began = Date.now();
    expect(await withoutWaiting(resealSecrets(ctx), faults)).toEqual({ ...result(2, 0), homesDown: silence.names });
    expect(Date.now() - began).toBeLessThan(WHOLE_LIMIT_MS);
    expect((await rows(env.HOME_APAC)).map((row) => sealedWith(row.secret))).toEqual([NEW_SEAL]);
  });

  it("re-sealing of a slow home continues after the answer", async () => {
    await World.create({}, "apac");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    const [reached, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const batch = async (statements: D1PreparedStatement[]) => {
      reached.resolve();
      await goOn.promise;
      return env.HOME_APAC.batch(statements);
    };
    const ctx = contextAt(NOW, { HOME_APAC: replacing(env.HOME_APAC, { batch }), ...KEYS });
    const after: Promise<unknown>[] = [];
    ctx.waitUntil = (work) => void after.push(work);
    const answer = resealSecrets(ctx);
    await reached.promise;
    await vi.advanceTimersByTimeAsync(WHOLE_LIMIT_MS);
    expect(await answer).toMatchObject({ resealed: 0, homesDown: ["apac"] });
    goOn.resolve();
    expect(after).not.toEqual([]);
    await Promise.all(after);
    expect((await rows(env.HOME_APAC)).map((row) => sealedWith(row.secret))).toEqual([NEW_SEAL]);
  });

  it("re-sealing the secrets answers in time even when homes fall silent after they were counted", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    const counts: Record<string, number> = {};
    let calls = 0;
    const silentAfterwards = (home: string) =>
      answeringBy(() => {
        counts[home] = (counts[home] ?? 0) + 1;
        return counts[home] === 1 ? Promise.resolve([[5]]) : new Promise(() => {});
      });
    const ctx = contextAt(NOW, {
      HOME_A: silentAfterwards("a"),
      HOME_B: silentAfterwards("b"),
      HOME_C: silentAfterwards("c"),
      HOME_D: silentAfterwards("d"),
      // The directory answers a count, and then that it has no hash key.
      DB: answeringBy(async () => (calls++ === 0 ? [[0]] : [])),
      HOME_APAC: undefined,
      ...KEYS,
    });
    const began = Date.now();
    const { homesDown, remaining } = await withoutWaiting(resealSecrets(ctx), { isSilent: true } as Faults);
    expect(Date.now() - began).toBeLessThan(WHOLE_LIMIT_MS);
    // 3 s, 3 s and the rest of the time. The last home is not asked, and its secrets count as remaining.
    expect([homesDown, remaining, counts]).toEqual([["a", "b", "c"], 5, { a: 2, b: 2, c: 2, d: 1 }]);
  });

  it.each([
    ["main", "silent"],
    ["apac", "silent"],
    ["main", "closed"],
    ["apac", "closed"],
  ])(
    "re-sealing the secrets goes on in the other home and names %s, which is %s; a closed home is not asked",
    async (home, state) => {
      for (const each of ["main", "apac"]) await World.create({}, each);
      const [down, other] = home === "main" ? [env.DB, env.HOME_APAC] : [env.HOME_APAC, env.DB];
      const onQuery = vi.fn(() => {
        throw new Error("D1_ERROR: D1 DB is overloaded.");
      });
      const ctx = contextAt(NOW, {
        [home === "main" ? "DB" : "HOME_APAC"]: replacing(down, { prepare: onQuery, batch: onQuery }),
        ...(state === "closed" && closedHomeVars(home)),
        ...KEYS,
      });
      expect(await resealSecrets(ctx)).toEqual({ ...result(1, 0), homesDown: [home] });
      expect(onQuery.mock.calls.length > 0).toBe(state === "silent");
      expect((await rows(other)).map((row) => sealedWith(row.secret))).toEqual([NEW_SEAL]);
      expect((await rows(down)).map((row) => sealedWith(row.secret))).toEqual([OLD_SEAL]);
      expect(await resealSecrets(both())).toEqual(result(1, 0));
    },
  );

  it("re-sealing the secrets does not treat another error as a secret that does not open", async () => {
    const world = await World.create();
    const bytes = Uint8Array.fromBase64(NEW_TEXT);
    const cannotSeal = await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["decrypt"]);
    const keyring: Keyring = { ...BOTH, sealing: { id: NEW_ID, key: cannotSeal } };
    const ctx = both();
    ctx.credentials = replacing(ctx.credentials, { keyring: async () => keyring });
    const before = await rows();
    await expect(resealSecrets(ctx)).rejects.not.toBeInstanceOf(UnsealError);
    expect([await rows(), before[0]?.appid]).toEqual([before, world.appid]);
  });

  it("re-sealing the secrets writes an audit entry, and none when there was nothing to do", async () => {
    await World.create();
    const entries = async () =>
      (await env.DB.prepare("SELECT * FROM audit_log WHERE action = 'secrets.resealed'").all()).results;
    const before = (await entries()).length;
    await resealSecrets(both());
    await resealSecrets(both());
    expect((await entries()).slice(before)).toMatchObject([
      { site_id: null, at: NOW, actor: "admin-api", details: '{"apps":1,"webhooks":0}' },
    ]);
  });
});

describe("rotating the master key", () => {
  const line = (spy: { mock: { calls: unknown[][] } }) => JSON.parse(String(spy.mock.calls.at(-1)?.[0]));

  it("a rotation of the master key refuses no request", async () => {
    const world = await World.create();
    expect((await world.create()).status).toBe(200);

    const during = world.anotherIsolate(KEYS);
    expect((await during.create()).status).toBe(200);
    const reply = await during.admin("POST", "/admin/reseal");
    expect([reply.status, await reply.json()]).toEqual([200, answer(1, 0)]);
    expect((await during.create()).status).toBe(200);

    // KV still holds the record with the old key's seal.
    expect(sealedWith((await env.CREDENTIALS.get<Row>(`app:${world.appid}`, "json"))?.secret ?? "")).toBe(OLD_SEAL);
    const after = world.anotherIsolate({ MASTER_KEY: NEW_TEXT });
    expect((await after.create()).status).toBe(200);
    expect(sealedWith((await env.CREDENTIALS.get<Row>(`app:${world.appid}`, "json"))?.secret ?? "")).toBe(NEW_SEAL);
  });

  it("without MASTER_KEY_PREVIOUS every use of a secret is a 500 after a change of MASTER_KEY, and the log says why", async () => {
    const world = await World.create();
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const wrong = world.anotherIsolate({ MASTER_KEY: NEW_TEXT });
    const fault = `UnsealError: the current secret of app ${world.appid} was sealed with master key ${OLD.sealing.id}; MASTER_KEY is ${NEW_ID}`;

    expect(await wrong.create()).toMatchObject({ status: 500, envelope: { code: -1, msg: "系统错误", data: "" } });
    expect(line(error)).toMatchObject({ status: 500, reason: "master_key_wrong", fault });

    const rotation = await wrong.admin("POST", `/admin/apps/${world.appid}/rotate`);
    expect(rotation.status).toBe(500);
    expect(rotation.headers.get("content-type")).toBe("application/problem+json");
    expect(line(error)).toMatchObject({ status: 500, reason: "master_key_wrong", fault });

    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const reply = await wrong.admin("POST", "/admin/reseal");
    expect([reply.status, await reply.json()]).toEqual([200, answer(0, 0, 1, [world.appid])]);
    expect(line(warn)).toMatchObject({ secrets: 1, apps: [world.appid] });
    expect((await rows()).map((row) => sealedWith(row.secret))).toEqual([OLD_SEAL]);
  });
});

it("a re-sealing that commits late brings back no seal of an older master key", async () => {
  const world = await World.create();
  const { db, commitLate } = lateDb(env.DB, "late");
  await resealSecrets(both(db));
  const [before] = await rows();
  await resealSecrets(both());
  await resealSecrets(contextAt(NOW, { MASTER_KEY: OLD_TEXT, MASTER_KEY_PREVIOUS: NEW_TEXT }));
  const [newest] = await rows();
  await commitLate();
  expect((await rows()).filter(({ appid }) => appid === world.appid)).toEqual([newest]);
  expect(newest?.secret).not.toBe(before?.secret);
});
