import { beforeEach, describe, expect, it } from "vitest";
import { visitorWithRole } from "../../../support/access-world.ts";
import type { ConsolePage } from "../../../support/console-page.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { databaseOf } from "../../../support/homes.ts";
import { beginCounting } from "../../../support/usage.ts";
import { NOW, World } from "../../../support/world.ts";

/** The three steps on the overview of a new site. */

const TITLE = "Three steps to the first session";

beforeEach(beginCounting);

/** A new site as the console makes it: without agents and apps. */
async function newSite() {
  const world = await World.create({}, "apac");
  const { id } = await (await world.admin("POST", "/admin/sites", { name: "New", home: "apac" })).json<{
    id: number;
  }>();
  const site = `/console/sites/${id}`;
  return { world, id, site, visitor: await ConsoleVisitor.signedIn(world) };
}

/** The steps in their order: whether each is done, and where its link or button leads. */
const stepsOf = (page: ConsolePage) =>
  [...page.html.matchAll(/<li class="step">(.*?)<\/li>/gs)].map(([, html = ""]) => [
    html.includes(">Done<"),
    /href="([^"]*)"/.exec(html)?.[1],
    html.includes('class="button"'),
  ]);

describe("a new site", () => {
  it("the overview of a new site leads through agents, app and first call, and marks what is done", async () => {
    const { world, id, site, visitor } = await newSite();
    const empty = await visitor.open(site);
    expect([empty.text.includes(TITLE), stepsOf(empty)]).toEqual([
      true,
      [
        [false, `${site}/agents`, true],
        [false, `${site}/apps`, false],
        [false, undefined, false],
      ],
    ]);
    await world.admin("POST", `/admin/sites/${id}/agents`, { id: 7, name: "Li" });
    expect(stepsOf(await visitor.open(site))).toEqual([
      [true, `${site}/agents`, false],
      [false, `${site}/apps`, true],
      [false, undefined, false],
    ]);
    const app = await (await world.admin("POST", `/admin/sites/${id}/apps`, { name: "Shop" })).json<{
      appid: string;
    }>();
    const ready = await visitor.open(site);
    expect(stepsOf(ready)).toEqual([
      [true, `${site}/agents`, false],
      [true, `${site}/apps/${app.appid}`, false],
      [false, `${site}/apps/${app.appid}/test`, true],
    ]);
    const result = await visitor.press(await visitor.open(ready.link("Send a test call")), "Send a test call");
    expect(result.status).toBe(200);
    expect((await visitor.open(site)).text).not.toContain(TITLE);
  });

  it("a disabled agent and a revoked app are no done steps", async () => {
    const { world, id, site, visitor } = await newSite();
    await world.admin("POST", `/admin/sites/${id}/agents`, { id: 7, name: "Li" });
    await world.admin("PATCH", `/admin/sites/${id}/agents/7`, { status: "disabled" });
    const app = await (await world.admin("POST", `/admin/sites/${id}/apps`, { name: "Shop" })).json<{
      appid: string;
    }>();
    await world.admin("DELETE", `/admin/apps/${app.appid}`);
    expect(stepsOf(await visitor.open(site)).map(([isDone]) => isDone)).toEqual([false, false, false]);
  });

  it("a viewer sees the steps of a new site without the test call, which an operator sends", async () => {
    const world = await World.create({}, "apac");
    const visitor = await visitorWithRole(world, "viewer");
    const page = await visitor.open(`/console/sites/${world.siteId}`);
    expect(stepsOf(page).map(([isDone]) => isDone)).toEqual([true, true, false]);
    expect(() => page.link("Send a test call")).toThrow();
  });

  it.each([
    ["whose sessions were all deleted by its retention", { retention: 1, age: 2 }, false],
    ["that is younger than its retention", { retention: 3, age: 2 }, true],
    ["that keeps sessions for ever", { retention: null, age: 900 }, true],
  ] as const)(
    "the overview of a site without sessions shows the steps only if no session was: one %s",
    async (_, { retention, age }, isShown) => {
      const world = await World.create();
      const site = "UPDATE sites SET retention_days = ?, created_at = ? WHERE id = ?";
      await databaseOf("main")
        .prepare(site)
        .bind(retention, NOW - age * 86_400, world.siteId)
        .run();
      const visitor = await ConsoleVisitor.signedIn(world);
      expect((await visitor.open(`/console/sites/${world.siteId}`)).text.includes(TITLE)).toBe(isShown);
    },
  );

  it("the steps of a site do not come back while its accepted calls are counted, and refused ones leave them", async () => {
    const world = await World.create({}, "apac");
    const visitor = await ConsoleVisitor.signedIn(world);
    const add = (outcome: string) =>
      databaseOf("apac")
        .prepare(
          "INSERT INTO usage (site_id, appid, operation, outcome, secret, count, last_at, hour) VALUES (?, ?, 'create_session', ?, '', 1, ?, ?)",
        )
        .bind(world.siteId, world.appid, outcome, NOW, NOW - (NOW % 3_600))
        .run();
    const isShown = async () => (await visitor.open(`/console/sites/${world.siteId}`)).text.includes(TITLE);
    await add("fields_invalid");
    expect(await isShown()).toBe(true);
    await add("accepted");
    expect(await isShown()).toBe(false);
  });
});
