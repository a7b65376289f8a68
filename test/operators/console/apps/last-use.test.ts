import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import type { ConsolePage } from "../../../support/console-page.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { newWebhook } from "../../../support/new-webhook.ts";
import { pruneAt } from "../../../support/site-end.ts";
import { beginCounting } from "../../../support/usage.ts";
import { withoutUsage } from "../../../support/without-usage.ts";
import { NOW, World } from "../../../support/world.ts";

/**
 * When apps and their old secrets were last used. NOW is 15 January 2027, 08:00 UTC. The sites are in another home than the directory,
 * so that a read of the wrong database finds nothing.
 */

const HOME = "apac";
const pathOf = ({ siteId, appid }: World) => `/console/sites/${siteId}/apps/${appid}`;

/** Rotates with an overlap. @returns the new secret */
async function rotate(world: World): Promise<string> {
  const answer = await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 86_400 });
  return (await answer.json<{ secret: string }>()).secret;
}

let world: World;
let visitor: ConsoleVisitor;
let site: string;
/** `used`: the old secret made a call, and then the new one. `unused`: only the new secret made calls. */
let used: World;
let unused: World;
let silent: string;
let young: string;
let uncountedPages: [path: string, ConsolePage][];

// Calls come at NOW, 120 and 600 seconds later. Then all are counted.
beforeAll(async () => {
  await beginCounting();
  [world, used, unused] = [await World.create({}, HOME), await World.create({}, HOME), await World.create({}, HOME)];
  visitor = await ConsoleVisitor.signedIn(world);
  site = `/console/sites/${world.siteId}`;
  const add = async (name: string) => {
    const answer = await world.admin("POST", `/admin/sites/${world.siteId}/apps`, { name });
    return (await answer.json<{ appid: string }>()).appid;
  };
  await world.chatId();
  await used.chatId();
  world.clock.now = NOW + 120;
  await world.chatId();
  uncountedPages = [];
  for (const path of [pathOf(world), `${pathOf(world)}/revoke`, `${site}/apps`, site]) {
    uncountedPages.push([path, await visitor.open(path)]);
  }
  silent = await add("Silent");
  for (const each of [used, unused]) {
    each.secret = await rotate(each);
    each.clock.now = NOW + 600;
    await each.chatId();
  }
  await pruneAt(NOW + 2_522);
  world.clock.now = NOW + 2_522;
  young = await add("Young");
});

describe("an app", () => {
  it("an app is not described as unused while its calls of the last half hour are not counted", () => {
    const claims = /Never|No calls|No counted/;
    for (const [path, { text }] of uncountedPages) {
      expect([path, text.includes("Not counted yet"), claims.test(text)]).toEqual([path, true, false]);
    }
  });

  it("the list of apps and the page of an app show when the app was last used", async () => {
    const list = await visitor.open(`${site}/apps`);
    const lastOf = (id: string) => list.rows.find((cells) => cells.includes(id))?.[3];
    expect([world.appid, silent, young].map(lastOf)).toEqual(["40 min ago", "No counted call", "Not counted yet"]);
    expect(list.html).toContain('title="15 Jan 2027, 08:02:00"');
    const knownText = "Last uses are known up to 15 Jan 2027, 08:10: calls are counted half an hour after they came.";
    expect(list.text).toContain(knownText);
    expect((await visitor.open(pathOf(world))).text).toContain(`Last used 15 Jan 2027, 08:02 ${knownText}`);
  });

  it("a revoked app keeps the time of its last use", async () => {
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    expect((await visitor.open(pathOf(world))).text).toContain("Last used 15 Jan 2027, 08:02");
  });
});

describe("the page that ends an overlap", () => {
  it("the page that ends a secret's overlap shows when the old secret was last used, and up to when calls are counted", async () => {
    const app = pathOf(used);
    const text = "The old secret was last used on 15 Jan 2027, 08:00, as far as is counted.";
    const countedText = "Counted up to 15 Jan 2027, 08:10: later calls are not known yet.";
    for (const path of ["end-overlap", "rotate?overlap_seconds=0", "rotate?overlap_seconds=3600&ends=previous"]) {
      const page = await visitor.open(`${app}/${path}`);
      expect(page.text).toContain(`Last use of the old secret ${text} ${countedText}`);
    }
    const page = await visitor.open(app);
    expect([page.text.includes(text), page.text.includes("Last used 15 Jan 2027, 08:10")]).toEqual([true, true]);
    const chinese = await visitor.open(`${app}/end-overlap`, { "accept-language": "zh-CN" });
    expect(chinese.text).toContain("旧密钥最近使用 据已统计的调用，旧密钥最近于 2027年1月15日 08:00 使用。");
    // With ends=current the old secret goes on, so the page does not show its last use.
    expect((await visitor.open(`${app}/rotate?overlap_seconds=3600&ends=current`)).text).not.toContain("Last use of");
  });

  it("the page that ends a secret's overlap says when no counted call has used the old secret", async () => {
    expect((await visitor.open(`${pathOf(unused)}/end-overlap`)).text).toContain(
      "It is not known whether the old secret is still used: no counted call has used it. Counted up to 15 Jan 2027, 08:10: later calls are not known yet.",
    );
  });

  it("the page that ends a webhook's overlap says nothing about the last use of the old secret", async () => {
    const { id } = await newWebhook(world);
    await world.admin("POST", `/admin/sites/${world.siteId}/webhooks/${id}/rotate`, { overlap_seconds: 86_400 });
    const page = await visitor.open(`${site}/webhooks/${id}/end-overlap`);
    expect([page.heading, page.text.includes("Last use of")]).toEqual(["Stop the old secret now?", false]);
  });

  it("the page that ends a secret's overlap claims no last use when calls are not counted or cannot be read", async () => {
    const path = `${pathOf(unused)}/end-overlap`;
    const muted = await visitor.through(world.anotherIsolate({ HOME_APAC: withoutUsage(env.HOME_APAC) })).open(path);
    expect(muted.text).toContain("When the old secret was last used could not be read. Try again in a moment.");
    for (const db of [env.DB, env.HOME_APAC]) await db.prepare("DELETE FROM folds").run();
    const early = await visitor.open(path);
    expect(early.text).toContain("It is not known whether the old secret is still used: no counted call has used it.");
    expect(early.text).not.toContain("Counted up to");
    expect((await visitor.press(muted, "The old secret stops now")).notices).toEqual(["The old secret has stopped."]);
  });
});
