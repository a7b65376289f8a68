import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { deleteApp, issueApp, releaseApp } from "../../../src/operators/services/apps.ts";
import { keepCanary } from "../../../src/operators/services/master-key.ts";
import { createSite, findSite, type Site } from "../../../src/operators/services/sites.ts";
import { auditOf } from "../../support/audit-of.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { downDb } from "../../support/down-db.ts";
import { Faults, faultyD1 } from "../../support/faulty-bindings.ts";
import { databaseOf } from "../../support/homes.ts";
import type { ReplacedBindings } from "../../support/isolate.ts";
import { withoutWaiting } from "../../support/patient-fetch.ts";
import { readStored } from "../../support/read-store.ts";
import { replacing } from "../../support/replacing.ts";
import { contextAt } from "../../support/service-context.ts";
import { NOW, World } from "../../support/world.ts";
import { ordersOf, TakingTurns } from "./taking-turns.ts";

const newSite = (home: string): Promise<Site> =>
  createSite(contextAt(NOW), { name: crypto.randomUUID(), home, firstChatId: 1 });

const routeOf = (appid: string) =>
  env.DB.prepare("SELECT site_id, claim FROM app_routes WHERE appid = ?")
    .bind(appid)
    .first<{ site_id: number; claim: string | null }>();

/** The sites that have an app with this appid, in any home. */
async function ownersOf(appid: string): Promise<number[]> {
  const owners: number[] = [];
  for (const home of ["main", "apac"]) {
    const { results } = await databaseOf(home)
      .prepare("SELECT site_id FROM apps WHERE appid = ?")
      .bind(appid)
      .all<{ site_id: number }>();
    owners.push(...results.map(({ site_id }) => site_id));
  }
  return owners;
}

const actionsOf = async (appid: string) => (await auditOf(appid)).map(({ action }) => action);

const issue = (site: Site, appid: string, bindings: ReplacedBindings = {}) =>
  issueApp(contextAt(NOW, bindings), { site, name: "N", appid });

/** The home apac, where every batch fails, so that no app is inserted. */
const failingApac = () =>
  faultyD1(env.HOME_APAC, new Faults(({ name }) => (name === "DB.batch" ? "before" : undefined), "D1_ERROR: x"));

/** Leaves an appid reserved for a site without an app, because the home fails at inserting the app. */
async function keep(site: Site, appid: string): Promise<void> {
  const nth = site.home === "main" ? 1 : 0;
  const faults = new Faults(
    (call) => (call.name === "DB.batch" && call.nth === nth ? "before" : undefined),
    "D1_ERROR: x",
  );
  const binding = site.home === "main" ? "DB" : "HOME_APAC";
  const db = faultyD1(databaseOf(site.home), faults);
  await expect(issue(site, appid, { [binding]: db })).rejects.toMatchObject({
    context: { reason: "app_unfinished", appid },
  });
}

describe("an appid reserved for a site without an app", () => {
  it.each(["main", "apac"])(
    "an appid without an app is released: any site can get it, and the audit log has every step: %s",
    async (home) => {
      const [site, other] = [await newSite(home), await newSite("main")];
      const appid = crypto.randomUUID();
      await keep(site, appid);
      await expect(issue(other, appid)).rejects.toMatchObject({ context: { reason: "appid_taken" } });
      await deleteApp(contextAt(NOW + 5), { appid });
      expect([await routeOf(appid), await ownersOf(appid)]).toEqual([null, []]);
      const entry = { home: "main", siteId: site.id };
      expect(await auditOf(appid)).toEqual([
        { ...entry, action: "app.routed", details: { name: "N" } },
        { ...entry, action: "app.released", details: {} },
      ]);
      await expect(deleteApp(contextAt(NOW), { appid })).rejects.toMatchObject({ code: "not_found" });
      await issue(other, appid);
      expect([(await routeOf(appid))?.site_id, await ownersOf(appid)]).toEqual([other.id, [other.id]]);
    },
  );

  it("the answer names a generated appid that has no app, and the next step", async () => {
    const site = await newSite("apac");
    const world = Object.assign(await World.create({ HOME_APAC: failingApac() }), { siteId: site.id });
    vi.spyOn(console, "error").mockImplementation(() => {});
    const answer = await world.admin("POST", `/admin/sites/${site.id}/apps`, { name: "N" });
    const { detail } = await answer.json<{ detail: string }>();
    const [, appid = ""] = /The appid (\w{32}) is kept for this site/.exec(detail) ?? [];
    expect([answer.status, answer.headers.get("retry-after"), detail]).toEqual([
      503,
      "1",
      `The home apac or the directory does not answer: GET /admin/homes says which. The appid ${appid} is kept for this site and may have no app yet: send the same call again with it, or release it with DELETE /admin/apps/${appid}. If it has one after all, the call is 409, and DELETE revokes it.`,
    ]);
    expect((await routeOf(appid))?.site_id).toBe(site.id);
    const whole = world.anotherIsolate({ HOME_APAC: env.HOME_APAC });
    expect((await whole.admin("POST", `/admin/sites/${site.id}/apps`, { name: "N", appid })).status).toBe(201);
    expect(await ownersOf(appid)).toEqual([site.id]);
  });

  it("an appid stays reserved while its home is down, and while its home or the directory is closed", async () => {
    const site = await newSite("apac");
    const appid = crypto.randomUUID();
    await keep(site, appid);
    const before = await routeOf(appid);
    for (const bindings of [
      { HOME_APAC: downDb(env.HOME_APAC) },
      { HOME_APAC: undefined },
      closedHomeVars("apac"),
      closedHomeVars("main"),
    ]) {
      const attempt = deleteApp(contextAt(NOW, bindings as ReplacedBindings), { appid });
      await expect(attempt).rejects.toMatchObject({ code: "unavailable" });
      expect([await routeOf(appid), await actionsOf(appid)]).toEqual([before, ["app.routed"]]);
    }
  });

  it("an appid is released only for the given site", async () => {
    const [site, other] = [await newSite("apac"), await newSite("apac")];
    const appid = crypto.randomUUID();
    await keep(site, appid);
    const before = await routeOf(appid);
    const wrong = releaseApp(contextAt(NOW), { appid, siteId: other.id });
    await expect(wrong).rejects.toMatchObject({ code: "not_found" });
    expect(await routeOf(appid)).toEqual(before);
  });
});

describe("the appid of an app", () => {
  it("the appid of an issued app belongs to its site for good: DELETE revokes the app and does not release the appid", async () => {
    const [site, other] = [await newSite("apac"), await newSite("main")];
    const { appid } = await issueApp(contextAt(NOW), { site, name: "N" });
    const before = await routeOf(appid);
    await expect(releaseApp(contextAt(NOW), { appid })).rejects.toMatchObject({ context: { reason: "app_issued" } });
    await deleteApp(contextAt(NOW), { appid });
    await deleteApp(contextAt(NOW), { appid });
    expect([await routeOf(appid), await ownersOf(appid)]).toEqual([before, [site.id]]);
    expect(await actionsOf(appid)).toEqual(["app.routed", "app.issued", "app.revoked"]);
    await expect(issue(other, appid)).rejects.toMatchObject({ context: { reason: "appid_taken" } });
  });
});

describe("a call that issues an app while another releases its appid", () => {
  beforeAll(() => keepCanary(contextAt(NOW)));

  /** Each call makes three trips. Issuing: site, route, app. Releasing: route, fence, route. Before these, issuing reads the canary. */
  const TURNS = ordersOf("IIIRRR");

  function takingTurns(order: string) {
    const turns = new TakingTurns(`I${order}`);
    const bindings = (who: string) => ({
      DB: turns.database(env.DB, who),
      HOME_APAC: turns.database(env.HOME_APAC, who),
    });
    return { turns, bindings };
  }

  /** Checks what must hold after every order of the trips. */
  async function check(appid: string, results: PromiseSettledResult<unknown>[], sites: Site[]): Promise<void> {
    const [route, owners, actions] = [await routeOf(appid), await ownersOf(appid), await actionsOf(appid)];
    const times = (name: string) => actions.filter((action) => action === name).length;
    expect(owners.length).toBe(results.filter(({ status }) => status === "fulfilled").length);
    expect(owners.length).toBeLessThanOrEqual(1);
    if (owners.length > 0) expect([route?.site_id]).toEqual(owners);
    expect(times("app.routed") - times("app.released")).toBe(route === null ? 0 : 1);
    expect(times("app.imported")).toBe(owners.length);
    expect(times("app.revoked")).toBe(0);
    results.forEach((each, i) => {
      if (each.status === "fulfilled") expect(owners).toEqual([sites[i]?.id]);
    });
  }

  it("issuing and releasing one appid together makes no app without a route, in any order", async () => {
    expect(TURNS).toHaveLength(20);
    const site = await newSite("apac");
    const outcomes = new Set<string>();
    for (const order of TURNS) {
      const appid = crypto.randomUUID();
      await keep(site, appid);
      const { turns, bindings } = takingTurns(order);
      const [issued, released] = await Promise.all([
        turns.run("I", () => issue(site, appid, bindings("I"))),
        turns.run("R", () => releaseApp(contextAt(NOW, bindings("R")), { appid })),
      ]);
      expect([order, issued.status]).toEqual([order, "fulfilled"]);
      await check(appid, [issued], [site]);
      outcomes.add(released.status === "fulfilled" ? "released" : String(released.reason.context.reason));
    }
    expect(outcomes).toEqual(new Set(["released", "app_issued", "route_claimed"]));
  });

  it("issuing and releasing one appid together never gives it to two sites, wherever a third call comes in between", async () => {
    const [site, other] = [await newSite("apac"), await newSite("main")];
    const winners = new Set<number | undefined>();
    // Every seventh of the 140 orders. The third call comes first, between the trips of the release, or right after it.
    for (const order of ordersOf("IIIRRRT").filter((_, i) => i % 7 === 3)) {
      const appid = crypto.randomUUID();
      await keep(site, appid);
      // The third call's trips follow each other.
      const { turns, bindings } = takingTurns(order.replace("T", "TTTT"));
      const [issued, third] = await Promise.all([
        turns.run("I", () => issue(site, appid, bindings("I"))),
        turns.run("T", () => issue(other, appid, bindings("T"))),
        turns.run("R", () => releaseApp(contextAt(NOW, bindings("R")), { appid })),
      ]);
      await check(appid, [issued, third], [site, other]);
      for (const { reason } of [issued, third].filter((each) => each.status === "rejected"))
        expect(reason).toMatchObject({ context: { reason: "appid_taken" } });
      winners.add((await ownersOf(appid))[0]);
    }
    expect(winners).toEqual(new Set([site.id, other.id]));
  });

  it("issuing an app starts again when the site is renamed meanwhile, and gives up when renames do not stop", async () => {
    const site = await newSite("apac");
    const bump = () =>
      env.HOME_APAC.prepare("UPDATE home_sites SET revision = revision + 1 WHERE site_id = ?").bind(site.id).run();
    const changing = (times: number) => {
      let triesLeft = times;
      const batch = async (statements: D1PreparedStatement[]) => {
        if (triesLeft-- > 0) await bump();
        return env.HOME_APAC.batch(statements);
      };
      return { HOME_APAC: replacing(env.HOME_APAC, { batch }) };
    };
    const appid = crypto.randomUUID();
    await issue(site, appid, changing(9));
    expect([await ownersOf(appid), await actionsOf(appid)]).toEqual([[site.id], ["app.routed", "app.imported"]]);
    const another = crypto.randomUUID();
    await expect(issue(site, another, changing(10))).rejects.toMatchObject({
      code: "conflict",
      context: { reason: "app_busy", detail: expect.stringContaining(`DELETE /admin/apps/${another}`) },
    });
    await deleteApp(contextAt(NOW), { appid: another });
    expect([await routeOf(another), await ownersOf(another)]).toEqual([null, []]);
  });
});

describe("a late try", () => {
  afterEach(() => void vi.useRealTimers());

  it.each(["main", "apac"])(
    "a late try to issue an app makes no app without a route after the appid was released: %s",
    async (home) => {
      const [site, other] = [await newSite(home), await newSite("apac")];
      const appid = crypto.randomUUID();
      const first = home === "main" ? 1 : 0;
      const faults = new Faults(({ name, nth }) => (name === "DB.batch" && nth >= first ? "late" : undefined));
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
      const binding = home === "main" ? "DB" : "HOME_APAC";
      const late = issue(site, appid, { [binding]: faultyD1(databaseOf(home), faults) });
      const refusal = expect(late).rejects.toMatchObject({ context: { reason: "app_unfinished" } });
      await withoutWaiting(refusal, faults);
      vi.useRealTimers();
      await deleteApp(contextAt(NOW), { appid });
      await issue(other, appid);
      await faults.end();
      expect([(await routeOf(appid))?.site_id, await ownersOf(appid)]).toEqual([other.id, [other.id]]);
    },
  );

  it("a late try to make a route leaves a route that the audit log shows and that can be released", async () => {
    const site = await newSite("apac");
    const appid = crypto.randomUUID();
    await keep(site, appid);
    const faults = new Faults(({ name, nth }) => (name === "DB.batch" && nth === 0 ? "late" : undefined));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    const unfinished = issue(site, appid, { DB: faultyD1(env.DB, faults), HOME_APAC: failingApac() });
    const refusal = expect(unfinished).rejects.toMatchObject({ context: { reason: "app_unfinished" } });
    await withoutWaiting(refusal, faults);
    vi.useRealTimers();
    await deleteApp(contextAt(NOW), { appid });
    await faults.end();
    expect((await routeOf(appid))?.site_id).toBe(site.id);
    await deleteApp(contextAt(NOW), { appid });
    expect([await routeOf(appid), await ownersOf(appid)]).toEqual([null, []]);
    expect(await actionsOf(appid)).toEqual(["app.routed", "app.released", "app.routed", "app.released"]);
  });

  it("a late try to release an appid deletes no route that was made since", async () => {
    const site = await newSite("apac");
    const appid = crypto.randomUUID();
    await keep(site, appid);
    const faults = new Faults(({ name, nth }) => (name === "DB.batch" && nth === 0 ? "late" : undefined));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    await withoutWaiting(releaseApp(contextAt(NOW, { DB: faultyD1(env.DB, faults) }), { appid }), faults);
    vi.useRealTimers();
    expect(await routeOf(appid)).toBeNull();
    await issue(site, appid);
    await faults.end();
    expect([(await routeOf(appid))?.site_id, await ownersOf(appid)]).toEqual([site.id, [site.id]]);
    expect(await actionsOf(appid)).toEqual(["app.routed", "app.released", "app.routed", "app.imported"]);
  });
});

describe("a released appid that caches still know", () => {
  it("a released appid verifies only with the next site's secret, whatever the caches hold", async () => {
    const world = await World.create({}, "apac");
    expect((await world.create()).status).toBe(200);
    const kvOnly = world.anotherIsolate();
    expect(await env.CREDENTIALS.get(`app:${world.appid}`)).not.toBeNull();
    // The app's home is restored to a time before the app was issued.
    await env.HOME_APAC.prepare("DELETE FROM apps WHERE appid = ?").bind(world.appid).run();
    await deleteApp(contextAt(NOW), { appid: world.appid });
    expect(await routeOf(world.appid)).toBeNull();
    const itself = { siteId: world.siteId, appid: world.appid };
    const before = await readStored(itself, env.HOME_APAC);
    for (const isolate of [world, kvOnly]) expect((await isolate.create()).status).toBe(401);
    expect(await readStored(itself, env.HOME_APAC)).toEqual(before);

    const other = await World.create();
    const { secret } = await issue(await findSite(contextAt(NOW), { siteId: other.siteId }), world.appid);
    for (const isolate of [world, kvOnly]) {
      expect((await isolate.create()).status).toBe(401);
      const caller = Object.assign(isolate, { secret, siteId: other.siteId });
      expect((await caller.create()).status).toBe(200);
      Object.assign(isolate, { secret: world.secret });
    }
    expect(await readStored(itself, env.HOME_APAC)).toEqual(before);
  });
});
