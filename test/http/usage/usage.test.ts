import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { firstRequestIdAt, newRequestId } from "../../../src/request-id.ts";
import { call, problem } from "../../support/admin-calls.ts";
import { databaseOf } from "../../support/homes.ts";
import { JournalConsumer, keepingJournal } from "../../support/journal.ts";
import { newRefusal } from "../../support/new-refusal.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import { replacing } from "../../support/replacing.ts";
import { DAY, endSite, pruneAll, pruneAt } from "../../support/site-end.ts";
import { bookmark } from "../../support/time-travel.ts";
import { beginCounting, COUNTED, countsOf, readUsage, scrape, storedUsage } from "../../support/usage.ts";
import { NOW, World } from "../../support/world.ts";

// The work of the journal goes on for seconds after a refused call.
beforeEach(beginCounting);

const HOUR = NOW - (NOW % 3_600);
const requestIdAt = (at: number) =>
  newRequestId({ now: () => at * 1_000, bytes: (n) => crypto.getRandomValues(new Uint8Array(n)) });

describe.each(["main", "apac"])("the calls of a site in %s", (home) => {
  it("are counted once each, by hour, app, operation and outcome", async () => {
    const { JOURNAL, sent } = keepingJournal();
    const world = await World.create({ JOURNAL }, home);
    const chat = await world.chatId();
    await world.add(chat);
    await world.add(chat);
    const body = world.createBody();
    await world.send("create_gd", body);
    await world.send("create_gd", body);
    await world.create({}, { "idempotency-key": "k" });
    await world.create({}, { "idempotency-key": "k" });
    await world.create({ kefu_id: [1, 2, 77], fzr_uid: 77 });
    await world.create({ sbs: "" });
    await world.create({ timestamp: NOW - 301 });
    await world.send("create_gd", world.createBody(), { "x-chat-signature": "00".repeat(32) });
    await new JournalConsumer().write(sent);
    await pruneAt(COUNTED);
    const { refusals } = { refusals: sent.flatMap((message) => message.refusals) };
    const counts = await countsOf(world);
    expect(counts["create_gd ok"]).toBe(3);
    expect(counts["create_gd repeated"]).toBe(1);
    const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
    expect(all).toBe(11);
    for (const { reason, operation } of refusals) {
      const name = operation === "add_agents" ? "add_kf" : "create_gd";
      expect([reason, counts[`${name} ${reason}`]]).toEqual([reason, expect.any(Number)]);
    }
    expect(await countsOf(world, "?by=day")).toEqual(counts);
  });

  it("are not counted before their nonces have expired, and not twice by later runs", async () => {
    const world = await World.create({}, home);
    await world.chatId();
    await newRefusal(world, { requestId: requestIdAt(NOW), skipped: 6 });
    await pruneAt(COUNTED - 1);
    expect(await readUsage(world)).toMatchObject({ items: [], complete_until: NOW - 1 });
    await pruneAt(COUNTED);
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

  it("are counted once by two runs at once, and after an answer of D1 that was lost", async () => {
    const world = await World.create({}, home);
    for (let i = 0; i < 5; i++) await world.chatId();
    await newRefusal(world, { requestId: requestIdAt(NOW), skipped: 2 });
    let lost = 0;
    const losing = replacing(databaseOf(home), {
      batch: async (statements: D1PreparedStatement[]) => {
        const results = await databaseOf(home).batch(statements);
        if (lost++ % 2 === 0) throw new Error("D1_ERROR: Network connection lost.");
        return results;
      },
    });
    const homes = new Map([
      ["main", home === "main" ? losing : env.DB],
      ["apac", home === "apac" ? losing : env.HOME_APAC],
    ]);
    await Promise.all([pruneAt(COUNTED, {}, homes), pruneAt(COUNTED, {}, homes), pruneAt(COUNTED)]);
    await pruneAt(COUNTED);
    const expected = { "create_gd ok": 5, "create_gd timestamp_stale": 3 };
    expect(await countsOf(world)).toEqual(expected);
    expect(await scrape(world)).toMatchObject({
      'agent_session_calls_total{operation="create_gd",outcome="ok"}': 5,
      'agent_session_calls_total{operation="create_gd",outcome="refused"}': 3,
    });
    expect(lost).toBeGreaterThan(3);
  });

  it("are counted by small runs that stop in the middle of the nonces, and complete only when all were read", async () => {
    const world = await World.create({}, home);
    for (let i = 0; i < 12; i++) await world.chatId();
    const few = { chunkRows: 3, statements: 60 };
    const seen: [number | null, number][] = [];
    for (let run = 0; run < 60; run++) {
      await pruneAt(COUNTED + run, few);
      const { complete_until } = await readUsage(world);
      seen.push([complete_until, (await countsOf(world))["create_gd ok"] ?? 0]);
    }
    expect(seen.at(-1)?.[1]).toBe(12);
    for (const [until, count] of seen) if (until !== null && until >= NOW) expect(count).toBe(12);
    expect(seen.at(-1)?.[0]).toBeGreaterThanOrEqual(NOW);
  });

  it("are counted when the home comes back that was down when they were due", async () => {
    const world = await World.create({}, home);
    await world.chatId();
    await newRefusal(world, { requestId: requestIdAt(NOW) });
    const boom = () => {
      throw new Error("D1_ERROR: D1 DB is overloaded.");
    };
    const down = replacing(databaseOf(home), { prepare: boom, batch: boom });
    const homes = new Map([
      ["main", home === "main" ? down : env.DB],
      ["apac", home === "apac" ? down : env.HOME_APAC],
    ]);
    await pruneAt(COUNTED, {}, homes);
    expect(await readUsage(world)).toMatchObject({ items: [] });
    await pruneAt(COUNTED + 5 * DAY);
    expect(await countsOf(world)).toEqual({ "create_gd ok": 1, "create_gd timestamp_stale": 1 });
    expect(await readUsage(world)).toMatchObject({ complete_until: NOW + 5 * DAY });
  });

  it("count a call that was done although its answer was 503 as done, and as nothing else", async () => {
    const world = await World.create({}, home);
    const { headers } = await world.create();
    const requestId = headers.get("x-request-id") ?? "";
    await newRefusal(world, { requestId, reason: "d1_unavailable", status: 503, skipped: 3 });
    await pruneAt(COUNTED);
    await pruneAt(COUNTED + 300);
    expect(await countsOf(world)).toEqual({ "create_gd ok": 1, "create_gd d1_unavailable": 3 });
  });

  it("count a refusal with a nonce by its nonce, however many rows the journal has of it", async () => {
    const world = await World.create({}, home);
    const { headers } = await world.create({ kefu_id: [1, 2, 77], fzr_uid: 77 });
    const { results } = await databaseOf(home)
      .prepare("SELECT outcome FROM nonces WHERE site_id = ?")
      .bind(world.siteId)
      .all<{ outcome: string }>();
    const reason = results[0]?.outcome ?? "";
    await newRefusal(world, { requestId: headers.get("x-request-id") ?? "", reason, skipped: 9 });
    await pruneAt(COUNTED);
    expect(await countsOf(world)).toEqual({ [`create_gd ${reason}`]: 1 });
  });

  it("are counted when their rows of the journal come late, once for each row", async () => {
    const world = await World.create({}, home);
    await pruneAt(COUNTED + 3_600);
    const message = (refusals: unknown[]) => ({ home, refusals });
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
    consumer.clock.now = COUNTED + 3_600;
    await consumer.write([message([row, row]), message([row])]);
    await consumer.write([message([row])]);
    expect(await countsOf(world)).toEqual({ "create_gd timestamp_stale": 5 });
    await pruneAt(COUNTED + 7_200);
    expect(await countsOf(world)).toEqual({ "create_gd timestamp_stale": 5 });
    const incomplete = { ...row, requestId: requestIdAt(NOW + 1), status: null };
    await consumer.write([message([incomplete, { ...incomplete, status: 401, appid: "unknown" }])]);
    expect(await countsOf(world)).toEqual({ "create_gd timestamp_stale": 5 });
  });

  it("move to their day after 14 days, and go after 400", async () => {
    const world = await World.create({}, home);
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
    await pruneAt(world.clock.now);
    await pruneAt(world.clock.now);
    expect((await storedUsage(world)).hours).toEqual([]);
    expect(await readUsage(world)).toMatchObject({ items: [], apps: [{ last_used_at: NOW + 3_600 }] });
    expect((await readUsage(world, "?by=day")).items).toEqual(byDay);
    world.clock.now = day + 401 * DAY;
    await pruneAt(world.clock.now - 1);
    expect((await storedUsage(world)).days).toHaveLength(2);
    await pruneAt(world.clock.now);
    expect((await storedUsage(world)).days).toEqual([]);
    // The counters only rise.
    expect((await scrape(world))['agent_session_calls_total{operation="create_gd",outcome="ok"}']).toBe(2);
  });

  it("say when each secret was last used, and forgeries do not count", async () => {
    const world = await World.create({}, home);
    await world.chatId();
    const old = world.secret;
    const rotated = await call(world, "POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 86_400 });
    world.clock.now = NOW + 60;
    await world.chatId();
    world.secret = (rotated.body as { secret: string }).secret;
    world.clock.now = NOW + 120;
    await world.chatId();
    await newRefusal(world, { requestId: requestIdAt(NOW + 200), at: NOW + 200, reason: "signature_mismatch" });
    await pruneAt(COUNTED + 300);
    expect((await readUsage(world)).apps).toEqual([
      { appid: world.appid, last_used_at: NOW + 120, previous_secret_used_at: NOW + 60 },
    ]);
    expect(old).not.toBe(world.secret);
  });

  it("do not count as uses of the previous secret when an earlier one has verified them", async () => {
    const world = await World.create({}, home);
    await world.chatId();
    const rotate = () => call(world, "POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 60 });
    await rotate();
    world.clock.now = NOW + 61;
    await rotate();
    await pruneAt(COUNTED);
    const [app] = (await readUsage(world)).apps;
    expect(app).toMatchObject({ last_used_at: NOW, previous_secret_used_at: null });
  });

  it("go with their site, all but the counts of the home", async () => {
    const world = await World.create({}, home);
    const neighbour = await World.create({}, home);
    for (const each of [world, neighbour]) await each.chatId();
    await newWebhook(world);
    await world.chatId();
    await pruneAt(COUNTED);
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
    const calls = 'agent_session_calls_total{operation="create_gd",outcome="ok"}';
    expect((await scrape(world))[calls]).toBe(sums[calls]);
  });

  it("are counted again from where a restored home is, and the directory follows it down", async () => {
    const world = await World.create({}, home);
    await world.chatId();
    await pruneAt(COUNTED);
    const restore = await bookmark(databaseOf(home));
    world.clock.now = NOW + 600;
    await world.chatId();
    await pruneAt(COUNTED + 600);
    await pruneAt(COUNTED + 900);
    const calls = 'agent_session_calls_total{operation="create_gd",outcome="ok"}';
    expect([await countsOf(world), (await scrape(world))[calls]]).toEqual([{ "create_gd ok": 2 }, 2]);
    await restore();
    for (let run = 0; run < 2; run++) {
      await pruneAt(COUNTED + 1_200);
      expect([await countsOf(world), (await scrape(world))[calls]]).toEqual([{ "create_gd ok": 1 }, 1]);
    }
    const bySite = `agent_session_calls_total{site="${world.siteId}",app="${world.appid}",operation="create_gd",outcome="ok"}`;
    expect((await scrape(world, "?by=site"))[bySite]).toBe(1);
    world.clock.now = NOW + 1_200;
    await world.chatId();
    await pruneAt(COUNTED + 1_200);
    expect((await scrape(world, "?by=site"))[bySite]).toBe(2);
  });
});

describe("usage", () => {
  it("refuses what it does not know and what is not kept, and names it", async () => {
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

  it("gives only the hours from since to until, and only the app that is asked for", async () => {
    const world = await World.create();
    const issued = await call(world, "POST", `/admin/sites/${world.siteId}/apps`, { name: "Second" });
    const second = world.anotherIsolate();
    Object.assign(second, issued.body);
    for (const hours of [0, 1, 2]) {
      for (const each of [world, second]) {
        each.clock.now = HOUR + 3_600 * (hours + 1);
        await each.chatId();
      }
    }
    await pruneAt(COUNTED + 4 * 3_600);
    world.clock.now = COUNTED + 4 * 3_600;
    const query = `?since=${HOUR + 3_600}&until=${HOUR + 7_200}`;
    const { items } = await readUsage(world, query);
    expect(items.map(({ at }) => at)).toEqual([HOUR + 3_600, HOUR + 3_600, HOUR + 7_200, HOUR + 7_200]);
    const later = await readUsage(world, `?since=${HOUR + 7_201}`);
    expect(later.items.map(({ at }) => at)).toEqual([HOUR + 10_800, HOUR + 10_800]);
    const only = await readUsage(world, `${query}&appid=${second.appid}`);
    expect([only.items.map(({ appid }) => appid), only.apps.map(({ appid }) => appid)]).toEqual([
      [second.appid, second.appid],
      [second.appid],
    ]);
    second.clock.now = COUNTED + 5 * 3_600;
    await second.chatId();
    await pruneAt(second.clock.now + 1_860);
    expect((await readUsage(world)).apps).toEqual(
      [
        { appid: world.appid, last_used_at: HOUR + 10_800, previous_secret_used_at: null },
        { appid: second.appid, last_used_at: COUNTED + 5 * 3_600, previous_secret_used_at: null },
      ].sort((a, b) => (a.appid < b.appid ? -1 : 1)),
    );
    expect(await readUsage(world, "?appid=nobody")).toMatchObject({ items: [], apps: [] });
  });

  it("is not complete beyond a run's own time, although a run that began later stopped in the middle of the nonces", async () => {
    const world = await World.create();
    world.clock.now = NOW + 200;
    await world.chatId();
    const place = JSON.stringify([world.siteId, "", "", COUNTED + 300]);
    await env.DB.prepare("INSERT INTO jobs VALUES ('prune nonces', ?) ON CONFLICT DO UPDATE SET place = excluded.place")
      .bind(place)
      .run();
    await pruneAt(COUNTED);
    expect(await readUsage(world)).toMatchObject({ items: [], complete_until: NOW });
  });

  it("gives whole days, also when since is in the middle of one, or until at the beginning of one", async () => {
    const world = await World.create();
    const day = NOW - (NOW % DAY);
    for (const at of [day + 3_600, day + 20 * 3_600, day + DAY + 3_600]) {
      world.clock.now = at;
      await world.chatId();
    }
    world.clock.now = day + 3 * DAY;
    await pruneAt(world.clock.now);
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

  it("counts a refused call that comes between the look for such calls and the end of the run", async () => {
    const world = await World.create();
    let isIn = false;
    const meanwhile = replacing(env.DB, {
      prepare: (text: string) => {
        const statement = env.DB.prepare(text);
        return replacing(statement, {
          bind: (...values: unknown[]) => {
            const bound = statement.bind(...values);
            const run = async () => {
              if (text.startsWith('update "folds"') && !isIn) {
                isIn = true;
                await newRefusal(world, { requestId: requestIdAt(NOW), skipped: 1 });
              }
              return bound.run();
            };
            return replacing(bound, { run });
          },
        });
      },
    });
    await pruneAt(COUNTED, {}, new Map([["main", meanwhile]]));
    expect(isIn).toBe(true);
    await pruneAt(COUNTED);
    expect(await countsOf(world)).toEqual({ "create_gd timestamp_stale": 2 });
  });

  it("refuses an answer of more than 10,000 items, and says what to ask for instead", async () => {
    const world = await World.create();
    await env.DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
       INSERT INTO usage SELECT ?, ?, 'create_session', printf('reason %d', i), '', 1, ?, ? FROM n`,
    )
      .bind(world.siteId, world.appid, NOW, HOUR)
      .run();
    expect(await call(world, "GET", `/admin/sites/${world.siteId}/usage`)).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining("at most 10000 items") },
    });
  });

  it("keeps a refused call that is older than JOURNAL_DAYS until it is counted", async () => {
    const world = await World.create();
    const at = NOW + 60;
    await newRefusal(world, { requestId: firstRequestIdAt(at), at });
    // Counting is stopped: the nonces of the home cannot be read.
    const failing = replacing(env.DB, {
      batch: async () => {
        throw new Error("D1_ERROR: D1 DB is overloaded.");
      },
    });
    await pruneAt(at + 40 * DAY, {}, new Map([["main", failing]]));
    await pruneAt(at + 40 * DAY);
    expect(await countsOf(world)).toEqual({});
    world.clock.now = at + 40 * DAY;
    expect(await countsOf(world, "?by=day")).toEqual({ "create_gd timestamp_stale": 1 });
  });
});
