import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { homeFill } from "../../../src/operators/services/home-fill.ts";
import { selectCopy } from "../../../src/operators/store/usage/directory-metrics.ts";
import { countingDb } from "../../support/counting-db.ts";
import { Faults, faultyD1 } from "../../support/faulty-bindings.ts";
import { contextAt } from "../../support/service-context.ts";
import { pruneAt } from "../../support/site-end.ts";
import { NOW, World } from "../../support/world.ts";

const DAY = 86_400;
const GB = 1_000_000_000;

beforeEach(() => env.DB.batch(["home_metrics", "site_metrics"].map((each) => env.DB.prepare(`DELETE FROM ${each}`))));

/** Stores what the directory knows of the home apac: its size now, and earlier sizes with their age in days. */
async function storeSizes(size: number | null, before: [daysAgo: number, bytes: number][] | undefined): Promise<void> {
  const sizes = before?.map(([days, bytes]) => [NOW - days * DAY, bytes]);
  await env.DB.prepare("INSERT INTO home_metrics (home, at, copy, counters, gauges) VALUES ('apac', ?, 1, '[]', ?)")
    .bind(NOW, JSON.stringify({ size, ...(sizes && { sizes }) }))
    .run();
}

/** How full the home apac is when its first site was made this many days ago. */
async function fillOf(firstSiteDays = 0) {
  await World.create({}, "apac");
  await env.DB.prepare("UPDATE sites SET created_at = ? WHERE home = 'apac'")
    .bind(NOW - firstSiteDays * DAY)
    .run();
  const fills = await homeFill(contextAt(NOW));
  expect(fills.map(({ home }) => home)).toEqual(["main", "apac"]);
  return fills[1];
}

describe("the fill of a home", () => {
  it("the time when a home is full is estimated from its sizes of the last 31 days", async () => {
    await storeSizes(8 * GB, [
      [20, 6 * GB],
      [10, 7.5 * GB],
    ]);
    expect(await fillOf(400)).toEqual({
      home: "apac",
      bytes: 8 * GB,
      limit: 10 * GB,
      at: NOW,
      growth: 0.1 * GB,
      from: "sizes",
      since: NOW - 20 * DAY,
      fullAt: NOW + 20 * DAY,
      isFilling: true,
    });
  });

  it("the time when a home is full is estimated from the age of its first site while few sizes are known", async () => {
    await storeSizes(5 * GB, [[2, 1 * GB]]);
    const old = await fillOf(100);
    expect(old).toMatchObject({ growth: 0.05 * GB, from: "age", since: NOW - 100 * DAY, fullAt: NOW + 100 * DAY });
    expect(old?.isFilling).toBe(false);
    expect(await fillOf(50)).toMatchObject({ fullAt: NOW + 50 * DAY, isFilling: true });
  });

  it("the time when a home is full is unknown for a new or unmeasured home, and a home that shrinks is never full", async () => {
    expect(await fillOf(100)).toMatchObject({ bytes: null, at: null, growth: null, fullAt: null, isFilling: false });
    await storeSizes(8 * GB, undefined);
    expect(await fillOf(0)).toMatchObject({ bytes: 8 * GB, growth: null, from: null, fullAt: null, isFilling: true });
    await env.DB.prepare("DELETE FROM home_metrics").run();
    await storeSizes(1 * GB, [[10, 2 * GB]]);
    expect(await fillOf(100)).toMatchObject({ growth: -0.1 * GB, fullAt: null, isFilling: false });
  });

  it("the fill level of all homes is read from the directory with one query", async () => {
    await storeSizes(1 * GB, []);
    const { db, trips } = countingDb(env.DB);
    await homeFill(contextAt(NOW, { DB: db, HOME_APAC: faultyD1(env.HOME_APAC, new Faults(() => "before")) }));
    expect(trips).toEqual({ batches: 0, single: 1 });
  });
});

describe("the stored sizes of a home", () => {
  it("the directory keeps one size of a home per day, for 31 days", async () => {
    for (const at of [NOW, NOW + 300, NOW + DAY, NOW + 2 * DAY + 60]) await pruneAt(at);
    const { sizes } = await selectCopy(env.DB, "apac");
    expect(sizes.map(([at]) => at)).toEqual([NOW, NOW + DAY, NOW + 2 * DAY + 60]);
    expect(sizes.every(([, bytes]) => bytes > 0)).toBe(true);
    await pruneAt(NOW + 32 * DAY);
    expect((await selectCopy(env.DB, "apac")).sizes.map(([at]) => at)).toEqual([NOW + 2 * DAY + 60, NOW + 32 * DAY]);
  });
});
