import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { visitorWithRole } from "../../../support/access-world.ts";
import type { ConsolePage } from "../../../support/console-page.ts";
import { start } from "../../../support/console-visitor.ts";
import { DAY, pruneAt } from "../../../support/site-end.ts";
import { beginCounting } from "../../../support/usage.ts";
import { withoutUsage } from "../../../support/without-usage.ts";
import { NOW } from "../../../support/world.ts";

/**
 * What an app's page shows about its calls. NOW is 15 January 2027, 08:00 UTC. The sites are in another home than the directory, so
 * that a read of the wrong database finds nothing.
 */

describe("the page of an app", () => {
  beforeEach(beginCounting);

  it("the page of an app counts its calls of 14 days by day and by outcome, with a link to each reason", async () => {
    const { world, visitor, site, app } = await start();
    const key = { "idempotency-key": crypto.randomUUID() };
    await world.create({}, key);
    await world.create({}, key);
    await world.chatId();
    await world.create({ kefu_id: [99], fzr_uid: 99 });
    const answer = await world.admin("POST", `/admin/sites/${world.siteId}/apps`, {
      name: "Other",
      secret: "12345678",
    });
    const other = Object.assign(world.anotherIsolate(), await answer.json<{ appid: string; secret: string }>());
    await other.chatId();
    await pruneAt(NOW + 1_922);
    world.clock.now = NOW + 1_922;
    const page = await visitor.open(app);
    expect(page.text).toContain("Calls in 14 days 4 Sessions opened 2 Accepted 3 Refused 1");
    expect(page.html).toContain(
      '<title id="calls-title">Calls in the last 14 days: 4, of which 1 were refused.</title>',
    );
    expect(page.rows.slice(0, 2)).toEqual([
      ["15 Jan 2027, so far", "2", "4", "1"],
      ["14 Jan 2027", "0", "0", "0"],
    ]);
    expect(page.rows.slice(14)).toEqual([
      ["Accepted", "2"],
      ["An agent was unknown, foreign or disabled.", "1"],
      ["Accepted before, under the same Idempotency-Key", "1"],
    ]);
    const refusals = `${site}/refusals?appid=${world.appid}`;
    expect(page.link("An agent was unknown, foreign or disabled.")).toBe(`${refusals}&reason=agents_invalid`);
    expect(page.link("Refused calls of this app")).toBe(refusals);
    expect((await visitor.open(`${site}/apps/${other.appid}`)).rows.slice(14)).toEqual([["Accepted", "1"]]);
    expect((await visitor.open(`${app}/revoke`)).text).toContain("Last used 15 Jan 2027, 08:00");
  });

  it("the page of an app without calls says so", async () => {
    const { world, visitor, app } = await start();
    await pruneAt(NOW + 1_922);
    world.clock.now = NOW + 1_922;
    const page = await visitor.open(app);
    expect(page.text).toContain("No counted calls in the last 14 days.");
    expect(page.text).toContain("No network is known yet.");
    expect(page.rows).toEqual([]);
  });

  it("the page of an app shows from which networks each of its secrets was used, and when last, also to a viewer", async () => {
    const { world, visitor, app } = await start();
    const from = (address: string) => ({ "cf-connecting-ip": address });
    await world.create({}, from("203.0.113.7"));
    const rotated = await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: DAY });
    world.clock.now = NOW + 600;
    world.secret = (await rotated.json<{ secret: string }>()).secret;
    await world.create({}, from("2001:db8:4f::1"));
    await pruneAt(NOW + 2_522);
    world.clock.now = NOW + 2_522;
    const expected = [
      ["2001:db8:4f::/48", "The secret in use", "32 min ago"],
      ["203.0.113.0/24", "The old secret", "42 min ago"],
    ];
    const viewer = await visitorWithRole(world, "viewer");
    for (const who of [visitor, viewer]) expect((await who.open(app)).rows.slice(-2)).toEqual(expected);
    const chinese = await visitor.open(app, { "accept-language": "zh-CN" });
    expect(chinese.rows.slice(-2).map(([, secret]) => secret)).toEqual(["当前使用的密钥", "旧密钥"]);
    await visitor.press(await visitor.open(`${app}/rotate?overlap_seconds=0`), "Rotate now");
    const names = (await visitor.open(app)).rows.slice(-2).map(([, secret]) => secret);
    expect(names).toEqual(["A secret that has ended", "A secret that has ended"]);
  });

  it("the page of an app claims nothing about calls that are not counted yet or cannot be read", async () => {
    const { world, visitor, app } = await start();
    const muted = visitor.through(world.anotherIsolate({ HOME_APAC: withoutUsage(env.HOME_APAC) }));
    const unread = "This part could not be read. Try again in a moment.";
    const unreadPage = await muted.open(app);
    expect(unreadPage.text).toContain(`Calls Refused calls of this app ${unread}`);
    expect(unreadPage.text).toContain(`Where its secrets were used ${unread}`);
    await env.HOME_APAC.prepare("DELETE FROM folds").run();
    expect((await visitor.open(app)).text).toContain(
      "Calls Refused calls of this app Nothing is counted yet. Calls are counted half an hour after they came.",
    );
  });

  it("the page of an app has what is done first above the rotation, and the program folded below it until a language is chosen", async () => {
    const { world, visitor, app } = await start();
    const page = await visitor.open(app);
    const places = ["Send a test call", 'id="networks"', 'id="rotate"', 'id="code"'].map((text) =>
      page.html.indexOf(text),
    );
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places).not.toContain(-1);
    expect(page.link("Send a test call")).toBe(`${app}/test`);
    const isOpen = ({ html }: ConsolePage) => /<details[^>]* id="code"[^>]* open/.test(html);
    expect([isOpen(page), isOpen(await visitor.open(`${app}?code=go`))]).toEqual([false, true]);
    const viewer = await visitorWithRole(world, "viewer");
    const viewedPage = await viewer.open(app);
    expect([viewedPage.links.includes(`${app}/test`), viewedPage.html.includes('id="rotate"')]).toEqual([false, false]);
  });
});

describe("the list of apps", () => {
  it("on a phone, a row of apps says what each of its times is, and has no label without a value", async () => {
    const { world, visitor, site } = await start();
    await world.admin("POST", `/admin/sites/${world.siteId}/apps`, { name: "Other" });
    await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: DAY });
    const { html } = await visitor.open(`${site}/apps`);
    const labels = [...html.matchAll(/data-label="([^"]*)"/g)].map(([, label]) => label);
    const named = labels.filter((label) => label !== "Actions").sort();
    expect(named).toEqual(["Last used", "Last used", "Old one ends in"]);
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
