import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { newWebhook } from "../../../support/new-webhook.ts";
import { pruneAt } from "../../../support/site-end.ts";
import { beginCounting } from "../../../support/usage.ts";
import { withoutUsage } from "../../../support/without-usage.ts";
import { NOW, World } from "../../../support/world.ts";

/** When apps and their old secrets were last used. NOW is 15 January 2027, 08:00 UTC. */

beforeEach(beginCounting);

async function start(home = "main") {
  const world = await World.create({}, home);
  const site = `/console/sites/${world.siteId}`;
  return { world, visitor: await ConsoleVisitor.signedIn(world), site, app: `${site}/apps/${world.appid}` };
}

/** Makes an overlap, and returns the new secret. */
async function rotate(world: World): Promise<string> {
  const answer = await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 86_400 });
  return (await answer.json<{ secret: string }>()).secret;
}

async function countUntil(world: World, until: number): Promise<void> {
  await pruneAt(until + 1_922);
  world.clock.now = until + 1_922;
}

describe.each(["main", "apac"])("an app of a site in %s", (home) => {
  it("shows when it was last used, in the list and on its page", async () => {
    const { world, visitor, site, app } = await start(home);
    const add = async (name: string) => {
      const answer = await world.admin("POST", `/admin/sites/${world.siteId}/apps`, { name });
      return (await answer.json<{ appid: string }>()).appid;
    };
    const silent = await add("Silent");
    await world.chatId();
    world.clock.now = NOW + 120;
    await world.chatId();
    await countUntil(world, NOW + 120);
    const young = await add("Young");
    const list = await visitor.open(`${site}/apps`);
    const lastOf = (id: string) => list.rows.find((cells) => cells.includes(id))?.[3];
    expect([world.appid, silent, young].map(lastOf)).toEqual(["32 min ago", "No counted call", "Not counted yet"]);
    expect(list.html).toContain('title="15 Jan 2027, 08:02:00"');
    const known = "Last uses are known up to 15 Jan 2027, 08:02: calls are counted half an hour after they came.";
    expect(list.text).toContain(known);
    expect((await visitor.open(app)).text).toContain(`Last used 15 Jan 2027, 08:02 ${known}`);
  });

  it("is not called unused while its calls of the last half hour are not counted", async () => {
    const { world, visitor, site, app } = await start(home);
    await world.chatId();
    world.clock.now = NOW + 300;
    const claims = /Never|No calls|No counted/;
    for (const path of [app, `${app}/revoke`, `${site}/apps`, site]) {
      const { text } = await visitor.open(path);
      expect([path, text.includes("Not counted yet"), claims.test(text)]).toEqual([path, true, false]);
    }
  });

  it("keeps the time of its last use when it is revoked", async () => {
    const { world, visitor, app } = await start(home);
    await world.chatId();
    await countUntil(world, NOW);
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    expect((await visitor.open(app)).text).toContain("Last used 15 Jan 2027, 08:00");
  });
});

describe.each(["main", "apac"])("the page that ends an overlap in %s", (home) => {
  it("says when the old secret was last used, and how far that is known; calls with the new one change nothing", async () => {
    const { world, visitor, app } = await start(home);
    const next = await rotate(world);
    await world.chatId();
    world.secret = next;
    world.clock.now = NOW + 600;
    await world.chatId();
    await countUntil(world, NOW + 600);
    const used = "The old secret was last used on 15 Jan 2027, 08:00, as far as is counted.";
    const counted = "Counted up to 15 Jan 2027, 08:10: later calls are not known yet.";
    for (const path of ["end-overlap", "rotate?overlap_seconds=0", "rotate?overlap_seconds=3600&ends=previous"]) {
      const page = await visitor.open(`${app}/${path}`);
      expect(page.text).toContain(`Last use of the old secret ${used} ${counted}`);
    }
    const page = await visitor.open(app);
    expect([page.text.includes(used), page.text.includes("Last used 15 Jan 2027, 08:10")]).toEqual([true, true]);
    // The old secret goes on: there is nothing to end.
    expect((await visitor.open(`${app}/rotate?overlap_seconds=3600&ends=current`)).text).not.toContain("Last use of");
  });

  it("says that no counted call has used it, and that later ones are not known", async () => {
    const { world, visitor, app } = await start(home);
    world.secret = await rotate(world);
    await world.chatId();
    await countUntil(world, NOW);
    expect((await visitor.open(`${app}/end-overlap`)).text).toContain(
      "It is not known whether the old secret is still used: no counted call has used it. Counted up to 15 Jan 2027, 08:00: later calls are not known yet.",
    );
  });
});

describe("the page that ends an overlap", () => {
  it("does not claim to know before calls are counted, or when they cannot be read, and the secret can be ended", async () => {
    const { world, visitor, app } = await start();
    await rotate(world);
    await env.DB.prepare("DELETE FROM folds").run();
    const early = await visitor.open(`${app}/end-overlap`);
    expect(early.text).toContain("It is not known whether the old secret is still used: no counted call has used it.");
    const muted = await visitor.through(world.anotherIsolate({ DB: withoutUsage(env.DB) })).open(`${app}/end-overlap`);
    expect(muted.text).toContain("When the old secret was last used could not be read. Try again in a moment.");
    expect((await visitor.press(muted, "The old secret stops now")).notices).toEqual(["The old secret has stopped."]);
  });

  it("says nothing of it for a webhook, whose receiver alone uses the secret", async () => {
    const { world, visitor, site } = await start();
    const { id } = await newWebhook(world);
    await world.admin("POST", `/admin/sites/${world.siteId}/webhooks/${id}/rotate`, { overlap_seconds: 86_400 });
    const page = await visitor.open(`${site}/webhooks/${id}/end-overlap`);
    expect([page.heading, page.text.includes("Last use of")]).toEqual(["Stop the old secret now?", false]);
  });

  it("is in Chinese for a reader of Chinese", async () => {
    const { world, visitor, app } = await start();
    await rotate(world);
    await world.chatId();
    await countUntil(world, NOW);
    const page = await visitor.open(`${app}/end-overlap`, { "accept-language": "zh-CN" });
    expect(page.text).toContain("旧密钥最近使用 据已统计的调用，旧密钥最近于 2027年1月15日 08:00 使用。");
  });
});
