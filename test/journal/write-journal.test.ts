import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Refusal } from "../../src/services/journal.ts";
import { closing } from "../support/closing.ts";
import { downDb } from "../support/down-db.ts";
import { firedTimers } from "../support/fired-timers.ts";
import { JournalConsumer, journalOf } from "../support/journal.ts";
import { newSite, type Site } from "../support/new-site.ts";
import { replacing } from "../support/replacing.ts";
import { NOW } from "../support/test-runtime.ts";

const id = (n: number) => `01a3185c-5000-7000-8000-${String(n).padStart(12, "0")}`;

const refusalOf = ({ siteId, appid }: Site, n = 1, given: Partial<Refusal> = {}): Refusal => ({
  siteId,
  appid,
  requestId: id(n),
  at: NOW,
  operation: "create_session",
  status: 401,
  reason: "timestamp_stale",
  detail: "timestamp: must be fresh",
  secret: "v1",
  client: "192.0.2.0/24",
  skipped: 0,
  ...given,
});

const message = (home: string, ...refusals: Refusal[]) => ({ home, refusals });

describe("the consumer of the journal", () => {
  it("writes the refused calls into their home, and logs how many", async () => {
    const [site, other] = [await newSite("apac"), await newSite("main")];
    const consumer = new JournalConsumer();
    const rows = [refusalOf(site, 1), refusalOf(site, 2, { detail: null, secret: null, client: null, skipped: 79 })];
    expect(await consumer.write([message("apac", ...rows), message("main", refusalOf(other))])).toEqual({});
    expect(await journalOf(site)).toEqual(rows);
    expect(await journalOf(other)).toEqual([refusalOf(other)]);
    expect(consumer.kept.jobs).toEqual([
      { job: "journal", outcome: "ok", homes: { apac: { rows: 2 }, main: { rows: 1 } }, ms: expect.any(Number) },
    ]);
  });

  it("changes nothing when a message comes twice, in one batch, later, or with other values", async () => {
    const site = await newSite("main");
    const consumer = new JournalConsumer();
    const twice = message("main", refusalOf(site, 1, { skipped: 3 }), refusalOf(site, 2));
    await consumer.write([twice, twice]);
    consumer.clock.now += 86_400;
    await consumer.write([twice, message("main", refusalOf(site, 1, { skipped: 9, reason: "fields_invalid" }))]);
    expect(await journalOf(site)).toEqual([refusalOf(site, 1, { skipped: 3 }), refusalOf(site, 2)]);
  });

  it("asks for the messages of a closed home again, writes the others, and loses nothing", async () => {
    const [closed, open] = [await newSite("apac"), await newSite("main")];
    const messages = [message("apac", refusalOf(closed)), message("main", refusalOf(open))];
    expect(await new JournalConsumer(closing("apac")).write(messages)).toEqual({ 0: 30 });
    expect(await journalOf(closed)).toEqual([]);
    expect(await journalOf(open)).toHaveLength(1);
    expect(await new JournalConsumer().write([messages[0]], 2)).toEqual({});
    expect(await journalOf(closed)).toEqual([refusalOf(closed)]);
  });

  it("asks for the messages of a home that fails or is not bound again, ever later, up to an hour", async () => {
    const site = await newSite("apac");
    const failing = new JournalConsumer({ HOME_APAC: downDb(env.HOME_APAC) });
    const delays: (number | undefined)[] = [];
    for (const attempts of [1, 2, 5, 8, 99]) {
      delays.push((await failing.write([message("apac", refusalOf(site))], attempts))[0]);
    }
    expect(delays).toEqual([30, 60, 480, 3_600, 3_600]);
    expect(failing.kept.jobs[0]).toMatchObject({ outcome: "failed", homes: { apac: { rows: 0, later: 1 } } });
    expect(await new JournalConsumer().write([message("nowhere", refusalOf(site))])).toEqual({ 0: 30 });
  });

  it("writes nothing of an app that the home does not have: a cache named a wrong home, or its site is gone", async () => {
    const [site, other] = [await newSite("apac"), await newSite("apac")];
    const consumer = new JournalConsumer();
    const strange = { ...refusalOf(site), siteId: other.siteId };
    await consumer.write([message("main", refusalOf(site)), message("apac", strange)]);
    expect([...(await journalOf(site)), ...(await journalOf(other))]).toEqual([]);
    const { results } = await env.DB.prepare("SELECT 1 FROM refusals WHERE site_id = ?").bind(site.siteId).all();
    expect(results).toEqual([]);
  });

  it("asks the homes in another order each time, so that one that answers is written beside six that are silent", async () => {
    const site = await newSite("main");
    let waiting = 0;
    const inLine: (() => void)[] = [];
    const inTurn = async <T>(call: () => Promise<T>): Promise<T> => {
      if (waiting >= 6) await new Promise<void>((go) => inLine.push(go));
      waiting++;
      try {
        return await call();
      } finally {
        waiting--;
        inLine.shift()?.();
      }
    };
    const silent = replacing(env.HOME_APAC, { batch: () => inTurn(() => new Promise<never>(() => {})) });
    const main = replacing(env.DB, { batch: (all: D1PreparedStatement[]) => inTurn(() => env.DB.batch(all)) });
    const homes = Object.fromEntries([1, 2, 3, 4, 5, 6].map((n) => [`HOME_SILENT${n}`, silent]));
    const messages = [1, 2, 3, 4, 5, 6].map((n) => message(`silent${n}`, refusalOf(site, n)));
    const all = [...messages, message("main", refusalOf(site))];
    const consumer = new JournalConsumer({ ...homes, DB: main });
    const places = [7, 6, 5, 4, 3, 2, 1];
    consumer.chance = () => places.shift() ?? 0;
    expect(Object.keys(await consumer.write(all))).toEqual(["0", "1", "2", "3", "4", "5"]);
    expect(await journalOf(site)).toEqual([refusalOf(site)]);
  }, 30_000);

  it("leaves out rows that it cannot read, and writes all others", async () => {
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
    expect(
      await consumer.write([message("main", ...([null, "text"] as unknown as Refusal[])), message("main")]),
    ).toEqual({});
    expect((await journalOf(site)).map(({ requestId }) => requestId)).toEqual([id(1), id(4)]);
  });

  it("writes one batch a second to a home, so that a flood leaves the home to signed calls", async () => {
    const site = await newSite("main");
    const consumer = new JournalConsumer();
    await consumer.write([message("main", refusalOf(site, 1))]);
    const fired = firedTimers();
    await consumer.write([message("main", refusalOf(site, 2))]);
    expect(fired).toEqual([1_000]);
    consumer.clock.now += 1;
    await consumer.write([message("main", refusalOf(site, 3))]);
    expect(fired).toEqual([1_000]);
    expect(await journalOf(site)).toHaveLength(3);
  });

  it("writes 5,000 rows of one batch", async () => {
    const site = await newSite("main");
    const messages = Array.from({ length: 100 }, (_, i) =>
      message(
        "main",
        ...Array.from({ length: 50 }, (_, j) => refusalOf(site, i * 50 + j, { detail: "d".repeat(500) })),
      ),
    );
    await new JournalConsumer().write(messages);
    expect(await journalOf(site)).toHaveLength(5_000);
  });
});
