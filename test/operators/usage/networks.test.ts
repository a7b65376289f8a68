import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { findSite } from "../../../src/operators/services/sites.ts";
import { readNetworkUses } from "../../../src/operators/services/usage.ts";
import { JournalConsumer, keepingJournal } from "../../support/journal.ts";
import { contextAt } from "../../support/service-context.ts";
import { pruneAt } from "../../support/site-end.ts";
import { beginCounting, COUNTED, storedUsage } from "../../support/usage.ts";
import { NOW, World } from "../../support/world.ts";

/** From which networks secrets were used. The home is not the directory, so that a statement in the wrong database finds nothing. */

const DAY = 86_400;

beforeEach(beginCounting);

const newWorld = () => World.create({}, "apac");
const from = (address: string) => ({ "cf-connecting-ip": address });

async function usesOf(world: World, now = COUNTED) {
  const ctx = contextAt(now);
  const site = await findSite(ctx, { siteId: world.siteId });
  return readNetworkUses(ctx, { site, appid: world.appid, limit: 20 });
}

const storedNetworks = async (world: World) =>
  (await storedUsage(world)).hours.map(({ outcome, networks }) => [outcome, JSON.parse(String(networks))]);

describe("the networks of a secret", () => {
  it("a call stores the network of its client in the row of its nonce, and no network without an address", async () => {
    const world = await newWorld();
    await world.create({}, from("203.0.113.77"));
    await world.create({}, from("2001:db8:4f:1::9"));
    await world.create();
    const { results } = await env.HOME_APAC.prepare("SELECT client FROM nonces WHERE site_id = ? ORDER BY client")
      .bind(world.siteId)
      .all();
    expect(results).toEqual([{ client: null }, { client: "2001:db8:4f::/48" }, { client: "203.0.113.0/24" }]);
  });

  it("each secret has the networks that it was used from, with the last use of each, also of refused calls", async () => {
    const { JOURNAL, sent } = keepingJournal();
    const world = await newWorld();
    await world.create({}, from("203.0.113.1"));
    const rotated = await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: DAY });
    world.clock.now = NOW + 60;
    await world.create({}, from("198.51.100.1"));
    await world.create({}, from("203.0.113.200"));
    world.secret = (await rotated.json<{ secret: string }>()).secret;
    world.clock.now = NOW + 120;
    await world.create({}, from("192.0.2.1"));
    const refused = { kefu_id: [77], fzr_uid: 77 };
    expect((await world.anotherIsolate({ JOURNAL }).create(refused, from("192.0.2.2"))).status).toBe(400);
    const tooOld = { timestamp: NOW - 600 };
    expect((await world.anotherIsolate({ JOURNAL }).create(tooOld, from("192.88.99.1"))).status).toBe(401);
    const forged = { ...from("100.64.0.1"), "x-chat-signature": "00".repeat(32) };
    expect((await world.anotherIsolate({ JOURNAL }).send("create_gd", world.createBody(), forged)).status).toBe(401);
    await new JournalConsumer().write(sent);
    await pruneAt(COUNTED + 180);
    expect(await usesOf(world)).toEqual([
      { secret: "current", network: "192.0.2.0/24", lastUsedAt: NOW + 120 },
      { secret: "current", network: "192.88.99.0/24", lastUsedAt: NOW + 120 },
      { secret: "previous", network: "198.51.100.0/24", lastUsedAt: NOW + 60 },
      { secret: "previous", network: "203.0.113.0/24", lastUsedAt: NOW + 60 },
    ]);
    expect(JSON.stringify(await storedUsage(world))).not.toContain("100.64.0");
  });

  it("a secret that is neither in use nor the one before is called ended", async () => {
    const world = await newWorld();
    await world.create({}, from("203.0.113.1"));
    await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 0 });
    await pruneAt(COUNTED);
    expect(await usesOf(world)).toEqual([{ secret: "ended", network: "203.0.113.0/24", lastUsedAt: NOW }]);
  });

  it("an hour keeps the eight newest networks of a secret, whether its calls are counted at once or one after the other", async () => {
    const [together, apart] = [await newWorld(), await newWorld()];
    const networkOf = (i: number) => `10.0.${i}.0/24`;
    for (const world of [apart, together]) {
      for (let i = 0; i < 10; i++) {
        world.clock.now = NOW + i * 10;
        await world.create({}, from(`10.0.${i}.1`));
        if (world === apart && i === 5) await pruneAt(COUNTED + 60);
      }
    }
    await pruneAt(COUNTED + 120);
    const newest = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [networkOf(i + 2), NOW + (i + 2) * 10]));
    for (const world of [together, apart]) expect(await storedNetworks(world)).toEqual([["accepted", newest]]);
  });

  it("the networks of a secret are known for the days whose hours are stored, and the usage by days has none", async () => {
    const world = await newWorld();
    await world.create({}, from("203.0.113.1"));
    await pruneAt(COUNTED);
    expect(await usesOf(world, NOW + 14 * DAY)).toHaveLength(1);
    expect(await usesOf(world, NOW + 15 * DAY)).toEqual([]);
    await pruneAt(NOW + 15 * DAY);
    const { hours, days } = await storedUsage(world);
    expect([hours, days.map(({ count }) => count)]).toEqual([[], [1]]);
    expect(JSON.stringify(days)).not.toContain("203.0.113");
  });
});
