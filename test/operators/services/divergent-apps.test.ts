import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { type DivergentApp, listDivergentApps } from "../../../src/operators/services/divergent-apps.ts";
import { reconcileHome } from "../../../src/operators/services/homes.ts";
import { createSite } from "../../../src/operators/services/sites.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { countingDb } from "../../support/counting-db.ts";
import { downDb } from "../../support/down-db.ts";
import { databaseOf } from "../../support/homes.ts";
import { contextAt } from "../../support/service-context.ts";
import { NOW, type ReplacedBindings, World } from "../../support/world.ts";

const context = (bindings: ReplacedBindings = {}) => contextAt(NOW, { CREDENTIALS: env.CREDENTIALS, ...bindings });

/** All pages of the list, each with at most `limit` items. */
async function allPages(home: string, limit: number) {
  const pages: DivergentApp[][] = [];
  for (let cursor: string | undefined; pages.length < 100; ) {
    const { items, nextCursor } = await listDivergentApps(context(), { home, limit, cursor });
    pages.push(items);
    if (nextCursor === null) return pages;
    cursor = nextCursor;
  }
  throw new Error("the list has no end");
}

/** A site with this many apps, optionally without their routes or without the apps themselves. */
async function siteWithApps(home: string, count: number, { routes = true, apps = true } = {}) {
  const { id } = await createSite(context(), { name: "Apps", home, firstChatId: 1 });
  const numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)";
  const appid = `'app-${id}-' || printf('%05d', i)`;
  const insert = (db: D1Database, sql: string) => db.prepare(`${numbers} ${sql}`).bind(id, count).run();
  if (routes) await insert(env.DB, `INSERT INTO app_routes (appid, site_id) SELECT ${appid}, ?1 FROM n`);
  if (apps) {
    const columns = "(site_id, appid, name, version, secret, created_at)";
    await insert(databaseOf(home), `INSERT INTO apps ${columns} SELECT ?1, ${appid}, 'App', 'v', 's', 1 FROM n`);
  }
  const nameOf = (i: number) => `app-${id}-${String(i).padStart(5, "0")}`;
  return { id, names: Array.from({ length: count }, (_, i) => nameOf(i + 1)) };
}

const forget = ({ id }: { id: number }) =>
  Promise.all([
    env.DB.prepare("DELETE FROM app_routes WHERE site_id = ?").bind(id).run(),
    ...["main", "apac"].map((home) => databaseOf(home).prepare("DELETE FROM apps WHERE site_id = ?").bind(id).run()),
  ]);

describe("GET /admin/homes/:name/divergent: the divergent apps after a restore", () => {
  it.each([1, 3, 100])("the list of divergent apps has each app once, in pages of %i", async (limit) => {
    const site = await siteWithApps("apac", 7, { apps: false });
    const pages = await allPages("apac", limit);
    expect(pages.every((page) => page.length <= limit)).toBe(true);
    const ownApps = pages.flat().filter(({ siteId }) => siteId === site.id);
    expect(ownApps).toEqual(site.names.map((appid) => ({ appid, siteId: site.id, why: "missing" })));
    await forget(site);
  });

  it.each([2, 100])(
    "the list of divergent apps of main includes apps of other homes without a route, in pages of %i",
    async (limit) => {
      const missing = await siteWithApps("main", 3, { apps: false });
      const unrouted = await siteWithApps("apac", 5, { routes: false });
      const pages = await allPages("main", limit);
      expect(pages.flat()).toEqual([
        ...missing.names.map((appid) => ({ appid, siteId: missing.id, why: "missing" })),
        ...unrouted.names.map((appid) => ({ appid, siteId: unrouted.id, why: "unrouted" })),
      ]);
      await Promise.all([missing, unrouted].map(forget));
    },
  );

  it("an app whose site the directory has in the wrong home is listed as missing there and as unrouted", async () => {
    const { id } = await siteWithApps("apac", 1);
    const lead = (home: string) => env.DB.prepare("UPDATE sites SET home = ? WHERE id = ?").bind(home, id).run();
    await lead("main");
    expect((await allPages("main", 100)).flat().map(({ siteId, why }) => [siteId, why])).toEqual([
      [id, "missing"],
      [id, "unrouted"],
    ]);
    await Promise.all([forget({ id }), lead("apac")]);
  });

  it("the list of divergent apps leaves out the apps of a site that is being deleted", async () => {
    const { id } = await siteWithApps("apac", 1, { apps: false });
    const set = (status: string) => env.DB.prepare("UPDATE sites SET status = ? WHERE id = ?").bind(status, id).run();
    await set("deleting");
    expect((await allPages("apac", 100)).flat()).toEqual([]);
    await Promise.all([forget({ id }), set("open")]);
  });

  it("a page of divergent apps looks at 5,000 apps, and has a cursor even when it lists none", async () => {
    const site = await siteWithApps("apac", 5_001);
    const last = site.names.at(-1) ?? "";
    await env.HOME_APAC.prepare("DELETE FROM apps WHERE appid = ?").bind(last).run();
    const pages = await allPages("apac", 100);
    expect(pages.map((page) => page.length)).toEqual([0, 1]);
    expect(pages.flat()).toEqual([{ appid: last, siteId: site.id, why: "missing" }]);
    await forget(site);
  });

  it("divergent apps are listed although a value in KV is not JSON", async () => {
    const [bad, revoked] = [await World.create({}, "apac"), await World.create({}, "apac")];
    await revoked.admin("DELETE", `/admin/apps/${revoked.appid}`);
    await env.HOME_APAC.prepare("UPDATE apps SET revoked_at = NULL WHERE appid = ?").bind(revoked.appid).run();
    await env.CREDENTIALS.put(`app:${bad.appid}`, "{not JSON");
    const { items } = await listDivergentApps(context(), { home: "apac", limit: 100 });
    expect(items).toEqual([{ appid: revoked.appid, siteId: revoked.siteId, why: "revoked" }]);
    const { skippedBy } = await reconcileHome(context(closedHomeVars("apac")), { home: "apac", skip: 5 });
    expect(skippedBy).toBe(5);
    await env.HOME_APAC.prepare("UPDATE apps SET revoked_at = 1 WHERE appid = ?").bind(revoked.appid).run();
    await env.CREDENTIALS.delete(`app:${bad.appid}`);
  });

  it.each(["", "nowhere/1/x", "apac/1/x", "main/1/x", "apac/x/y", "a b", "apac/1", "x".repeat(65)])(
    "the list of divergent apps of apac refuses the cursor %j",
    async (cursor) => {
      const list = listDivergentApps(context(), { home: "apac", limit: 1, cursor });
      await expect(list).rejects.toMatchObject({ code: "invalid_input" });
    },
  );
});

describe("reconciling main with many homes", () => {
  it("reconciling main reaches 14 homes beside one that is down, and a repeated call asks only that one", async () => {
    const reconciliationId = crypto.randomUUID();
    const askedHomes: string[] = [];
    const names = Array.from({ length: 14 }, (_, i) => `HOME_X${i}`);
    const noting = (name: string) => countingDb(env.HOME_APAC, { before: () => askedHomes.push(name) }).db;
    const homes = Object.fromEntries(names.map((name) => [name, noting(name)]));
    const reconcile = (more: ReplacedBindings) =>
      reconcileHome(context({ ...closedHomeVars("main"), HOME_APAC: undefined, ...homes, ...more }), {
        home: "main",
        skip: 5,
        reconciliationId,
      });
    const first = await reconcile({ HOME_DOWN: downDb(env.HOME_APAC) });
    expect([first.skippedBy, first.homesDown]).toEqual([5, ["down"]]);
    expect(new Set(askedHomes)).toEqual(new Set(names));
    askedHomes.length = 0;
    const secondAnswer = await reconcile({});
    expect([secondAnswer.skippedBy, secondAnswer.homesDown, askedHomes]).toEqual([0, [], []]);
  });
});
