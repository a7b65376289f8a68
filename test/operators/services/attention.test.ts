import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { issueApp } from "../../../src/operators/services/apps.ts";
import { LIMIT_MS, readAttention } from "../../../src/operators/services/attention.ts";
import { readHealth } from "../../../src/operators/services/health.ts";
import { findSite, type Site } from "../../../src/operators/services/sites.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { downDb } from "../../support/down-db.ts";
import { databaseOf } from "../../support/homes.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import { replacing } from "../../support/replacing.ts";
import { contextAt } from "../../support/service-context.ts";
import { DAY } from "../../support/site-end.ts";
import { beginCounting } from "../../support/usage.ts";
import { NOW, type ReplacedBindings, World } from "../../support/world.ts";

const GONE = { status: "disabled", disabled_reason: "gone", disabled_at: NOW - 60 };

beforeEach(beginCounting);

const siteOf = (world: World) => findSite(contextAt(NOW), world);

async function start(home = "main") {
  const world = await World.create({}, home);
  return { world, site: await siteOf(world) };
}

/** Stores refused calls of a site. `ago` counts seconds back from the end of the last counted hour. */
async function refused(
  { siteId, home }: World,
  appid: string,
  rows: [ago: number, reason: string, count: number][],
): Promise<void> {
  const db = databaseOf(home);
  const until = await db.prepare("SELECT refusals_until FROM folds").first<number>("refusals_until");
  const end = (until ?? 0) - ((until ?? 0) % 3_600) + 3_600;
  const add = db.prepare("INSERT INTO usage VALUES (?, ?, 'create_session', ?, '', ?, ?, ?, NULL)");
  await db.batch(rows.map(([ago, reason, count]) => add.bind(siteId, appid, reason, count, end - ago, end - ago)));
}

const HOUR = 3_600;

async function attentionFor(sites: Site[], bindings: ReplacedBindings = {}) {
  const ctx = contextAt(NOW, bindings);
  return readAttention(ctx, sites, await readHealth(ctx, LIMIT_MS));
}

describe("webhooks", () => {
  it("a webhook needs attention when the Worker disabled it, or after it has failed for 5 minutes", async () => {
    const { world, site } = await start();
    const failing = await newWebhook(world, { failing_since: NOW - 300, last_status: 500, last_cause: "status" });
    const goneWebhook = await newWebhook(world, GONE);
    await newWebhook(world, { failing_since: NOW - 299 });
    await newWebhook(world, { status: "disabled", disabled_at: NOW });
    await newWebhook(world);
    const { webhooks } = await attentionFor([site]);
    const fields = { siteId: world.siteId, lastStatus: null, lastError: null, lastCause: null };
    expect(webhooks).toEqual([
      { ...fields, id: goneWebhook.id, url: goneWebhook.url, disabledReason: "gone", since: NOW - 60 },
      {
        ...fields,
        id: failing.id,
        url: failing.url,
        disabledReason: null,
        since: NOW - 300,
        lastStatus: 500,
        lastCause: "status",
      },
    ]);
  });
});

describe("overlaps", () => {
  it("what needs attention lists running overlaps, the first to end first, but none of a revoked app", async () => {
    const { world, site } = await start("apac");
    const db = databaseOf("apac");
    const overlap = (table: string, where: string, endsAt: number) =>
      db
        .prepare(`UPDATE ${table} SET previous_expires_at = ? WHERE site_id = ? AND ${where}`)
        .bind(endsAt, world.siteId);
    const { id, url } = await newWebhook(world);
    await overlap("apps", "1", NOW + 900).run();
    await overlap("webhooks", "1", NOW + 600).run();
    const read = async () => (await attentionFor([site])).overlaps;
    const { siteId, appid } = world;
    const [ofWebhook, ofApp] = await read();
    expect(ofWebhook).toEqual({ siteId, kind: "webhook", id, name: url, endsAt: NOW + 600 });
    expect(ofApp).toMatchObject({ siteId, kind: "app", id: appid, endsAt: NOW + 900 });
    await overlap("webhooks", "1", NOW).run();
    await db.prepare("UPDATE apps SET revoked_at = ? WHERE site_id = ?").bind(NOW, siteId).run();
    expect(await read()).toEqual([]);
  });
});

describe("a reason of refused calls", () => {
  it("a reason of refusals needs attention at 10 calls in 24 hours and twice the daily mean of the week before", async () => {
    const { world, site } = await start();
    // The calls of the last 24 hours, and those of the seven days before.
    const reasons: [reason: string, count: number, before: number][] = [
      ["timestamp_stale", 9, 0],
      ["timestamp_ahead", 10, 0],
      ["fields_invalid", 20, 70],
      ["agents_invalid", 20, 71],
      ["app_limit", 1_000, 7_000],
    ];
    for (const [reason, count, before] of reasons) {
      await refused(world, world.appid, [
        [HOUR, reason, count],
        [DAY + HOUR, reason, before],
      ]);
    }
    const { risen } = await attentionFor([site]);
    expect(risen.map(({ siteId, reason, count, daily }) => [siteId, reason, count, daily])).toEqual([
      [site.id, "fields_invalid", 20, 10],
      [site.id, "timestamp_ahead", 10, 0],
    ]);
  });

  it("the calls of one reason of refusal are summed over all hours and apps of the site", async () => {
    const { world, site } = await start();
    const { appid } = await issueApp(contextAt(NOW), { site, name: "Second" });
    await refused(world, world.appid, [
      [HOUR, "fields_invalid", 4],
      [DAY, "fields_invalid", 5],
      [DAY + HOUR, "fields_invalid", 7],
      [8 * DAY, "fields_invalid", 7],
      [8 * DAY + HOUR, "fields_invalid", 900],
      [HOUR, "app_limit", 12],
      [HOUR, "accepted", 5_000],
      [HOUR, "repeated", 5_000],
    ]);
    await refused(world, appid, [[2 * HOUR, "fields_invalid", 3]]);
    const { risen } = await attentionFor([site]);
    expect(risen.map(({ reason, count, daily }) => [reason, count, daily])).toEqual([
      ["app_limit", 12, 0],
      ["fields_invalid", 12, 2],
    ]);
  });
});

describe("the homes of the sites", () => {
  it("only the homes of the listed sites are asked what needs attention", async () => {
    const [main, apac] = [await start(), await start("apac")];
    const askedHomes = new Set<string>();
    const noting = (name: string, db: D1Database) =>
      replacing(db, {
        prepare: (sql: string) => {
          askedHomes.add(name);
          return db.prepare(sql);
        },
      });
    const bindings = { DB: noting("main", env.DB), HOME_APAC: noting("apac", env.HOME_APAC) };
    await readAttention(contextAt(NOW, bindings), [main.site, apac.site], { homes: {} });
    expect([...askedHomes].sort()).toEqual(["apac", "main"]);
    askedHomes.clear();
    await readAttention(contextAt(NOW, bindings), [apac.site], { homes: {} });
    expect([...askedHomes]).toEqual(["apac"]);
    askedHomes.clear();
    await readAttention(contextAt(NOW, bindings), [], { homes: {} });
    expect([...askedHomes]).toEqual([]);
  });

  it("what needs attention names a home that is down or not bound, and shows the other homes", async () => {
    const [main, apac] = [await start(), await start("apac")];
    for (const { world } of [main, apac]) await newWebhook(world, GONE);
    const read = (bindings: ReplacedBindings, apacSite = apac.site) => attentionFor([main.site, apacSite], bindings);
    const siteIds = ({ webhooks }: Awaited<ReturnType<typeof read>>) => webhooks.map(({ siteId }) => siteId);
    for (const [bindings, trouble] of [
      [{ HOME_APAC: downDb(env.HOME_APAC) }, "silent"],
      [{ HOME_APAC: env.UNMIGRATED }, "not_migrated"],
      [{ HOME_APAC: undefined }, "unbound"],
      [{ HOME_APAC: downDb(env.HOME_APAC), ...closedHomeVars("apac") }, "closed"],
    ] as const) {
      const attention = await read(bindings);
      expect([siteIds(attention), [...attention.homes]]).toEqual([[main.site.id], [["apac", trouble]]]);
      expect(attention.notCompared).toEqual([]);
    }
    const unfinished = await read({}, { ...apac.site, status: "creating" });
    expect([siteIds(unfinished), [...unfinished.homes]]).toEqual([[main.site.id], []]);
  });

  it("a closed home is still asked what needs attention", async () => {
    for (const home of ["main", "apac"]) {
      const { world, site } = await start(home);
      await newWebhook(world, GONE);
      const { webhooks, homes } = await attentionFor([site], closedHomeVars(home));
      expect([webhooks.map(({ siteId }) => siteId), [...homes]]).toEqual([[site.id], [[home, "closed"]]]);
    }
  });
});
