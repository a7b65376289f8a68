import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { ConsolePage } from "../../../support/console-page.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { downDb } from "../../../support/down-db.ts";
import { newWebhook } from "../../../support/new-webhook.ts";
import { replacing } from "../../../support/replacing.ts";
import { NOW, World } from "../../../support/world.ts";

const GONE = { status: "disabled", disabled_reason: "gone", disabled_at: NOW };
const FAILING = { failing_since: NOW - 300 };
const BOTH = "Webhooks disabled: 2 Webhooks failing: 1";

/** Stores webhooks in each state. Two were disabled by the Worker, and one fails for five minutes. */
async function addWebhooks(world: World): Promise<void> {
  await newWebhook(world);
  await newWebhook(world, GONE);
  await newWebhook(world, { ...GONE, disabled_reason: "failing", failing_since: NOW - 500_000 });
  await newWebhook(world, { status: "disabled", disabled_at: NOW });
  await newWebhook(world, FAILING);
  await newWebhook(world, { failing_since: NOW - 299 });
}

/** The page of the list that begins with the site, and the status of its first site. */
const listed = (visitor: ConsoleVisitor, { siteId }: World) => visitor.open(`/console?cursor=${siteId - 1}`);
const statusIn = (page: ConsolePage) => page.rows[0]?.at(-2);

describe("webhooks in trouble", () => {
  it.each(["main", "apac"])("have badges beside a site of %s, with a link to the site's webhooks", async (home) => {
    const world = await World.create({}, home);
    const healthy = await World.create({}, home);
    const visitor = await ConsoleVisitor.signedIn(world);
    await newWebhook(healthy);
    expect(statusIn(await listed(visitor, world))).toBe("Open");
    await addWebhooks(world);
    const list = await listed(visitor, world);
    expect(list.rows.slice(0, 2).map((row) => row.at(-2))).toEqual([`Open ${BOTH}`, "Open"]);
    const site = `/console/sites/${world.siteId}`;
    const overview = await visitor.open(site);
    for (const page of [list, overview]) expect(page.link(BOTH)).toBe(`${site}/webhooks`);
    const webhooks = await visitor.open(overview.link(BOTH));
    expect(webhooks.rows.map(([, state]) => state).sort()).toEqual([
      "Disabled",
      "Disabled by the Worker",
      "Disabled by the Worker",
      "Enabled",
      "Failing since 15 Jan 2027, 07:55",
      "Failing since 15 Jan 2027, 07:55",
    ]);
    expect(webhooks.html.match(/class="badge bad"/g)).toHaveLength(3);
    expect((await visitor.open(`/console/sites/${healthy.siteId}`)).html).not.toContain('class="troubles"');
  });

  it("have one badge when they are of one kind", async () => {
    const world = await World.create();
    const visitor = await ConsoleVisitor.signedIn(world);
    await newWebhook(world, FAILING);
    expect(statusIn(await listed(visitor, world))).toBe("Open Webhooks failing: 1");
    const badge = await visitor.press(await visitor.open(`/console/sites/${world.siteId}`), "中文");
    expect(badge.link("推送失败的 Webhook：1")).toBe(`/console/sites/${world.siteId}/webhooks`);
  });

  it("are left out for a home that fails, was not migrated or is closed, and the list shows the others", async () => {
    const world = await World.create({}, "apac");
    const other = await World.create();
    const visitor = await ConsoleVisitor.signedIn(world);
    for (const each of [world, other]) await addWebhooks(each);
    for (const bindings of [
      { HOME_APAC: downDb(env.HOME_APAC) },
      { HOME_APAC: env.UNMIGRATED },
      { HOME_APAC: undefined },
      { CLOSED_HOMES: "apac" },
    ]) {
      const list = await listed(visitor.through(world.anotherIsolate(bindings)), world);
      expect([list.status, ...list.rows.slice(0, 2).map((row) => row.at(-2))]).toEqual([200, "Open", `Open ${BOTH}`]);
    }
  });

  it("delay the list by a second at most when a home does not answer", async () => {
    const world = await World.create({}, "apac");
    const other = await World.create();
    const visitor = await ConsoleVisitor.signedIn(world);
    for (const each of [world, other]) await addWebhooks(each);
    const silent = { all: () => new Promise(() => {}), raw: () => new Promise(() => {}) };
    const prepare = () => ({ ...silent, bind: () => silent });
    const isolate = world.anotherIsolate({ HOME_APAC: replacing(env.HOME_APAC, { prepare }) });
    const before = performance.now();
    const list = await listed(visitor.through(isolate), world);
    expect(list.rows.slice(0, 2).map((row) => row.at(-2))).toEqual(["Open", `Open ${BOTH}`]);
    expect(performance.now() - before).toBeLessThan(2_900);
  });
});
