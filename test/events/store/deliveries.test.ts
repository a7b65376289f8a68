import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { LEASE_SECONDS, type LeasedRow, leaseDue, selectLeased } from "../../../src/events/store/deliveries.ts";
import { deliveriesOf, fillDeliveries, setWebhook } from "../../support/deliveries.ts";
import { newWebhook, type TestWebhook } from "../../support/new-webhook.ts";
import { NOW, World } from "../../support/world.ts";

async function webhookWith(deliveries: number): Promise<TestWebhook> {
  const webhook = await newWebhook(await World.create());
  await fillDeliveries(webhook, deliveries);
  return webhook;
}

/** One try of a lease. @returns the seqs that it holds */
async function lease(
  { siteId, id }: TestWebhook,
  name: string,
  wanted: number,
  now = NOW,
): Promise<{ seqs: number[]; nextDue: number | null | undefined }> {
  const values = { now, until: now + LEASE_SECONDS, lease: name };
  const webhooks = JSON.stringify([{ siteId, id }]);
  const results = await env.DB.batch<LeasedRow>([
    leaseDue(env.DB, { ...values, siteId, webhookId: id, wanted, whenSuspect: wanted }),
    selectLeased(env.DB, { ...values, asked: webhooks }),
  ]);
  const rows = results[1]?.results ?? [];
  return { seqs: rows.flatMap(({ seq }) => seq ?? []), nextDue: rows[0]?.nextDue };
}

describe("a lease", () => {
  it("a lease gives each delivery to one caller only, at most 20 deliveries for a webhook", async () => {
    const webhook = await webhookWith(30);
    const leases = await Promise.all(Array.from({ length: 10 }, (_, i) => lease(webhook, `lease ${i}`, 4)));
    const seqs = leases.flatMap((each) => each.seqs);
    expect(seqs.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    expect((await deliveriesOf(webhook)).map(({ attempts }) => attempts)).toEqual([
      ...Array.from({ length: 20 }, () => 1),
      ...Array.from({ length: 10 }, () => 0),
    ]);
  });

  it("a lease holds the same deliveries when it runs twice because its answer was lost", async () => {
    const webhook = await webhookWith(30);
    const [first, again] = [await lease(webhook, "lease", 4), await lease(webhook, "lease", 4)];
    expect(first.seqs).toEqual([1, 2, 3, 4]);
    expect(again).toEqual(first);
    expect((await deliveriesOf(webhook))[0]?.attempts).toBe(1);
  });

  it("a lease holds at most 3 deliveries of a failing webhook, and none of a disabled or deleted one", async () => {
    const webhook = await webhookWith(5);
    expect((await lease(webhook, "none", 0)).seqs).toEqual([]);
    await setWebhook(webhook, "failing_since = 1");
    expect((await lease(webhook, "few", 6)).seqs).toEqual([1, 2, 3]);
    expect((await lease(webhook, "full", 6)).seqs).toEqual([]);
    await setWebhook(webhook, "status = 'disabled'");
    expect(await lease(webhook, "disabled", 6, NOW + 100)).toEqual({ seqs: [], nextDue: null });
    await env.DB.prepare("DELETE FROM webhooks WHERE id = ?").bind(webhook.id).run();
    expect(await lease(webhook, "deleted", 6, NOW + 100)).toEqual({ seqs: [], nextDue: undefined });
  });

  it("a lease holds its deliveries for 60 seconds, and after that any caller may lease them", async () => {
    const webhook = await webhookWith(2);
    await lease(webhook, "first", 6);
    expect((await lease(webhook, "early", 6, NOW + 59)).seqs).toEqual([]);
    expect((await lease(webhook, "second", 6, NOW + 60)).seqs).toEqual([1, 2]);
    expect((await deliveriesOf(webhook))[0]).toMatchObject({
      attempts: 2,
      claim: "second",
      next_attempt_at: NOW + 120,
    });
  });

  it("a lease takes the longest due deliveries, and returns the due time of the next unleased one", async () => {
    const webhook = await webhookWith(3);
    await env.DB.prepare("UPDATE deliveries SET next_attempt_at = ? - seq WHERE webhook_id = ?")
      .bind(NOW, webhook.id)
      .run();
    expect(await lease(webhook, "first", 2)).toEqual({ seqs: [2, 3], nextDue: NOW - 1 });
    expect(await lease(webhook, "second", 2)).toEqual({ seqs: [1], nextDue: null });
  });
});
