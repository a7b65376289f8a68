import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { MOST_COUNTED, readMetrics } from "../../../../src/operators/store/usage/home-metrics.ts";
import { fillDeliveries, setDeliveries } from "../../../support/deliveries.ts";
import { newWebhook } from "../../../support/new-webhook.ts";
import { NOW, World } from "../../../support/world.ts";

const gauges = async (prunedUntil = NOW) => (await readMetrics(env.DB, 0, prunedUntil)).gauges;

describe("the gauges of a home", () => {
  it("the gauges of a home have the age of the oldest pending delivery and count up to 10,000 deliveries", async () => {
    const webhook = await newWebhook(await World.create());
    await fillDeliveries(webhook, MOST_COUNTED + 1);
    await setDeliveries(webhook, "created_at = 1000 + seq");
    expect(await gauges()).toMatchObject({ pending: 10_000, failed: 0 });
    await setDeliveries(webhook, "status = 'failed', next_attempt_at = NULL");
    expect(await gauges()).toMatchObject({ pending: 0, oldestPendingAt: null, failed: 10_000 });
    const another = await newWebhook(await World.create());
    await fillDeliveries(another, 3);
    await setDeliveries(another, "created_at = 1000 + seq, next_attempt_at = 9000 - seq");
    expect(await gauges()).toMatchObject({ pending: 3, oldestPendingAt: 1_001 });
  });

  it("the gauges of a home count open and closed sites separately", async () => {
    const { openSites, closedSites } = await gauges();
    const world = await World.create();
    await World.create();
    await env.DB.prepare("UPDATE home_sites SET status = 'closed' WHERE site_id = ?").bind(world.siteId).run();
    expect(await gauges()).toMatchObject({ openSites: openSites + 1, closedSites: closedSites + 1 });
  });

  it("the gauges of a home count a failing webhook that was disabled only as disabled", async () => {
    await newWebhook(await World.create(), { status: "disabled", failing_since: NOW });
    expect(await gauges()).toMatchObject({ failing: 0, disabled: 1 });
  });

  it("the gauges of a home show how far pruning is behind, and null before its first run", async () => {
    expect(await gauges()).toMatchObject({ pruneLag: null, completeUntil: null });
    await env.DB.prepare("UPDATE folds SET nonces_until = ?, refusals_until = ?")
      .bind(NOW - 600, NOW - 700)
      .run();
    expect(await gauges()).toMatchObject({ pruneLag: 600, completeUntil: NOW - 700 });
    expect(await gauges(NOW - 900)).toMatchObject({ pruneLag: 0 });
  });
});
