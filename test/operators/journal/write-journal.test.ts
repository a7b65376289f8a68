import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { TRY_LIMIT_MS } from "../../../src/core/store/run-batch.ts";
import type { Refusal } from "../../../src/operators/services/journal.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { downDb } from "../../support/down-db.ts";
import { JournalConsumer, journalOf } from "../../support/journal.ts";
import { newSite, type Site } from "../../support/new-site.ts";
import { replacing } from "../../support/replacing.ts";
import { NOW } from "../../support/test-runtime.ts";

afterEach(() => void vi.useRealTimers());

const id = (n: number) => `01a3185c-5000-7000-8000-${String(n).padStart(12, "0")}`;

const refusalOf = ({ siteId, appid }: Site, n = 1, fields: Partial<Refusal> = {}): Refusal => ({
  siteId,
  appid,
  requestId: id(n),
  at: NOW,
  operation: "create_session",
  status: 401,
  reason: "timestamp_stale",
  detail: "timestamp: must be fresh",
  violations: [{ field: "timestamp", rule: "unix_seconds" }],
  secret: "v1",
  client: "192.0.2.0/24",
  skipped: 0,
  drill: null,
  ...fields,
});

const message = (home: string, ...refusals: Refusal[]) => ({ home, refusals });

describe("the consumer of the journal", () => {
  it("the journal's consumer writes refused calls into their homes and logs how many", async () => {
    const [site, other] = [await newSite("apac"), await newSite("main")];
    const consumer = new JournalConsumer();
    const rows = [refusalOf(site, 1), refusalOf(site, 2, { detail: null, secret: null, client: null, skipped: 79 })];
    expect(await consumer.write([message("apac", ...rows), message("main", refusalOf(other))])).toEqual({});
    expect(await journalOf(site)).toEqual(rows);
    expect(await journalOf(other)).toEqual([refusalOf(other)]);
    expect(consumer.keptRecords.jobs).toEqual([
      { job: "journal", outcome: "ok", homes: { apac: { rows: 2 }, main: { rows: 1 } }, ms: expect.any(Number) },
    ]);
  });

  it("the journal's consumer writes a row of an older release, which sends neither violations nor a drill, without them", async () => {
    const site = await newSite("apac");
    const { violations: _, drill: __, ...row } = refusalOf(site);
    await new JournalConsumer().write([{ home: "apac", refusals: [row] }]);
    expect(await journalOf(site)).toEqual([{ ...row, violations: null, drill: null }]);
  });

  it("the journal does not change when a message comes twice, even with other values", async () => {
    const site = await newSite("main");
    const consumer = new JournalConsumer();
    const twice = message("main", refusalOf(site, 1, { skipped: 3 }), refusalOf(site, 2));
    await consumer.write([twice, twice]);
    consumer.clock.now += 86_400;
    await consumer.write([twice, message("main", refusalOf(site, 1, { skipped: 9, reason: "fields_invalid" }))]);
    expect(await journalOf(site)).toEqual([refusalOf(site, 1, { skipped: 3 }), refusalOf(site, 2)]);
  });

  it("the journal's consumer retries the messages of a closed home later, and writes those of open homes", async () => {
    const [closedSite, openSite] = [await newSite("apac"), await newSite("main")];
    const messages = [message("apac", refusalOf(closedSite)), message("main", refusalOf(openSite))];
    expect(await new JournalConsumer(closedHomeVars("apac")).write(messages)).toEqual({ 0: 30 });
    expect(await journalOf(closedSite)).toEqual([]);
    expect(await journalOf(openSite)).toHaveLength(1);
    expect(await new JournalConsumer().write([messages[0]], 2)).toEqual({});
    expect(await journalOf(closedSite)).toEqual([refusalOf(closedSite)]);
  });

  it("the journal's consumer retries the messages of a failing home after growing delays, up to an hour", async () => {
    const site = await newSite("apac");
    const failing = new JournalConsumer({ HOME_APAC: downDb(env.HOME_APAC) });
    const delays: (number | undefined)[] = [];
    for (const attempts of [1, 2, 5, 8, 99]) {
      failing.clock.now += 1;
      delays.push((await failing.write([message("apac", refusalOf(site))], attempts))[0]);
    }
    expect(delays).toEqual([30, 60, 480, 3_600, 3_600]);
    expect(failing.keptRecords.jobs[0]).toMatchObject({ outcome: "failed", homes: { apac: { rows: 0, later: 1 } } });
    expect(await new JournalConsumer().write([message("nowhere", refusalOf(site))])).toEqual({ 0: 30 });
  });

  it("the journal's consumer writes no row for an app that the home does not have", async () => {
    const [site, other] = [await newSite("apac"), await newSite("apac")];
    const consumer = new JournalConsumer();
    const strange = { ...refusalOf(site), siteId: other.siteId };
    await consumer.write([message("main", refusalOf(site)), message("apac", strange)]);
    expect([...(await journalOf(site)), ...(await journalOf(other))]).toEqual([]);
    const { results } = await env.DB.prepare("SELECT 1 FROM refusals WHERE site_id = ?").bind(site.siteId).all();
    expect(results).toEqual([]);
  });

  it("the journal's consumer writes to a home that answers although six other homes are silent", async () => {
    const site = await newSite("main");
    const askedHomes: string[] = [];
    const { promise: mainAnswered, resolve: answer } = Promise.withResolvers<void>();
    const silent = (home: string) => {
      const batch = () => {
        askedHomes.push(home);
        return new Promise<never>(() => {});
      };
      return replacing(env.HOME_APAC, { batch });
    };
    const batch = (all: D1PreparedStatement[]) => {
      askedHomes.push("main");
      return env.DB.batch(all).finally(answer);
    };
    const names = [1, 2, 3, 4, 5, 6].map((n) => `silent${n}`);
    const homes = Object.fromEntries(names.map((home) => [`HOME_${home.toUpperCase()}`, silent(home)]));
    const messages = [...names, "main"].map((home, n) => message(home, refusalOf(site, n)));
    const consumer = new JournalConsumer({ ...homes, DB: replacing(env.DB, { batch }) });
    const places = [7, 6, 5, 4, 3, 2, 1];
    consumer.chance = () => places.shift() ?? 0;
    vi.useFakeTimers();
    const writing = consumer.write(messages);
    await mainAnswered;
    // An invocation may have six calls waiting. Five wait here, so an answer can arrive.
    await vi.advanceTimersByTimeAsync(TRY_LIMIT_MS - 1);
    expect(askedHomes).toEqual(["main", "silent6", "silent5", "silent4", "silent3"]);
    await vi.advanceTimersByTimeAsync(TRY_LIMIT_MS + 1);
    expect(Object.keys(await writing)).toEqual(["0", "1", "2", "3", "4", "5"]);
    expect(await journalOf(site)).toEqual([refusalOf(site, 6)]);
  });

  it("the journal's consumer skips rows that it cannot read, and writes the others", async () => {
    const site = await newSite("main");
    const odd = [
      null,
      "text",
      17,
      [],
      {},
      { ...refusalOf(site, 2), reason: null },
      { ...refusalOf(site, 3), at: undefined },
    ];
    const consumer = new JournalConsumer();
    const again = await consumer.write([
      message("main", ...(odd as Refusal[])),
      message("main", refusalOf(site, 1), { ...refusalOf(site, 4), more: "of a later version" } as Refusal),
    ]);
    expect(again).toEqual({});
    consumer.clock.now += 1;
    expect(
      await consumer.write([message("main", ...([null, "text"] as unknown as Refusal[])), message("main")]),
    ).toEqual({});
    expect((await journalOf(site)).map(({ requestId }) => requestId)).toEqual([id(1), id(4)]);
  });

  it("the journal's consumer writes one batch a second to a home, which leaves time for signed calls in a flood", async () => {
    const site = await newSite("main");
    const consumer = new JournalConsumer();
    await consumer.write([message("main", refusalOf(site, 1))]);
    vi.useFakeTimers();
    const second = consumer.write([message("main", refusalOf(site, 2))]);
    await vi.advanceTimersByTimeAsync(999);
    expect(await journalOf(site)).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    await second;
    consumer.clock.now += 1;
    await consumer.write([message("main", refusalOf(site, 3))]);
    expect(await journalOf(site)).toHaveLength(3);
  });

  it("the journal's consumer writes the first 40 rows a minute of an app's unverified calls, and one later row for the rest", async () => {
    const [site, other] = [await newSite("main"), await newSite("main")];
    const consumer = new JournalConsumer();
    const forgery = (n: number, at = NOW) =>
      refusalOf(site, n, { at, secret: null, reason: "signature_mismatch", skipped: n === 105 ? 400 : 0 });
    // Five isolates, whose messages come in three batches.
    const isolates = Array.from({ length: 5 }, (_, i) => Array.from({ length: 21 }, (_, j) => forgery(5 * j + i + 1)));
    const [a, b, c, d, e] = isolates.map((rows) => message("main", ...rows)) as [
      object,
      object,
      object,
      object,
      object,
    ];
    for (const batch of [[a, b, message("main", refusalOf(site, 201), refusalOf(other))], [c, d], [e]]) {
      consumer.clock.now += 1;
      await consumer.write(batch);
    }
    const idsOf = async () => (await journalOf(site)).map(({ requestId }) => requestId);
    const ofBoth = isolates
      .slice(0, 2)
      .flat()
      .map(({ requestId }) => requestId)
      .toSorted();
    expect(await idsOf()).toEqual([...ofBoth.slice(0, 40), id(201)]);
    consumer.clock.now = NOW + 120;
    await consumer.write([message("main", forgery(300, NOW + 120))]);
    const rows = (await journalOf(site)).filter(({ secret }) => secret === null);
    expect(rows).toHaveLength(40 + 1 + 1);
    expect(rows.reduce((sum, { skipped }) => sum + 1 + skipped, 0)).toBe(105 + 400 + 1);
    consumer.clock.now += 120;
    await consumer.write([message("main", refusalOf(site, 202))]);
    expect((await journalOf(site)).filter(({ secret }) => secret === null)).toEqual(rows);
  });

  it("the journal's consumer writes a repeated message whole and counts none of its calls twice", async () => {
    const site = await newSite("main");
    const forgeries = Array.from({ length: 60 }, (_, i) => refusalOf(site, i + 1, { secret: null }));
    const lossy = replacing(env.DB, {
      batch: (all: D1PreparedStatement[]) => env.DB.batch(all).then(() => Promise.reject(new Error("lost"))),
    });
    const answers = { lost: true };
    const db = replacing(env.DB, { batch: (all: D1PreparedStatement[]) => (answers.lost ? lossy : env.DB).batch(all) });
    const consumer = new JournalConsumer({ DB: db });
    expect(await consumer.write([message("main", ...forgeries)])).toEqual({ 0: 30 });
    expect(await journalOf(site)).toHaveLength(40);
    answers.lost = false;
    consumer.clock.now += 1;
    await consumer.write([message("main", ...forgeries)], 2);
    expect((await journalOf(site)).map(({ skipped }) => skipped)).toEqual(Array(60).fill(0));
  });

  it("the journal's consumer writes 5,000 rows of one batch", async () => {
    const site = await newSite("main");
    const messages = Array.from({ length: 100 }, (_, i) =>
      message(
        "main",
        ...Array.from({ length: 50 }, (_, j) => refusalOf(site, i * 50 + j, { detail: "d".repeat(500) })),
      ),
    );
    await new JournalConsumer().write(messages);
    const count = env.DB.prepare("SELECT count(*) AS n FROM refusals WHERE site_id = ?").bind(site.siteId);
    expect(await count.first("n")).toBe(5_000);
  });
});
