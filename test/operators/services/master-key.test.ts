import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { customerHasher } from "../../../src/operators/services/customer-hash.ts";
import { readHealth, readParts } from "../../../src/operators/services/health.ts";
import { keepCanary } from "../../../src/operators/services/master-key.ts";
import { resealSecrets } from "../../../src/operators/services/reseal-secrets.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { forgetHashKeys } from "../../support/customers.ts";
import { downDb } from "../../support/down-db.ts";
import { databaseOf } from "../../support/homes.ts";
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
const keyRows = async () => (await env.DB.prepare("SELECT * FROM customer_hash_keys").all()).results;

beforeEach(async () => {
  await forgetHashKeys();
  await env.DB.exec("DELETE FROM app_routes");
  for (const db of [env.DB, env.HOME_APAC]) await db.exec("DELETE FROM apps; DELETE FROM webhooks");
});
afterEach(forgetHashKeys);

it("the master key is shown as off while there is no app, whichever key is set", async () => {
  expect([await keepCanary(at()), await keepCanary(at(WRONG))]).toEqual([true, true]);
  expect([await stateIn(), await stateIn(WRONG), await keyRows()]).toEqual(["off", "off", []]);
});

describe.each(["main", "apac"])("with an app in %s", (home) => {
  const other = home === "main" ? "apac" : "main";

  it("a wrong master key is shown as down before the cron has run, and the cron makes no canary with it", async () => {
    const world = await World.create(WRONG, home);
    expect([await stateIn(WRONG), await stateIn()]).toEqual(["down", "off"]);
    // An app that is issued with the wrong key opens with that key.
    expect((await world.admin("POST", `/admin/sites/${world.siteId}/apps`, { name: "App" })).status).toBe(201);
    for (let i = 0; i < 2; i++) expect([await keepCanary(at(WRONG)), await keyRows()]).toEqual([false, []]);
    expect([await stateIn(WRONG), await keepCanary(at())]).toEqual(["down", false]);
    await databaseOf(home).prepare("DELETE FROM apps WHERE appid <> ?").bind(world.appid).run();
    expect([await keepCanary(at()), await stateIn()]).toEqual([true, "ok"]);
    expect([await stateIn(WRONG), await keepCanary(at(WRONG))]).toEqual(["down", false]);
  });

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

it("an erasure makes no hash key with a wrong master key while the home with the sealed apps is silent", async () => {
  await World.create({}, "apac");
  const silent = { ...WRONG, HOME_APAC: downDb(env.HOME_APAC) };
  await expect(customerHasher(at(silent))).rejects.toMatchObject({ context: { reason: "hash_key_unopened" } });
  expect([await keyRows(), await stateIn(WRONG)]).toEqual([[], "down"]);
});
