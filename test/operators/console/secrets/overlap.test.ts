import { beforeAll, describe, expect, it } from "vitest";
import { type ConsoleVisitor, start } from "../../../support/console-visitor.ts";
import { beginCounting } from "../../../support/usage.ts";
import { NOW, type World } from "../../../support/world.ts";

/** Changing a secret without an outage: the console shows the next step and offers to end the old secret. */

const STOP = "The old secret stops now…";

const rotate = (world: World) => world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 86_400 });

beforeAll(beginCounting);

describe("a secret of an app", () => {
  it("a secret is changed on four pages: rotate, copy the new one, check the last use of the old one, end the old one", async () => {
    const { world, visitor, site, app } = await start();
    expect((await visitor.open(`${app}/end-overlap`)).path).toBe(app);
    const before = await visitor.open(app);
    expect(before.text).toContain("Rotate with an overlap: both secrets work.");
    const rotatedPage = await visitor.press(before, "Rotate");
    expect((await visitor.press(before, "Rotate")).path).toBe(rotatedPage.path);
    expect(rotatedPage.text).toContain("Two secrets work now");
    expect(rotatedPage.html).toMatch(new RegExp(`data-until="${NOW + 86_400}"[^>]*>\\(24:00:00\\)`));
    expect(rotatedPage.text).toContain("Put the new secret wherever the old one is used.");
    const old = world.secret;
    world.secret = rotatedPage.code("secret");
    const page = await visitor.open(rotatedPage.link("I have saved it"));
    expect(page.html).not.toContain(world.secret);
    expect(page.text).toContain("Half an hour later, see on this page that the old one is not used any more.");
    expect(page.text).toContain("Its last use");
    const askPage = await visitor.open(page.link(STOP));
    expect(askPage.heading).toBe("Stop the old secret now?");
    expect(askPage.text).toContain(
      "The old secret Stops at once. Otherwise it works until 16 Jan 2027, 08:00. Last use of the old secret",
    );
    expect(askPage.text).toContain("The secret in use Goes on working.");
    for (const secret of [old, world.secret]) {
      const { status } = await Object.assign(world.anotherIsolate(), { secret }).create();
      expect(status).toBe(200);
    }
    const stoppedPage = await visitor.press(askPage, "The old secret stops now");
    expect(stoppedPage.notices).toEqual(["The old secret has stopped."]);
    expect(stoppedPage.text).not.toContain("Two secrets work now");
    expect((await visitor.open(`${site}/audit`)).text).toContain("Old secret ended");
    expect((await world.create()).status).toBe(200);
    world.secret = old;
    expect((await world.create()).status).toBe(401);
  });
});

describe("the old secret", () => {
  it("the old secret can be ended from the page of the new one, from the app's page and from the list of apps", async () => {
    const { world, visitor, site, app } = await start();
    const rotatedPage = await visitor.press(await visitor.open(app), "Rotate");
    const list = await visitor.open(`${site}/apps`);
    expect(list.rows.find(([name]) => name !== undefined)?.join(" ")).toContain("(24:00:00)");
    const links = [
      rotatedPage.link(STOP),
      (await visitor.open(app)).link(STOP),
      list.link(`${STOP} ${(await nameOf(world)) ?? ""}`),
    ];
    expect(links).toEqual([1, 2, 3].map(() => `${app}/end-overlap`));
  });

  it("the console does not offer to end an old secret when there is none, or for a revoked app", async () => {
    const { world, visitor, site, app } = await start();
    const expectAbsent = async (who: ConsoleVisitor) => {
      for (const path of [app, `${site}/apps`]) expect((await who.open(path)).html).not.toContain("/end-overlap");
    };
    await expectAbsent(visitor);
    await rotate(world);
    expect((await visitor.open(app)).html).toContain("/end-overlap");
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    await expectAbsent(visitor);
  });
});

const nameOf = async (world: World) => {
  const answer = await world.admin("GET", `/admin/sites/${world.siteId}/apps`);
  return (await answer.json<{ items: { name: string }[] }>()).items[0]?.name;
};
