import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { closedHomeVars } from "../../../support/closed-home-vars.ts";
import { type ConsoleVisitor, start } from "../../../support/console-visitor.ts";
import { downDb } from "../../../support/down-db.ts";
import { roundsOfTimers } from "../../../support/fired-timers.ts";
import { databaseOf } from "../../../support/homes.ts";
import { newWebhook } from "../../../support/new-webhook.ts";
import { replacing } from "../../../support/replacing.ts";
import { pruneAt } from "../../../support/site-end.ts";
import { beginCounting, MAIN } from "../../../support/usage.ts";
import { withoutUsage } from "../../../support/without-usage.ts";
import { NOW, World } from "../../../support/world.ts";

/** The part "Needs attention" of the list of sites and of a site's overview. test/operators/services/attention.test.ts has its rules. */

beforeAll(beginCounting);

/** The list of sites with this one alone. */
const openList = (visitor: ConsoleVisitor, { siteId }: World) => visitor.open(`/console?q=${siteId}`);

/** In apac, so that a statement in the directory instead of the site's home finds nothing. */
describe("a site", () => {
  it("the overview of a site says in one line that nothing needs attention", async () => {
    const { visitor, site } = await start();
    expect((await visitor.open(site)).text).toContain("Nothing needs attention.");
  });

  it("a failing webhook is named with its last error, a link and the time, on the overview and in the list", async () => {
    const { world, visitor, site } = await start();
    const row = { failing_since: NOW - 600, last_status: 500, last_cause: "status" };
    const { id } = await newWebhook(world, row);
    for (const page of [await visitor.open(site), await openList(visitor, world)]) {
      expect(page.text).toContain("Webhook failing hooks.example.com The receiver answered 500");
      expect(page.text).toContain("10 min ago");
      expect(page.link("hooks.example.com")).toBe(`${site}/webhooks/${id}`);
    }
  });

  it("the overview of a site counts down to the end of an app's old secret", async () => {
    const { world, visitor, site } = await start();
    await databaseOf("apac")
      .prepare("UPDATE apps SET previous_expires_at = ? WHERE site_id = ?")
      .bind(NOW + 3_600, world.siteId)
      .run();
    const page = await visitor.open(site);
    expect(page.text).toContain("Old secret ends");
    expect(page.html).toContain(`data-until="${NOW + 3_600}"`);
  });
});

describe("many troubles", () => {
  it("the overview of a site counts its troubles and folds those after the fourth", async () => {
    const { world, visitor, site } = await start("main");
    for (let i = 0; i < 6; i++) await newWebhook(world, { failing_since: NOW - 300 - i });
    const page = await visitor.open(site);
    expect(page.text).toContain("Needs attention 6");
    expect(page.text).toContain("Show 2 more");
  });
});

describe("a home that fills", () => {
  it("a home that is nearly full is named in the list of sites with its share and date, and links to the homes", async () => {
    const { world, visitor } = await start("main");
    await pruneAt(NOW, {}, MAIN);
    const sized = (size: number) =>
      env.DB.prepare("UPDATE home_metrics SET gauges = json_set(gauges, '$.size', ?) WHERE home = 'main'")
        .bind(size)
        .run();
    await sized(7_100_000_000);
    const page = await visitor.through(world).open("/console");
    expect(page.text).toContain("Home fills main is 71% full");
    expect(page.link("main")).toBe("/console/homes");
    expect((await visitor.open(`/console/sites/${world.siteId}`)).text).toContain("Home fills main is 71% full");
    const otherWorld = await World.create({}, "apac");
    expect((await visitor.open(`/console/sites/${otherWorld.siteId}`)).text).not.toContain("Home fills");
    await sized(1_000_000);
    expect((await visitor.open("/console")).text).not.toContain("Home fills");
  });
});

describe("a home, while it is closed", () => {
  it("a closed home is named in the list and on its sites' overviews, and other troubles stay shown", async () => {
    const { world, visitor, site } = await start();
    await newWebhook(world, { failing_since: NOW - 600 });
    const owner = visitor.through(world.anotherIsolate(closedHomeVars("apac")));
    for (const page of [await openList(owner, world), await owner.open(site), await owner.open("/console")]) {
      expect(page.text).toContain("Home closed apac is closed: calls of its sites are answered 503");
      expect(page.text).toContain("Webhook failing");
    }
    expect((await openList(owner, world)).rows[0]).toContain("Home closed");
    expect((await owner.open(site)).html).not.toContain('class="badge good">Open');
  });
});

/** Wraps bindings to measure how many of their calls wait at the same time. */
function inFlight() {
  const counts = { now: 0, most: 0 };
  const watch = <Binding extends object>(binding: Binding): Binding =>
    new Proxy(binding, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          const result: unknown = value.apply(target, args);
          if (name === "prepare" || name === "bind") return watch(result as object);
          if (!(result instanceof Promise)) return result;
          counts.now += 1;
          counts.most = Math.max(counts.most, counts.now);
          return result.finally(() => {
            counts.now -= 1;
          });
        };
      },
    });
  return { most: () => counts.most, watch };
}

describe("a home that does not answer", () => {
  it("a silent home is named in the list, and the sites of other homes are judged", async () => {
    const { world, visitor } = await start();
    const other = await World.create();
    await newWebhook(other, { failing_since: NOW - 600 });
    for (const [HOME_APAC, words] of [
      [downDb(env.HOME_APAC), "No answer apac did not answer within a second"],
      [env.UNMIGRATED, "Not migrated apac lacks a migration of this release"],
      [undefined, "Not bound apac has no database"],
    ] as const) {
      const list = `/console?cursor=${world.siteId - 1}`;
      const page = await visitor.through(world.anotherIsolate({ HOME_APAC })).open(list);
      expect([page.status, page.text]).toEqual([200, expect.stringContaining(words)]);
      expect(page.text).toContain("Webhook failing");
    }
  });

  it.each(["the list of sites", "the overview of a site that is open", "the overview of a site that is closed"])(
    "a silent home delays %s by a second at most",
    async (page) => {
      const { world, visitor, site } = await start();
      const isList = page === "the list of sites";
      await world.admin("PATCH", `/admin/sites/${world.siteId}`, {
        status: page.endsWith("closed") ? "closed" : "open",
      });
      const never = () => new Promise(() => {});
      const silent = { all: never, raw: never, run: never };
      const prepare = () => ({ ...silent, bind: () => silent });
      const isolate = world.anotherIsolate({ HOME_APAC: replacing(env.HOME_APAC, { prepare }) });
      const rounds = roundsOfTimers();
      const { status, text } = await visitor.through(isolate).open(isList ? `/console?q=${world.siteId}` : site);
      expect([status, text]).toEqual([200, expect.stringContaining("No answer apac")]);
      expect(text.match(/could not be read/g) ?? []).toHaveLength(isList ? 0 : 5);
      const waits = rounds.filter((milliseconds) => milliseconds > 500);
      expect(waits).toEqual([expect.any(Number)]);
      expect(waits[0]).toBeLessThanOrEqual(1_000);
    },
  );

  it("a silent home makes no other home look down, because at most six calls wait at a time", async () => {
    const { world, visitor } = await start();
    await World.create();
    const { most, watch } = inFlight();
    const isolate = world.anotherIsolate({
      DB: watch(env.DB),
      HOME_APAC: watch(env.HOME_APAC),
      NONCES: watch(env.NONCES),
      CREDENTIALS: watch(env.CREDENTIALS),
      EVENTS: watch(env.EVENTS),
      JOURNAL: watch(env.JOURNAL),
    });
    const page = await visitor.through(isolate).open("/console");
    expect([page.status, page.text]).toEqual([200, expect.stringContaining("Sites")]);
    expect(most()).toBeGreaterThan(2);
    expect(most()).toBeLessThanOrEqual(6);
  });

  it("a home is not shown as silent when only its refused calls could not be read", async () => {
    const { world, visitor } = await start("main");
    const page = await openList(visitor.through(world.anotherIsolate({ DB: withoutUsage(env.DB) })), world);
    expect(page.text).toContain("Refused calls could not be compared with the week before.");
    expect(page.text).not.toContain("No answer");
  });
});
