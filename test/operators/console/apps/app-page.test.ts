import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { start } from "../../../support/console-visitor.ts";
import { pruneAt } from "../../../support/site-end.ts";
import { beginCounting } from "../../../support/usage.ts";
import { withoutUsage } from "../../../support/without-usage.ts";
import { NOW } from "../../../support/world.ts";

/**
 * What an app's page shows about its calls. NOW is 15 January 2027, 08:00 UTC. The sites are in another home than the directory, so
 * that a read of the wrong database finds nothing.
 */

describe("the page of an app", () => {
  beforeAll(beginCounting);

  it("the page of an app counts its calls of 14 days, with a link to each reason, and shows its last use", async () => {
    const { world, visitor, site, app } = await start();
    await world.chatId();
    await world.chatId();
    await world.create({ kefu_id: [99], fzr_uid: 99 });
    await pruneAt(NOW + 1_922);
    world.clock.now = NOW + 1_922;
    const page = await visitor.open(app);
    expect(page.text).toContain(
      "Counted calls in 14 days 2 accepted, 1 refused 1 × An agent was unknown, foreign or disabled.",
    );
    const refusals = `${site}/refusals?appid=${world.appid}`;
    expect(page.link("An agent was unknown, foreign or disabled.")).toBe(`${refusals}&reason=agents_invalid`);
    expect(page.link("Refused calls of this app")).toBe(refusals);
    const other = await world.admin("POST", `/admin/sites/${world.siteId}/apps`, { name: "Unused" });
    const { appid } = await other.json<{ appid: string }>();
    expect((await visitor.open(`${site}/apps/${appid}`)).text).toContain(
      "Counted calls in 14 days 0 accepted, 0 refused",
    );
    expect((await visitor.open(`${app}/revoke`)).text).toContain("Last used 15 Jan 2027, 08:00");
  });

  it("the page of an app claims nothing about calls that are not counted yet or cannot be read", async () => {
    const { world, visitor, app } = await start();
    const muted = visitor.through(world.anotherIsolate({ HOME_APAC: withoutUsage(env.HOME_APAC) }));
    expect((await muted.open(app)).text).toContain("Counted calls in 14 days – Refused calls of this app");
    await env.HOME_APAC.prepare("DELETE FROM folds").run();
    expect((await visitor.open(app)).text).toContain("Counted calls in 14 days – Refused calls of this app");
  });
});

describe("the menu of an app", () => {
  it("the menu of an app links to its actions, and for a revoked app only to its refused calls", async () => {
    const { world, visitor, site, app } = await start();
    const list = await visitor.open(`${site}/apps`);
    const hrefs = () => [`${app}/test`, `${app}#rotate`, `${app}/revoke`];
    for (const href of hrefs()) expect(list.links).toContain(href);
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    const revokedPage = await visitor.open(`${site}/apps`);
    for (const href of hrefs()) expect(revokedPage.links).not.toContain(href);
    expect(revokedPage.links).toContain(`${site}/refusals?appid=${world.appid}`);
  });
});
