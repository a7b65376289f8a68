import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  DeliveringWorker,
  deliveriesOf,
  fillDeliveries,
  readWebhook,
  setDeliveries,
  setWebhook,
} from "../support/deliveries.ts";
import { eventually } from "../support/eventually.ts";
import { FAULTS, type Fault, Faults, faultyD1 } from "../support/faulty-bindings.ts";
import { newWebhook } from "../support/new-webhook.ts";
import { replacing } from "../support/replacing.ts";
import { eventStore } from "../support/webhook-store.ts";
import { NOW, World } from "../support/world.ts";

afterEach(() => vi.unstubAllGlobals());

/** The batches of one delivery, in their order. */
const BATCHES = ["the lease", "the recording"];

const COUNT = 6;

async function deliveringThrough(plan: (batch: number) => Fault | undefined) {
  const webhook = await newWebhook(await World.create());
  await fillDeliveries(webhook, COUNT);
  const faults = new Faults(({ nth }) => plan(nth));
  const worker = new DeliveringWorker({ DB: faultyD1(env.DB, faults) });
  // Time limits of seconds end forty times earlier.
  worker.haste = 40;
  return { webhook, faults, worker };
}

const idsOf = (worker: DeliveringWorker) => worker.posted.map(({ headers }) => headers.get("webhook-id"));

describe.each(BATCHES.map((name, nth) => [name, nth] as const))("when the answer of %s is lost", (_, nth) => {
  it.each(FAULTS)(
    "when the answer of a batch is lost (%s), the batch runs again, and each event is posted once",
    async (fault) => {
      const { webhook, faults, worker } = await deliveringThrough((batch) => (batch === nth ? fault : undefined));
      await worker.deliver(webhook);
      await faults.end();
      expect(idsOf(worker).sort()).toEqual(Array.from({ length: COUNT }, (__, i) => `evt_${i + 1}`));
      const row = { status: "delivered", attempts: 1, claim: null };
      expect(await deliveriesOf(webhook)).toMatchObject(Array.from({ length: COUNT }, () => row));
    },
  );
});

describe("a webhook that an operator enables between two tries of the batch that disabled it", () => {
  it.each([true, false])(
    "a webhook that is enabled between two tries to disable it stays enabled, with one event (another webhook: %s)",
    async (hasOther) => {
      const world = await World.create();
      const webhook = await newWebhook(world);
      if (hasOther) await newWebhook(world, { url: "https://other.example.com/in" });
      await fillDeliveries(webhook, 1);
      let batches = 0;
      const batch = async (statements: D1PreparedStatement[]) => {
        const results = await env.DB.batch(statements);
        if (++batches !== 2) return results;
        expect(await readWebhook(webhook)).toMatchObject({ status: "disabled" });
        await setWebhook(webhook, "status = 'enabled', disabled_reason = NULL, disabled_at = NULL");
        throw new Error("D1_ERROR: Network connection lost.");
      };
      const worker = new DeliveringWorker({ DB: replacing(env.DB, { batch }) });
      worker.receiver = () => new Response(null, { status: 410 });
      await worker.deliver(webhook);
      expect(await readWebhook(webhook)).toMatchObject({ status: "enabled", disabled_reason: null });
      const { events } = await eventStore(world);
      expect(events.filter(({ type }) => type === "webhook.disabled")).toHaveLength(1);
      const query = env.DB.prepare(
        "SELECT count(*) AS n FROM audit_log WHERE site_id = ? AND action = 'webhook.disabled'",
      );
      expect(await query.bind(world.siteId).first("n")).toBe(1);
    },
  );

  it("a webhook that was enabled again is disabled by the next 410, also within the same second", async () => {
    const webhook = await newWebhook(await World.create());
    const worker = new DeliveringWorker();
    worker.receiver = () => new Response(null, { status: 410 });
    await fillDeliveries(webhook, 1);
    for (let i = 0; i < 2; i++) {
      await setWebhook(webhook, "status = 'enabled', disabled_reason = NULL, disabled_at = NULL");
      await setDeliveries(webhook, `status = 'pending', next_attempt_at = ${NOW}`);
      await worker.deliver(webhook);
      expect(await readWebhook(webhook)).toMatchObject({ status: "disabled", disabled_reason: "gone" });
    }
  });
});

describe("when the database stops answering", () => {
  it.each(FAULTS)(
    "events whose results the database did not record are posted again under the same ids (%s)",
    async (fault) => {
      const { webhook, faults, worker } = await deliveringThrough((batch) => (batch >= 1 ? fault : undefined));
      await worker.deliver(webhook);
      expect(worker.keptRecords.jobs).toMatchObject([
        { outcome: "failed", homes: { main: { fault: expect.any(String) } } },
      ]);
      await faults.end();
      worker.clock.now += 66;
      await worker.scheduled("* * * * *");
      expect(worker.notices.some((notice) => notice.webhook === webhook.id)).toBe(
        (await deliveriesOf(webhook)).some(({ status }) => status === "pending"),
      );
      await worker.deliver(webhook);
      expect((await deliveriesOf(webhook)).map(({ status }) => status)).toEqual(
        Array.from({ length: COUNT }, () => "delivered"),
      );
      expect(new Set(idsOf(worker)).size).toBe(COUNT);
      expect(new Set(worker.posted.map(({ body }) => body)).size).toBe(COUNT);
    },
  );

  it("when the database stops answering at the lease, nothing is posted, and another home is served", async () => {
    const { webhook, faults, worker } = await deliveringThrough(() => "never done");
    const other = await newWebhook(await World.create({}, "apac"));
    await fillDeliveries(other, COUNT);
    const delivery = worker.deliver(webhook, other);
    await eventually(async () => {
      expect((await deliveriesOf(other)).map(({ status }) => status)).toEqual(
        Array.from({ length: COUNT }, () => "delivered"),
      );
    });
    expect(faults.isSilent).toBe(true);
    await delivery;
    expect(worker.posted.every(({ url }) => url === other.url)).toBe(true);
    await faults.end();
  });
});
