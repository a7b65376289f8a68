import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { auditOf } from "../../../support/audit-of.ts";
import { closedHomeVars } from "../../../support/closed-home-vars.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { Faults, faultyD1 } from "../../../support/faulty-bindings.ts";
import { World } from "../../../support/world.ts";

const routeOf = (appid: string) =>
  env.DB.prepare("SELECT site_id FROM app_routes WHERE appid = ?").bind(appid).first<number>("site_id");

/** A visitor, and an appid that was generated for a site whose home failed afterwards. */
async function start() {
  const world = await World.create({}, "apac");
  const visitor = await ConsoleVisitor.signedIn(world);
  const apps = `/console/sites/${world.siteId}/apps`;
  const faults = new Faults(({ name }) => (name === "DB.batch" ? "during" : undefined), "D1_ERROR: x");
  const brokenVisitor = visitor.through(world.anotherIsolate({ HOME_APAC: faultyD1(env.HOME_APAC, faults) }));
  const failedPage = await brokenVisitor.press(await brokenVisitor.open(apps), "Issue app", { Name: "Shop" });
  const [, appid = ""] = /The appid (\w{32}) is kept/.exec(failedPage.text) ?? [];
  return { world, visitor, apps, failedPage, appid };
}

describe("an appid reserved for a site without an app", () => {
  it("the error page of an unfinished app links to its appid's page, and the appid is in no list of apps", async () => {
    const { world, visitor, apps, failedPage, appid } = await start();
    expect([failedPage.status, failedPage.heading]).toEqual([503, "The app is not finished"]);
    expect(failedPage.link("To the page of this appid")).toBe(`${apps}/${appid}`);
    expect(await routeOf(appid)).toBe(world.siteId);
    const page = await visitor.open(`${apps}/${appid}`);
    expect([page.status, page.heading, page.notices]).toEqual([200, appid, ["This appid has no app"]]);
    const list = await visitor.open(apps);
    expect([list.status, list.text.includes(appid)]).toEqual([200, false]);
  });

  it("an appid without an app is released after a confirmation, and any site can get it", async () => {
    const { visitor, apps, appid } = await start();
    const page = await visitor.open(`${apps}/${appid}`);
    const question = await visitor.open(page.link("Release the appid…"));
    expect([question.heading, await routeOf(appid)]).toEqual(["Release this appid?", expect.any(Number)]);
    const donePage = await visitor.press(question, "Release the appid");
    expect([donePage.path.split("?")[0], donePage.notices]).toEqual([apps, ["The appid was released."]]);
    expect(await routeOf(appid)).toBeNull();
    expect((await auditOf(appid)).map(({ action }) => action)).toEqual(["app.routed", "app.released"]);
    const pageAgain = await visitor.press(question, "Release the appid");
    expect([pageAgain.notices, (await auditOf(appid)).length]).toEqual([["The appid was released."], 2]);
    expect((await visitor.open(`${apps}/${appid}`)).status).toBe(404);
  });

  it("an appid without an app gets its app from its own page", async () => {
    const { world, visitor, apps, appid } = await start();
    const madePage = await visitor.press(await visitor.open(`${apps}/${appid}`), "Issue app", { Name: "Shop" });
    expect([madePage.status, madePage.path.split("?")[0]]).toEqual([200, `${apps}/${appid}/secret`]);
    expect((await world.operated()).apps.map((app) => app.appid)).toContain(appid);
  });

  it("an appid is not released when its app was issued meanwhile, and the page says so", async () => {
    const { world, visitor, apps, appid } = await start();
    const question = await visitor.open(`${apps}/${appid}/release`);
    expect((await world.admin("POST", `/admin/sites/${world.siteId}/apps`, { name: "N", appid })).status).toBe(201);
    const releasedPage = await visitor.press(question, "Release the appid");
    expect([releasedPage.path.split("?")[0], releasedPage.notices]).toEqual([
      `${apps}/${appid}`,
      ["The appid was not released: somebody asked for it at this moment. Look whether it has an app now."],
    ]);
    expect(await routeOf(appid)).toBe(world.siteId);
    expect((await visitor.open(`${apps}/${appid}/release`)).path).toBe(`${apps}/${appid}`);
  });

  it("an appid cannot be released while its home is closed", async () => {
    const { world, visitor, apps, appid } = await start();
    const closedVisitor = visitor.through(world.anotherIsolate(closedHomeVars("apac")));
    const page = await closedVisitor.open(`${apps}/${appid}`);
    expect(page.text).toContain("The appid can be released as soon as no home of it is closed.");
    expect(page.text).not.toContain("Release the appid…");
    const question = await visitor.open(`${apps}/${appid}/release`);
    expect((await closedVisitor.press(question, "Release the appid")).status).toBe(503);
    expect(await routeOf(appid)).toBe(world.siteId);
  });
});
