import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { firstRequestIdAt, newRequestId } from "../../../src/core/request-id.ts";
import { call, problem } from "../../support/admin-calls.ts";
import { downDb } from "../../support/down-db.ts";
import { databaseOf } from "../../support/homes.ts";
import { JournalConsumer, keepingJournal } from "../../support/journal.ts";
import { newRefusal } from "../../support/new-refusal.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import { replacing } from "../../support/replacing.ts";
import { DAY, endSite, pruneAll, pruneAt } from "../../support/site-end.ts";
import { bookmarkDatabase } from "../../support/time-travel.ts";
import { beginCounting, COUNTED, countsOf, MAIN, readUsage, scrape, storedUsage } from "../../support/usage.ts";
import { NOW, World } from "../../support/world.ts";

// The journal works on for some seconds after a refused call.
beforeEach(beginCounting);

const HOUR = NOW - (NOW % 3_600);
const requestIdAt = (at: number) => newRequestId({ now: () => at * 1_000, uuid: () => crypto.randomUUID() });

const OK = 'agent_session_calls_total{operation="create_gd",outcome="ok"}';

// The home is not the directory, so that a statement in the wrong database finds nothing.
describe("the calls of a site", () => {
  const home = "apac";
  const newWorld = () => World.create({}, home);
  const pruneWith = (db: D1Database) => pruneAt(COUNTED, {}, new Map(Object.entries({ main: env.DB, [home]: db })));

  it("each call is counted once, by hour, app, operation and outcome", async () => {
    const { JOURNAL, sent, rows } = keepingJournal();
    const world = await newWorld();
    const chat = await world.chatId();
    await world.add(chat);
    await world.create({}, { "idempotency-key": "k" });
    await world.create({}, { "idempotency-key": "k" });
    const body = world.createBody();
    await world.send("create_gd", body);
    // The journal of one isolate waits a second between two rows, so each refused call gets an isolate.
    const newIsolate = () => world.anotherIsolate({ JOURNAL });
    await newIsolate().add(chat);
    await newIsolate().send("create_gd", body);
    await newIsolate().create({ kefu_id: [1, 2, 77], fzr_uid: 77 });
    await newIsolate().create({ sbs: "" });
    await newIsolate().create({ timestamp: NOW - 301 });
    await newIsolate().send("create_gd", world.createBody(), { "x-chat-signature": "00".repeat(32) });
    await new JournalConsumer().write(sent);
    await pruneAt(COUNTED);
    const refusals = rows().map(({ reason, operation }) => [
      `${operation === "add_agents" ? "add_kf" : "create_gd"} ${reason}`,
      1,
    ]);
    expect(refusals).toHaveLength(6);
    const counts = { "create_gd ok": 3, "add_kf ok": 1, "create_gd repeated": 1 };
    const expected = { ...counts, ...Object.fromEntries(refusals) };
    expect(await countsOf(world)).toEqual(expected);
    expect(await countsOf(world, "?by=day")).toEqual(expected);
  });

  it("calls are counted after their nonces have expired, and later runs do not count them again", async () => {
    const world = await newWorld();
    await world.chatId();
    await newRefusal(world, { requestId: requestIdAt(NOW), skipped: 6 });
    await pruneAt(COUNTED - 1);
    expect(await readUsage(world)).toMatchObject({ items: [], complete_until: NOW - 1 });
    await pruneAt(COUNTED);
    await pruneAt(COUNTED + 600);
    expect(await readUsage(world)).toEqual({
      items: [
        { at: HOUR, appid: world.appid, operation: "create_gd", outcome: "ok", count: 1 },
        { at: HOUR, appid: world.appid, operation: "create_gd", outcome: "timestamp_stale", count: 7 },
      ],
      apps: [{ appid: world.appid, last_used_at: NOW, previous_secret_used_at: null }],
      complete_until: NOW + 600,
    });
  });

  it("calls are counted once by two simultaneous runs, and when an answer of D1 was lost", async () => {
    const world = await newWorld();
    for (let i = 0; i < 2; i++) await world.chatId();
    await newRefusal(world, { requestId: requestIdAt(NOW), skipped: 2 });
    let tries = 0;
    const losing = replacing(databaseOf(home), {
      batch: async (statements: D1PreparedStatement[]) => {
        const results = await databaseOf(home).batch(statements);
        if (tries++ % 2 === 0) throw new Error("D1_ERROR: Network connection lost.");
        return results;
      },
    });
    await Promise.all([pruneWith(losing), pruneWith(losing)]);
    await pruneAt(COUNTED);
    expect(await countsOf(world)).toEqual({ "create_gd ok": 2, "create_gd timestamp_stale": 3 });
    expect(await scrape(world)).toMatchObject({
      [OK]: 2,
      'agent_session_calls_total{operation="create_gd",outcome="refused"}': 3,
    });
    expect(tries).toBeGreaterThan(3);
  });

  it("calls are counted by small runs that stop among the nonces, and are complete only when all nonces were read", async () => {
    const world = await World.create();
    await world.chatId();
    const copies = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5)
      INSERT INTO nonces (site_id, appid, ranstr, owner, attempt, expires_at, outcome, session_id, operation, secret)
      SELECT site_id, appid, 'copy ' || i, owner, attempt, expires_at, outcome, session_id, operation, secret
      FROM n, nonces WHERE site_id = ?`;
    await env.DB.prepare(copies).bind(world.siteId).run();
    const counts: number[] = [];
    let isComplete = false;
    for (let run = 0; !isComplete && run < 60; run++) {
      await pruneAt(COUNTED + run, { chunkRows: 1, statements: 60 }, MAIN);
      const { complete_until, items } = await readUsage(world);
      isComplete = Number(complete_until) >= NOW;
      counts.push(items[0]?.count ?? 0);
    }
    expect([isComplete, counts.at(-1)]).toEqual([true, 6]);
    expect(counts.length).toBeGreaterThan(2);
  });

  it("the calls of a home that was down are counted when the home answers again", async () => {
    const world = await newWorld();
    await world.chatId();
    await newRefusal(world, { requestId: requestIdAt(NOW) });
    await pruneWith(downDb(databaseOf(home)));
    expect(await countsOf(world)).toEqual({});
    await pruneAt(COUNTED + 5 * DAY);
    expect(await countsOf(world)).toEqual({ "create_gd ok": 1, "create_gd timestamp_stale": 1 });
    expect(await readUsage(world)).toMatchObject({ complete_until: NOW + 5 * DAY });
  });

  it("a call that was stored although its answer was 503 counts as done, not as refused", async () => {
    const world = await newWorld();
    const { headers } = await world.create();
    const requestId = headers.get("x-request-id") ?? "";
    await newRefusal(world, { requestId, reason: "d1_unavailable", status: 503, skipped: 3 });
    await pruneAt(COUNTED);
    await pruneAt(COUNTED + 300);
    expect(await countsOf(world)).toEqual({ "create_gd ok": 1, "create_gd d1_unavailable": 3 });
  });

  it("a refusal with a nonce counts once, however many journal rows it has", async () => {
    const world = await newWorld();
    const { headers } = await world.create({ kefu_id: [1, 2, 77], fzr_uid: 77 });
    const reason = String((await world.stored()).nonces[0]?.outcome);
    await newRefusal(world, { requestId: headers.get("x-request-id") ?? "", reason, skipped: 9 });
    await pruneAt(COUNTED);
    expect(await countsOf(world)).toEqual({ [`create_gd ${reason}`]: 1 });
  });

  it("a call whose journal row comes late is counted once", async () => {
    const world = await newWorld();
    await pruneAt(COUNTED + 3_600);
    const row = {
      siteId: world.siteId,
      appid: world.appid,
      requestId: requestIdAt(NOW),
      at: NOW,
      operation: "create_session",
      status: 401,
      reason: "timestamp_stale",
      detail: null,
      secret: "v",
      client: null,
      skipped: 4,
    };
    const consumer = new JournalConsumer();
    // The journal writes to a home at most once a second.
    consumer.clock.now = COUNTED + 3_600;
    const write = async (...messages: object[][]) => {
      consumer.clock.now += 1;
      await consumer.write(messages.map((refusals) => ({ home, refusals })));
    };
    await write([row, row], [row]);
    await write([row]);
    expect(await countsOf(world)).toEqual({ "create_gd timestamp_stale": 5 });
    await pruneAt(COUNTED + 7_200);
    const incomplete = { ...row, requestId: requestIdAt(NOW + 1), status: null };
    await write([incomplete, { ...incomplete, status: 401, appid: "unknown" }]);
    expect(await countsOf(world)).toEqual({ "create_gd timestamp_stale": 5 });
  });

  it("the counts of calls become counts per day after 14 days, and are deleted after 400", async () => {
    const world = await newWorld();
    await world.chatId();
    world.clock.now = NOW + 3_600;
    await world.chatId();
    await newRefusal(world, { requestId: requestIdAt(NOW) });
    await pruneAt(COUNTED + 3_600);
    const day = NOW - (NOW % DAY);
    const byDay = [
      { at: day, appid: world.appid, operation: "create_gd", outcome: "ok", count: 2 },
      { at: day, appid: world.appid, operation: "create_gd", outcome: "timestamp_stale", count: 1 },
    ];
    expect((await readUsage(world)).items).toHaveLength(3);
    expect((await readUsage(world, "?by=day")).items).toEqual(byDay);
    world.clock.now = day + 15 * DAY - 1;
    await pruneAt(world.clock.now);
    expect((await readUsage(world)).items).toHaveLength(3);
    world.clock.now = day + 15 * DAY;
    // The chunks have two rows, so that the second chunk adds to the counts of the first.
    await pruneAt(world.clock.now, { chunkRows: 2 });
    expect((await storedUsage(world)).hours).toEqual([]);
    expect(await readUsage(world)).toMatchObject({ items: [], apps: [{ last_used_at: NOW + 3_600 }] });
    expect((await readUsage(world, "?by=day")).items).toEqual(byDay);
    world.clock.now = day + 401 * DAY;
    await pruneAt(world.clock.now - 1);
    expect((await storedUsage(world)).days).toHaveLength(2);
    await pruneAt(world.clock.now);
    expect((await storedUsage(world)).days).toEqual([]);
    // Counters never fall.
    expect((await scrape(world))[OK]).toBe(2);
  });

  it("the usage of a site shows when each secret was last used, and forgeries do not count", async () => {
    const world = await newWorld();
    await world.chatId();
    const { body } = await call(world, "POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 86_400 });
    world.clock.now = NOW + 60;
    await world.chatId();
    world.secret = (body as { secret: string }).secret;
    world.clock.now = NOW + 120;
    await world.chatId();
    await newRefusal(world, { requestId: requestIdAt(NOW + 200), at: NOW + 200, reason: "signature_mismatch" });
    await pruneAt(COUNTED + 300);
    expect((await readUsage(world)).apps).toEqual([
      { appid: world.appid, last_used_at: NOW + 120, previous_secret_used_at: NOW + 60 },
    ]);
  });

  it("a call verified by an earlier secret does not count as a use of the previous secret", async () => {
    const world = await newWorld();
    await world.chatId();
    const rotate = () => call(world, "POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 60 });
    await rotate();
    world.clock.now = NOW + 61;
    await rotate();
    await pruneAt(COUNTED);
    const [app] = (await readUsage(world)).apps;
    expect(app).toMatchObject({ last_used_at: NOW, previous_secret_used_at: null });
  });
});

// In both cases the directory takes part, and it is also the home main.
describe.each(["main", "apac"])("the counted calls of a site in %s", (home) => {
  const homes = new Map([...MAIN, [home, databaseOf(home)]]);
  const prune = (now: number) => pruneAt(now, {}, homes);

  it("the counts of a site are deleted with the site, except the totals of its home", async () => {
    const world = await World.create({}, home);
    const neighbour = await World.create({}, home);
    for (const each of [world, neighbour]) await each.chatId();
    await newWebhook(world);
    await world.chatId();
    await prune(COUNTED);
    const before = await scrape(world, "?by=site");
    const ofSite = (samples: Record<string, number>, { siteId }: World) =>
      Object.keys(samples).filter((name) => name.includes(`site="${siteId}"`));
    expect(ofSite(before, world)).not.toEqual([]);
    const sums = await scrape(world);
    await endSite(world);
    await pruneAll(COUNTED);
    expect(await storedUsage(world)).toEqual({ hours: [], days: [], counters: [] });
    expect((await storedUsage(neighbour)).hours).toHaveLength(1);
    const after = await scrape(world, "?by=site");
    expect([ofSite(after, world), ofSite(after, neighbour)]).toEqual([[], ofSite(before, neighbour)]);
    expect((await scrape(world))[OK]).toBe(sums[OK]);
  });

  it("the calls of a restored home are counted again, and the directory's counters follow", async () => {
    const world = await World.create({}, home);
    await world.chatId();
    await prune(COUNTED);
    const restore = await bookmarkDatabase(databaseOf(home));
    world.clock.now = NOW + 600;
    await world.chatId();
    await prune(COUNTED + 600);
    await prune(COUNTED + 900);
    expect([await countsOf(world), (await scrape(world))[OK]]).toEqual([{ "create_gd ok": 2 }, 2]);
    await restore();
    for (let run = 0; run < 2; run++) {
      await prune(COUNTED + 1_200);
      expect([await countsOf(world), (await scrape(world))[OK]]).toEqual([{ "create_gd ok": 1 }, 1]);
    }
    const bySite = `agent_session_calls_total{site="${world.siteId}",app="${world.appid}",operation="create_gd",outcome="ok"}`;
    expect((await scrape(world, "?by=site"))[bySite]).toBe(1);
    world.clock.now = NOW + 1_200;
    await world.chatId();
    await prune(COUNTED + 1_200);
    expect((await scrape(world, "?by=site"))[bySite]).toBe(2);
  });
});

describe("GET /admin/sites/:site_id/usage", () => {
  const prune = (now: number) => pruneAt(now, {}, MAIN);

  it("the usage of a site refuses an unknown query and times that are no longer stored, and names the field", async () => {
    const world = await World.create();
    const get = (query: string) => call(world, "GET", `/admin/sites/${world.siteId}/usage?${query}`);
    const day = NOW - (NOW % DAY);
    for (const [query, field, message] of [
      ["by=week", "by", "must be hour or day"],
      ["since=x", "since", "must be a Unix time in seconds"],
      [`since=${day - 14 * DAY - 1}`, "since", "must be within the last 14 days: older hours are kept no more"],
      [`by=day&until=${day - 400 * DAY - 1}`, "until", "must be within the last 400 days: older days are kept no more"],
      [`since=${NOW}&until=${NOW - 1}`, "since", "must not be after until"],
      ["appid=%20", "appid", "must be an appid"],
    ] as const) {
      expect(await get(query)).toMatchObject(problem(400, "Invalid input", [{ field, message }]));
    }
    expect(await get("page=2")).toMatchObject({ status: 400 });
    expect(await get(`since=${day - 14 * DAY}&by=hour`)).toMatchObject({ status: 200 });
    expect(await get(`since=${day - 400 * DAY}&by=day`)).toMatchObject({ status: 200 });
    expect(await call(world, "GET", "/admin/sites/999999999/usage")).toMatchObject({ status: 404 });
  });

  it("the usage of a site has only the hours from since to until, and only the app that was asked for", async () => {
    const world = await World.create();
    const answer = await call(world, "POST", `/admin/sites/${world.siteId}/apps`, { name: "Second" });
    const second = world.anotherIsolate();
    Object.assign(second, answer.body);
    for (const hours of [0, 1, 2]) {
      for (const each of [world, second]) {
        each.clock.now = HOUR + 3_600 * (hours + 1);
        await each.chatId();
      }
    }
    await prune(COUNTED + 4 * 3_600);
    world.clock.now = COUNTED + 4 * 3_600;
    const query = `?since=${HOUR + 3_600}&until=${HOUR + 7_200}`;
    const { items } = await readUsage(world, query);
    expect(items.map(({ at }) => at)).toEqual([HOUR + 3_600, HOUR + 3_600, HOUR + 7_200, HOUR + 7_200]);
    // Without a time, the answer has all stored hours, the first one too.
    const oldest = NOW - (NOW % DAY) - 14 * DAY;
    const first =
      "INSERT INTO usage SELECT site_id, appid, operation, outcome, secret, 8, last_at, ?2, NULL FROM usage WHERE site_id = ?1";
    await env.DB.prepare(`${first} LIMIT 1`).bind(world.siteId, oldest).run();
    expect((await readUsage(world)).items[0]).toMatchObject({ at: oldest, count: 8 });
    const later = await readUsage(world, `?since=${HOUR + 7_201}`);
    expect(later.items.map(({ at }) => at)).toEqual([HOUR + 10_800, HOUR + 10_800]);
    const only = await readUsage(world, `${query}&appid=${second.appid}`);
    expect([only.items.map(({ appid }) => appid), only.apps.map(({ appid }) => appid)]).toEqual([
      [second.appid, second.appid],
      [second.appid],
    ]);
    second.clock.now = COUNTED + 5 * 3_600;
    await second.chatId();
    await prune(second.clock.now + 1_860);
    expect((await readUsage(world)).apps).toEqual(
      [
        { appid: world.appid, last_used_at: HOUR + 10_800, previous_secret_used_at: null },
        { appid: second.appid, last_used_at: COUNTED + 5 * 3_600, previous_secret_used_at: null },
      ].sort((a, b) => (a.appid < b.appid ? -1 : 1)),
    );
    expect(await readUsage(world, "?appid=nobody")).toMatchObject({ items: [], apps: [] });
  });

  it("the usage of a site is complete up to a run's own time, even when a later run stopped among the nonces", async () => {
    const world = await World.create();
    world.clock.now = NOW + 200;
    await world.chatId();
    const place = JSON.stringify([world.siteId, "", "", COUNTED + 300]);
    await env.DB.prepare("INSERT INTO jobs VALUES ('prune nonces', ?) ON CONFLICT DO UPDATE SET place = excluded.place")
      .bind(place)
      .run();
    await prune(COUNTED);
    expect(await readUsage(world)).toMatchObject({ items: [], complete_until: NOW });
  });

  it("the usage by day has whole days, wherever in a day since and until are", async () => {
    const world = await World.create();
    const day = NOW - (NOW % DAY);
    for (const at of [day + 3_600, day + 20 * 3_600, day + DAY + 3_600]) {
      world.clock.now = at;
      await world.chatId();
    }
    world.clock.now = day + 3 * DAY;
    await prune(world.clock.now);
    const items = async (range: string) =>
      (await readUsage(world, `?by=day&${range}`)).items.map(({ at, count }) => [at, count]);
    const [first, second] = [
      [day, 2],
      [day + DAY, 1],
    ];
    expect(await items(`since=${day}`)).toEqual([first, second]);
    expect(await items(`since=${day + 12 * 3_600}`)).toEqual([second]);
    expect(await items(`until=${day}`)).toEqual([first]);
  });

  it("a refused call that comes during a run of the cron is counted", async () => {
    const world = await World.create();
    let isIn = false;
    const meanwhile = replacing(env.DB, {
      prepare: (text: string) => {
        const statement = env.DB.prepare(text);
        const bind = (...values: unknown[]) => {
          const bound = statement.bind(...values);
          const run = async () => {
            if (text.startsWith('update "folds"') && !isIn) {
              isIn = true;
              await newRefusal(world, { requestId: requestIdAt(NOW), skipped: 1 });
            }
            return bound.run();
          };
          return replacing(bound, { run });
        };
        return replacing(statement, { bind });
      },
    });
    await pruneAt(COUNTED, {}, new Map([["main", meanwhile]]));
    expect(isIn).toBe(true);
    await prune(COUNTED);
    expect(await countsOf(world)).toEqual({ "create_gd timestamp_stale": 2 });
  });

  it("the usage of a site refuses an answer of more than 10,000 items, and names what to ask for", async () => {
    const world = await World.create();
    await env.DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
       INSERT INTO usage SELECT ?, ?, 'create_session', printf('reason %d', i), '', 1, ?, ?, NULL FROM n`,
    )
      .bind(world.siteId, world.appid, NOW, HOUR)
      .run();
    expect(await call(world, "GET", `/admin/sites/${world.siteId}/usage`)).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining("at most 10000 items") },
    });
  });

  it("a refused call older than JOURNAL_DAYS is kept until it is counted", async () => {
    const world = await World.create();
    const at = NOW + 60;
    await newRefusal(world, { requestId: firstRequestIdAt(at), at });
    // Counting stops, because the nonces of the home cannot be read.
    const { batch } = downDb(env.DB);
    await pruneAt(at + 40 * DAY, {}, new Map([["main", replacing(env.DB, { batch })]]));
    expect(await countsOf(world)).toEqual({});
    await prune(at + 40 * DAY);
    world.clock.now = at + 40 * DAY;
    expect(await countsOf(world, "?by=day")).toEqual({ "create_gd timestamp_stale": 1 });
  });
});
