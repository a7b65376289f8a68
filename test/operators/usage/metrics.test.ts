import { env } from "cloudflare:workers";
import { drizzle } from "drizzle-orm/d1";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { keepCanary } from "../../../src/operators/services/master-key.ts";
import { writeMetrics } from "../../../src/operators/store/usage/directory-metrics.ts";
import { readMetrics } from "../../../src/operators/store/usage/home-metrics.ts";
import { call, problem } from "../../support/admin-calls.ts";
import { countingDb } from "../../support/counting-db.ts";
import { DeliveringWorker, setDeliveries, setWebhook } from "../../support/deliveries.ts";
import { downDb } from "../../support/down-db.ts";
import { databaseOf } from "../../support/homes.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import { replacing } from "../../support/replacing.ts";
import { contextAt } from "../../support/service-context.ts";
import { pruneAt } from "../../support/site-end.ts";
import { bookmarkDatabase } from "../../support/time-travel.ts";
import { beginCounting, COUNTED, MAIN, scrape } from "../../support/usage.ts";
import { NOW, World } from "../../support/world.ts";

beforeEach(beginCounting);

const textOf = async (world: World, query = "") => {
  const { status, headers, body } = await call(world, "GET", `/admin/metrics${query}`);
  expect([status, headers.get("content-type")]).toEqual([
    200,
    "application/openmetrics-text; version=1.0.0; charset=utf-8",
  ]);
  return String(body);
};

describe("GET /admin/metrics: the metrics", () => {
  it("the metrics are OpenMetrics: type and help before the samples, no series twice, and # EOF last", async () => {
    const world = await World.create();
    await newWebhook(world);
    await world.chatId();
    await pruneAt(COUNTED, {}, MAIN);
    for (const query of ["", "?by=site"]) {
      const text = await textOf(world, query);
      const lines = text.split("\n");
      expect(lines.slice(-2)).toEqual(["# EOF", ""]);
      const names = lines.filter((line) => line.startsWith("# TYPE")).map((line) => line.split(" ")[2]);
      expect(new Set(names).size).toBe(names.length);
      const series = lines.filter((line) => !line.startsWith("#") && line !== "").map((line) => line.split(" ")[0]);
      expect(new Set(series).size).toBe(series.length);
    }
  });

  it("the metrics refuse an unknown query and name it", async () => {
    const world = await World.create();
    expect(await call(world, "GET", "/admin/metrics?by=app")).toMatchObject(
      problem(400, "Invalid input", [{ field: "by", message: "must be site" }]),
    );
    expect(await call(world, "GET", "/admin/metrics?site=1")).toMatchObject({ status: 400 });
  });

  it("the metrics count calls, refusals, events and attempts, and show the state of the homes", async () => {
    // The first run of the cron begins the counting.
    await env.HOME_APAC.exec("DELETE FROM folds");
    await pruneAt(NOW);
    const world = await World.create({}, "apac");
    const [well, ill, off] = [await newWebhook(world), await newWebhook(world), await newWebhook(world)];
    const delivering = new DeliveringWorker();
    delivering.receiver = ({ url }) => new Response("", { status: url.endsWith(ill.id) ? 500 : 200 });
    const chat = await world.chatId();
    await world.add(chat);
    await delivering.deliver(well, ill);
    await setWebhook(off, "status = 'disabled'");
    for (let i = 0; i < 2; i++) {
      const closedWorld = await World.create({}, "apac");
      await call(closedWorld, "PATCH", `/admin/sites/${closedWorld.siteId}`, { status: "closed" });
    }
    const before = await scrape(world);
    await pruneAt(COUNTED);
    const after = await scrape(world);
    // Other tests have left some rows in these databases.
    const more = (name: string) => Number(after[name]) - Number(before[name]);
    expect(more('agent_session_home_deliveries{home="apac",status="pending"}')).toBe(4);
    expect(more('agent_session_home_webhooks{home="apac",state="failing"}')).toBe(1);
    expect(more('agent_session_home_webhooks{home="apac",state="disabled"}')).toBe(1);
    expect(more('agent_session_home_sites{home="apac",status="open"}')).toBe(1);
    expect(more('agent_session_home_sites{home="apac",status="closed"}')).toBe(2);
    expect(after).toMatchObject({
      'agent_session_calls_total{operation="create_gd",outcome="ok"}': 1,
      'agent_session_calls_total{operation="add_kf",outcome="ok"}': 1,
      'agent_session_events_total{type="session.created"}': 1,
      'agent_session_events_total{type="session.agents_added"}': 1,
      'agent_session_delivery_attempts_total{outcome="delivered"}': 2,
      'agent_session_delivery_attempts_total{outcome="failed"}': 2,
      'agent_session_home_prune_lag_seconds{home="apac"}': 0,
      'agent_session_home_observed_timestamp_seconds{home="apac"}': COUNTED,
      'agent_session_home_usage_complete_timestamp_seconds{home="apac"}': NOW,
    });
    expect(await scrape(world, "?by=site")).toMatchObject({
      'agent_session_delivery_attempts_total{outcome="failed"}': 2,
    });
    const oldest = 'agent_session_home_oldest_pending_delivery_age_seconds{home="apac"}';
    expect(after[oldest]).toBeGreaterThanOrEqual(COUNTED - NOW);
    expect(after['agent_session_home_size_bytes{home="apac"}']).toBeGreaterThan(10_000);
    await setDeliveries(ill, "status = 'failed', next_attempt_at = NULL");
    await pruneAt(COUNTED + 300);
    const later = await scrape(world);
    for (const [status, by] of [
      ["pending", -2],
      ["failed", 2],
    ] as const) {
      const name = `agent_session_home_deliveries{home="apac",status="${status}"}`;
      expect([status, Number(later[name]) - Number(after[name])]).toEqual([status, by]);
    }
  });

  it("the metrics have an age of 0 for the oldest pending delivery in a home without pending ones", async () => {
    const world = await World.create({}, "apac");
    await newWebhook(world);
    await world.chatId();
    const db = databaseOf("apac");
    await db.prepare("UPDATE deliveries SET status = 'failed', next_attempt_at = NULL WHERE status = 'pending'").run();
    await pruneAt(COUNTED);
    const oldest = 'agent_session_home_oldest_pending_delivery_age_seconds{home="apac"}';
    expect((await scrape(world))[oldest]).toBe(0);
  });

  it("the metrics count a delivery's result once when it is recorded twice", async () => {
    const world = await World.create();
    const webhook = await newWebhook(world);
    await world.chatId();
    let tries = 0;
    const losing = replacing(env.DB, {
      batch: async (statements: D1PreparedStatement[]) => {
        const results = await env.DB.batch(statements);
        if (tries++ % 2 === 0) throw new Error("D1_ERROR: Network connection lost.");
        return results;
      },
    });
    await new DeliveringWorker({ DB: losing }).deliver(webhook);
    await pruneAt(COUNTED, {}, MAIN);
    expect(await scrape(world)).toMatchObject({ 'agent_session_delivery_attempts_total{outcome="delivered"}': 1 });
    expect(tries).toBeGreaterThan(2);
  });

  it("the metrics count all events since the last run, however many one site has", async () => {
    const [world, other] = [await World.create(), await World.create()];
    const insert = ({ siteId }: World, from: number, to: number) =>
      env.DB.prepare(
        `WITH RECURSIVE n(i) AS (SELECT ? UNION ALL SELECT i + 1 FROM n WHERE i < ?)
         INSERT INTO events (site_id, seq, id, type, created_at) SELECT ?, i, 'evt_' || i, 'ping', ? FROM n`,
      )
        .bind(from, to, siteId, NOW)
        .run();
    const pings = async () => (await scrape(world))['agent_session_events_total{type="ping"}'];
    await insert(world, 1, 1_500);
    await insert(other, 1, 1);
    await pruneAt(COUNTED, {}, MAIN);
    expect(await pings()).toBe(1_501);
    // After a restore, new seqs begin higher.
    await insert(world, 1_000_001, 1_000_003);
    for (let run = 0; run < 2; run++) await pruneAt(COUNTED, {}, MAIN);
    expect(await pings()).toBe(1_504);
  });

  it("the metrics have the labels site and app only with by=site, and then the same sums", async () => {
    const [world, other] = [await World.create({}, "apac"), await World.create()];
    for (const each of [world, world, other]) await each.chatId();
    await pruneAt(COUNTED);
    const ok = 'operation="create_gd",outcome="ok"}';
    expect(await scrape(world)).toMatchObject({ [`agent_session_calls_total{${ok}`]: 3 });
    expect(await textOf(world)).not.toMatch(/site="|app="/);
    const sampleName = ({ siteId, appid }: World) => `agent_session_calls_total{site="${siteId}",app="${appid}",${ok}`;
    expect(await scrape(world, "?by=site")).toMatchObject({ [sampleName(world)]: 2, [sampleName(other)]: 1 });
  });

  it("the metrics contain no text of a person", async () => {
    const world = await World.create();
    const MARK = "marker7Q";
    await newWebhook(world, { url: `https://${MARK}.example.com/` });
    const text = { sbs: MARK, nick: MARK, ip: "192.0.2.7", title: MARK, first_msg: MARK, metadata: { [MARK]: MARK } };
    await world.create({ ...text, ranstr: `${MARK}0` }, { "idempotency-key": MARK });
    await world.create({ sbs: MARK, ranstr: `${MARK}1` });
    await pruneAt(COUNTED, {}, MAIN);
    const answers = [await textOf(world), await textOf(world, "?by=site")];
    for (const query of ["", "?by=day"]) {
      const { body } = await call(world, "GET", `/admin/sites/${world.siteId}/usage${query}`);
      answers.push(JSON.stringify(body));
    }
    for (const answer of answers) expect(answer).not.toContain(MARK);
    const { results } = await env.DB.prepare("SELECT * FROM usage").all();
    expect(JSON.stringify(results)).not.toContain(MARK);
  });
});

describe("a scrape", () => {
  beforeEach(async () => void (await keepCanary(contextAt(NOW, { CREDENTIALS: env.CREDENTIALS }))));

  it("a scrape of the metrics makes two parallel queries of the directory and asks no home", async () => {
    const world = await World.create();
    await world.chatId();
    await pruneAt(COUNTED, {}, MAIN);
    const directory = countingDb(env.DB);
    const home = countingDb(env.HOME_APAC);
    const scraper = world.anotherIsolate({ DB: directory.db, HOME_APAC: home.db });
    // The root's first call in an hour writes an audit row, and a minute's first scrape reads which homes sites name.
    await textOf(scraper);
    directory.trips.single = 0;
    for (const query of ["", "?by=site"]) await textOf(scraper, query);
    expect([directory.trips, home.trips]).toEqual([
      { batches: 0, single: 4 },
      { batches: 0, single: 0 },
    ]);
  });

  it("a scrape of the metrics answers while a home is silent, with that home's last values and the time of its silence", async () => {
    const world = await World.create({}, "apac");
    await newWebhook(world);
    await world.chatId();
    const homes = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`HOME_N${i}`, env.HOME_APAC]));
    await pruneAt(COUNTED);
    world.clock.now = COUNTED;
    const oldest = 'agent_session_home_oldest_pending_delivery_age_seconds{home="apac"}';
    const before = await scrape(world);
    const never = vi.fn(() => new Promise<never>(() => {}));
    const silent = replacing(env.HOME_APAC, { prepare: never, batch: never });
    const scraper = world.anotherIsolate({ ...homes, HOME_APAC: silent, HOME_NEVER: silent });
    scraper.clock.now = COUNTED + 3_600;
    const samples = await scrape(scraper);
    expect(never).not.toHaveBeenCalled();
    expect(samples).toMatchObject({
      'agent_session_home_silence_seconds{home="apac"}': 3_600,
      'agent_session_home_observed_timestamp_seconds{home="apac"}': COUNTED,
      'agent_session_calls_total{operation="create_gd",outcome="ok"}': 1,
    });
    expect(samples['agent_session_home_size_bytes{home="apac"}']).toBeGreaterThan(0);
    expect(before[oldest]).toBeGreaterThan(0);
    expect(samples[oldest]).toBe(before[oldest]);
    expect(await textOf(scraper)).toContain('agent_session_home_silence_seconds{home="never"} +Inf');
    expect(samples['agent_session_home_size_bytes{home="never"}']).toBeUndefined();
  });

  it("a counter does not fall in a scrape when an older copy arrives late or a home is no longer bound", async () => {
    const world = await World.create({}, "apac");
    const db = databaseOf("apac");
    await world.chatId();
    await pruneAt(COUNTED);
    const older = await readMetrics(db, 0, COUNTED);
    world.clock.now = NOW + 60;
    await world.chatId();
    await pruneAt(COUNTED + 60);
    const calls = 'agent_session_calls_total{operation="create_gd",outcome="ok"}';
    expect((await scrape(world))[calls]).toBe(2);
    await drizzle(env.DB).batch(writeMetrics(env.DB, "apac", older, COUNTED));
    expect((await scrape(world))[calls]).toBe(2);
    const bySite = `agent_session_calls_total{site="${world.siteId}",app="${world.appid}",operation="create_gd",outcome="ok"}`;
    expect((await scrape(world, "?by=site"))[bySite]).toBe(2);
    const without = world.anotherIsolate({ HOME_APAC: undefined });
    expect(await scrape(without)).toMatchObject({
      [calls]: 2,
      'agent_session_home_silence_seconds{home="apac"}': Infinity,
    });
  });

  it("a scrape of the metrics shows no counter of an ended site, even when a late copy has one", async () => {
    const world = await World.create({}, "apac");
    await world.chatId();
    await pruneAt(COUNTED + 60);
    const late = await readMetrics(databaseOf("apac"), 0, COUNTED);
    await env.DB.batch([
      env.DB.prepare("UPDATE sites SET status = 'deleting' WHERE id = ?").bind(world.siteId),
      env.DB.prepare("DELETE FROM site_metrics WHERE site_id = ?").bind(world.siteId),
    ]);
    await drizzle(env.DB).batch(writeMetrics(env.DB, "apac", late, COUNTED));
    const samples = await scrape(world, "?by=site");
    expect(samples['agent_session_home_observed_timestamp_seconds{home="apac"}']).toBe(COUNTED + 60);
    expect(Object.keys(samples).filter((name) => name.includes(`site="${world.siteId}"`))).toEqual([]);
  });

  it("a scrape of the metrics shows all counters of a restored home, even when an answer about the first copy was lost", async () => {
    const world = await World.create({}, "apac");
    const db = databaseOf("apac");
    await world.chatId();
    await pruneAt(COUNTED);
    const restore = await bookmarkDatabase(db);
    world.clock.now = NOW + 60;
    await world.chatId();
    await pruneAt(COUNTED + 60);
    await pruneAt(COUNTED + 120);
    await restore();
    // The first reading of the restored home gets lost.
    const copy = await env.DB.prepare("SELECT copy FROM home_metrics WHERE home = 'apac'").first<number>("copy");
    await readMetrics(db, Number(copy), COUNTED);
    const { sites } = await readMetrics(db, Number(copy), COUNTED);
    expect(sites.get(world.siteId)).toMatchObject([{ name: "calls", count: 1 }]);
  });

  it("a scrape of the metrics shows many sites with many counters, written in parts that D1 accepts", async () => {
    const world = await World.create();
    const sites = new Map(
      Array.from({ length: 300 }, (_, i) => [
        i === 299 ? world.siteId : 1_000_000 + i,
        Array.from({ length: 40 }, (_, n) => ({
          name: "calls" as const,
          appid: world.appid,
          kind: "create_session",
          outcome: `reason ${n}`,
          count: n,
        })),
      ]),
    );
    const metrics = { ...(await readMetrics(env.DB, 0, COUNTED)), copy: 1_000, sites };
    const statements = writeMetrics(env.DB, "main", metrics, COUNTED);
    const longest = Math.max(
      ...statements.map((each) => Math.max(...each.toSQL().params.map((p) => String(p).length))),
    );
    expect([statements.length > 2, longest < 1_000_000]).toEqual([true, true]);
    await drizzle(env.DB).batch(statements);
    const bySite = await scrape(world, "?by=site");
    expect(bySite[`agent_session_refusals_total{site="${world.siteId}",app="${world.appid}",reason="reason 39"}`]).toBe(
      39,
    );
  });

  it("a scrape of the metrics is 503 when the directory is silent", async () => {
    const world = await World.create({ DB: downDb(env.DB) });
    expect(await call(world, "GET", "/admin/metrics")).toMatchObject({ status: 503 });
  });
});
