import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { findSite } from "../../src/services/sites.ts";
import { webhookTroubles } from "../../src/services/webhooks.ts";
import { downDb } from "../support/down-db.ts";
import { newWebhook } from "../support/new-webhook.ts";
import { replacing } from "../support/replacing.ts";
import { contextAt } from "../support/service-context.ts";
import { NOW, World } from "../support/world.ts";

const GONE = { status: "disabled", disabled_reason: "gone" };

/** A site in each home: `main` has one disabled and two failing webhooks, `apac` one disabled. */
async function start() {
  const [main, apac, well] = [await World.create({}), await World.create({}, "apac"), await World.create({})];
  for (const row of [
    { ...GONE, failing_since: 5 },
    { failing_since: NOW - 300 },
    { failing_since: 5 },
    { failing_since: NOW - 299 },
    { status: "disabled", failing_since: 5 },
    {},
  ])
    await newWebhook(main, row);
  await newWebhook(apac, GONE);
  await newWebhook(well);
  const sites = await Promise.all([main, apac, well].map((world) => findSite(contextAt(NOW), world)));
  return { main: main.siteId, apac: apac.siteId, sites };
}

describe("the troubles of the webhooks of several sites", () => {
  it("count those that the Worker disabled, and those that fail for 5 minutes", async () => {
    const { main, apac, sites } = await start();
    expect(await webhookTroubles(contextAt(NOW), sites)).toEqual(
      new Map([
        [main, { disabled: 1, failing: 2 }],
        [apac, { disabled: 1, failing: 0 }],
      ]),
    );
    expect(await webhookTroubles(contextAt(NOW), sites.slice(1))).toEqual(
      new Map([[apac, { disabled: 1, failing: 0 }]]),
    );
  });

  it("ask each home of the sites once, and no other home", async () => {
    const { sites } = await start();
    const asked: string[] = [];
    const noting = (name: string, db: D1Database) =>
      replacing(db, {
        prepare: (sql: string) => {
          asked.push(name);
          return db.prepare(sql);
        },
      });
    const bindings = { DB: noting("main", env.DB), HOME_APAC: noting("apac", env.HOME_APAC) };
    await webhookTroubles(contextAt(NOW, bindings), sites);
    expect(asked.sort()).toEqual(["apac", "main"]);
    asked.length = 0;
    await webhookTroubles(contextAt(NOW, bindings), sites.slice(0, 1));
    expect(asked).toEqual(["main"]);
    await webhookTroubles(contextAt(NOW, bindings), []);
    expect(asked).toEqual(["main"]);
  });

  it("leave out a home that does not answer, is closed or is not bound, and a site that its home does not have yet", async () => {
    const { main, apac, sites } = await start();
    const ofMain = new Map([[main, { disabled: 1, failing: 2 }]]);
    const ofApac = new Map([[apac, { disabled: 1, failing: 0 }]]);
    expect(await webhookTroubles(contextAt(NOW, { HOME_APAC: downDb(env.HOME_APAC) }), sites)).toEqual(ofMain);
    expect(await webhookTroubles(contextAt(NOW, { CLOSED_HOMES: "main" }), sites)).toEqual(ofApac);
    const unbound = sites.map((site) => (site.home === "apac" ? { ...site, home: "gone" } : site));
    expect(await webhookTroubles(contextAt(NOW), unbound)).toEqual(ofMain);
    const unfinished = sites.map((site) => (site.id === main ? { ...site, status: "creating" as const } : site));
    expect(await webhookTroubles(contextAt(NOW), unfinished)).toEqual(ofApac);
  });
});
