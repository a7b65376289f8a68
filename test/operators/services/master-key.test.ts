import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { importKeyring, sealMark } from "../../../src/core/credentials/sealed-secret.ts";
import { customerHasher } from "../../../src/operators/services/customer-hash.ts";
import { readHealth, readParts } from "../../../src/operators/services/health.ts";
import { keepCanary } from "../../../src/operators/services/master-key.ts";
import { resealSecrets } from "../../../src/operators/services/reseal-secrets.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { forgetHashKeys } from "../../support/customers.ts";
import { downDb } from "../../support/down-db.ts";
import { TRANSIENT_MESSAGE } from "../../support/faulty-bindings.ts";
import { databaseOf } from "../../support/homes.ts";
import { tablesOf } from "../../support/read-store.ts";
import { replacing } from "../../support/replacing.ts";
import { contextAt } from "../../support/service-context.ts";
import { NOW, type ReplacedBindings, World } from "../../support/world.ts";

/** MASTER_KEY is right when it opens the canary: the key of customers' hashes, which the cron makes. */

const RIGHT = env.MASTER_KEY;
const NEW = Uint8Array.fromBase64(RIGHT).toReversed().toBase64();
const WRONG = { MASTER_KEY: NEW };
const { CREDENTIALS } = env;

const at = (bindings: ReplacedBindings = {}) => contextAt(NOW, { CREDENTIALS, ...bindings });
/** The state of the key in a scrape and in /healthz. The two never differ. */
async function stateIn(bindings: ReplacedBindings = {}) {
  const ctx = at(bindings);
  const [{ master_key }, { parts, isKeyWrong }] = await Promise.all([readParts(ctx), readHealth(ctx, 4_000)]);
  expect([parts.master_key, isKeyWrong]).toEqual([master_key, master_key === "down"]);
  return master_key;
}
const appsOf = ({ siteId }: World) => `/admin/sites/${siteId}/apps`;
const markOf = async (key: string) => sealMark(await importKeyring([Uint8Array.fromBase64(key)]));
const keyRows = async () => (await env.DB.prepare("SELECT * FROM customer_hash_keys").all()).results;

beforeEach(async () => {
  await forgetHashKeys();
  await env.DB.exec("DELETE FROM app_routes");
  for (const db of [env.DB, env.HOME_APAC]) await db.exec("DELETE FROM apps; DELETE FROM webhooks");
});
afterEach(async () => {
  vi.restoreAllMocks();
  await forgetHashKeys();
});

it("the master key is shown as off while there is no app, whichever key is set", async () => {
  expect([await keepCanary(at()), await keepCanary(at(WRONG))]).toEqual([true, true]);
  expect([await stateIn(), await stateIn(WRONG), await keyRows()]).toEqual(["off", "off", []]);
});

describe.each(["main", "apac"])("with an app in %s", (home) => {
  const other = home === "main" ? "apac" : "main";

  it("a wrong master key is shown as down before the cron has run, and the cron makes no canary with it", async () => {
    const world = await World.create(WRONG, home);
    expect([await stateIn(WRONG), await stateIn()]).toEqual(["down", "off"]);
    // An earlier release may have sealed an app with the wrong key.
    const [right, wrong] = await Promise.all([RIGHT, NEW].map(markOf));
    const issued = await world.anotherIsolate({ MASTER_KEY: RIGHT }).admin("POST", appsOf(world), { name: "App" });
    expect(issued.status).toBe(201);
    await databaseOf(home)
      .prepare("UPDATE apps SET secret = replace(secret, ?, ?) WHERE appid <> ?")
      .bind(right, wrong, world.appid)
      .run();
    for (let i = 0; i < 2; i++) expect([await keepCanary(at(WRONG)), await keyRows()]).toEqual([false, []]);
    expect([await stateIn(WRONG), await keepCanary(at())]).toEqual(["down", false]);
    await databaseOf(home).prepare("DELETE FROM apps WHERE appid <> ?").bind(world.appid).run();
    expect([await keepCanary(at()), await stateIn()]).toEqual([true, "ok"]);
    expect([await stateIn(WRONG), await keepCanary(at(WRONG))]).toEqual(["down", false]);
  });

  it.each([
    ["before the canary is made", async () => true],
    ["when the canary is made", () => keepCanary(at())],
  ])(
    "no app is issued and no webhook is added with a wrong master key, and no appid is reserved: %s",
    async (_, run) => {
      vi.spyOn(console, "error").mockImplementation(() => {});
      const world = await World.create({}, home);
      expect(await run()).toBe(true);
      const stored = async () => [await tablesOf(env.DB), await tablesOf(env.HOME_APAC)];
      const before = await stored();
      const send = (isolate: World) =>
        Promise.all([
          isolate.admin("POST", appsOf(world), {
            name: "App",
            appid: `app-${world.siteId}`,
            secret: "imported secret",
          }),
          isolate.admin("POST", `/admin/sites/${world.siteId}/webhooks`, { url: "https://hooks.example.com/" }),
        ]);
      for (const answer of await send(world.anotherIsolate(WRONG))) {
        const detail = "MASTER_KEY does not open what is sealed. Nothing was changed: GET /healthz says more.";
        expect([answer.status, await answer.json()]).toMatchObject([500, { title: "Internal error", detail }]);
      }
      expect(await stored()).toEqual(before);
      // The new key seals as soon as the right one stands beside it.
      const both = world.anotherIsolate({ MASTER_KEY: NEW, MASTER_KEY_PREVIOUS: RIGHT });
      expect((await send(both)).map(({ status }) => status)).toEqual([201, 201]);
    },
  );

  it("the cron makes no canary for the master key while a home is silent, but asks a closed home", async () => {
    await World.create({}, home);
    for (const bindings of [
      { ...WRONG, HOME_APAC: downDb(env.HOME_APAC) },
      { ...WRONG, ...closedHomeVars(other) },
    ])
      await keepCanary(at(bindings));
    expect(await keyRows()).toEqual([]);
    expect(await keepCanary(at({ ...WRONG, ...closedHomeVars(home) }))).toBe(false);
    expect([await keyRows(), await stateIn({ ...WRONG, ...closedHomeVars(home) })]).toEqual([[], "down"]);
  });
});

describe("with an app in apac", () => {
  it.each<[string, ReplacedBindings]>([
    ["with KV", {}],
    ["without KV", { CREDENTIALS: undefined }],
  ])("a right master key is shown as ok %s, after a rotation, and after two simultaneous crons", async (_, kv) => {
    await World.create({}, "apac");
    expect(await Promise.all([keepCanary(at(kv)), keepCanary(at(kv))])).toEqual([true, true]);
    expect([await stateIn(kv), (await keyRows()).length]).toEqual(["ok", 1]);
    const both = { MASTER_KEY: NEW, MASTER_KEY_PREVIOUS: RIGHT, ...kv };
    expect(await stateIn(both)).toBe("ok");
    await resealSecrets(at(both));
    expect([await stateIn({ ...WRONG, ...kv }), await stateIn(kv)]).toEqual(["ok", "down"]);
  });

  it("a wrong master key is shown as down, also by the cron, when the home with the sealed apps is silent", async () => {
    await World.create({}, "apac");
    await keepCanary(at());
    const silent = { ...WRONG, HOME_APAC: downDb(env.HOME_APAC) };
    expect([await keepCanary(at(silent)), await stateIn(silent)]).toEqual([false, "down"]);
  });

  it("the master key is shown as ok again when the app that no key opens is revoked", async () => {
    const { appid } = await World.create({}, "apac");
    await env.HOME_APAC.prepare("UPDATE apps SET revoked_at = ? WHERE appid = ?").bind(NOW, appid).run();
    expect([await keepCanary(at(WRONG)), await stateIn(WRONG)]).toEqual([true, "ok"]);
  });

  it("the canary for the master key survives two restores of main to before it was made, when KV has it", async () => {
    await World.create({}, "apac");
    await keepCanary(at());
    const [row] = await keyRows();
    for (let restore = 0; restore < 2; restore++) {
      await env.DB.exec("DELETE FROM customer_hash_keys");
      await keepCanary(at(closedHomeVars("main")));
      expect(await keyRows()).toEqual([]);
      expect([await keepCanary(at()), await stateIn()]).toEqual([true, "ok"]);
      expect(await keyRows()).toMatchObject([{ id: row?.id, sealed: row?.sealed }]);
    }
  });

  it("the cron takes no newer canary from KV while a restored home has apps sealed with an older key", async () => {
    await World.create({}, "apac");
    await keepCanary(at());
    const [before] = await keyRows();
    const app = env.HOME_APAC.prepare("SELECT secret FROM apps");
    const seal = await app.first<string>("secret");
    await resealSecrets(at({ MASTER_KEY: NEW, MASTER_KEY_PREVIOUS: RIGHT }));
    await env.DB.prepare("UPDATE customer_hash_keys SET sealed = ?").bind(before?.sealed).run();
    await env.HOME_APAC.prepare("UPDATE apps SET secret = ?").bind(seal).run();
    expect([await keepCanary(at(WRONG)), await stateIn(WRONG), await stateIn()]).toEqual([false, "down", "ok"]);
  });

  it("the cron makes the canary in a later run when the directory or KV fails", async () => {
    await World.create({}, "apac");
    const put = () => Promise.reject(new Error("KV PUT failed: 500"));
    expect(await keepCanary(at({ DB: downDb(env.DB) }))).toBe(true);
    expect(await keepCanary(at({ CREDENTIALS: replacing(CREDENTIALS, { put }) }))).toBe(true);
    expect([await keepCanary(at()), await stateIn()]).toEqual([true, "ok"]);
  });
});

it("an app is issued although the directory fails once when it is asked for the canary", async () => {
  const world = await World.create();
  let failures = 0;
  const prepare = (sql: string) => {
    if (sql.includes("customer_hash_keys") && failures++ === 0) throw new Error(TRANSIENT_MESSAGE);
    return env.DB.prepare(sql);
  };
  const isolate = world.anotherIsolate({ DB: replacing(env.DB, { prepare }) });
  expect((await isolate.admin("POST", appsOf(world), { name: "App" })).status).toBe(201);
  expect(failures).toBe(2);
});

it("an erasure makes no hash key with a wrong master key while the home with the sealed apps is silent", async () => {
  await World.create({}, "apac");
  const silent = { ...WRONG, HOME_APAC: downDb(env.HOME_APAC) };
  await expect(customerHasher(at(silent))).rejects.toMatchObject({ context: { reason: "hash_key_unopened" } });
  expect([await keyRows(), await stateIn(WRONG)]).toEqual([[], "down"]);
});
