import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { DeliveringWorker, fillDeliveries, readWebhook, setDeliveries, setWebhook } from "../support/deliveries.ts";
import { newWebhook, type TestWebhook } from "../support/new-webhook.ts";
import { replacing } from "../support/replacing.ts";
import { eventStore } from "../support/webhook-store.ts";
import { NOW, World } from "../support/world.ts";

afterEach(() => vi.unstubAllGlobals());

/** A database that loses the answer of one batch after it was done. */
function losingAnswer(of: number): D1Database {
  let batches = 0;
  const batch = async (statements: D1PreparedStatement[]) => {
    const results = await env.DB.batch(statements);
    if (++batches === of) throw new Error("D1_ERROR: Network connection lost.");
    return results;
  };
  return replacing(env.DB, { batch });
}

const NO_TEXT = "王伟: where is my order?";

/** A site with several webhooks, each with a due event. The receiver of one webhook fails with a customer's text. */
async function failingSite(status: number, home = "main") {
  const world = await World.create({}, home);
  const failing = await newWebhook(world);
  const other = await newWebhook(world);
  const narrow = await newWebhook(world, { events: '["session.created"]' });
  const disabled = await newWebhook(world, { status: "disabled" });
  await fillDeliveries(failing, 1);
  const worker = new DeliveringWorker();
  worker.receiver = ({ url }) => new Response(NO_TEXT, { status: url === failing.url ? status : 200 });
  return { world, failing, other, narrow, disabled, worker };
}

const eventsAbout = async (world: World, { id }: TestWebhook) => {
  const { events, deliveries } = await eventStore(world);
  return events
    .filter(({ data }) => JSON.parse(String(data)).webhook_id === id)
    .map(({ seq, type, created_at, session_id, data }) => ({
      type,
      created_at,
      session_id,
      data: JSON.parse(String(data)) as object,
      to: deliveries.filter((each) => each.seq === seq).map(({ webhook_id }) => webhook_id),
    }));
};

describe("when the Worker disables a webhook", () => {
  it("the other webhooks get an event about a disabled webhook, without texts of receivers or customers", async () => {
    const home = "apac";
    const { world, failing, other, worker } = await failingSite(410, home);
    await worker.deliver(failing);
    expect(await eventsAbout(world, failing)).toEqual([
      {
        type: "webhook.disabled",
        created_at: NOW,
        session_id: null,
        data: { seq: 2, webhook_id: failing.id, reason: "gone", failing_since: NOW, last_status: 410 },
        to: [other.id],
      },
    ]);
    expect(worker.notices).toEqual([{ home, site: world.siteId, webhook: other.id, delay: 0 }]);
    expect(worker.keptRecords.warnings).toMatchObject([
      { home, site: world.siteId, webhook: failing.id, reason: "gone" },
    ]);
    expect(JSON.stringify([await eventsAbout(world, failing), worker.keptRecords])).not.toContain("王伟");
    await worker.deliver(other);
    expect(worker.posted.at(-1)?.url).toBe(other.url);
    expect(JSON.parse(worker.posted.at(-1)?.body ?? "")).toMatchObject({ type: "webhook.disabled" });
  });

  it("the row of a disabled webhook says when and why, with the last failure in words of the service", async () => {
    const { world, failing, worker } = await failingSite(410);
    await worker.deliver(failing);
    const { webhooks } = await eventStore(world);
    expect(webhooks.find(({ id }) => id === failing.id)).toMatchObject({
      status: "disabled",
      disabled_reason: "gone",
      disabled_at: NOW,
      failing_since: NOW,
      revision: 1,
      last_status: 410,
      last_cause: "status",
      last_failed_at: NOW,
      last_seq: 1,
      last_error: null,
    });
  });

  it("the event about a disabled webhook is written once, even when D1's answer is lost", async () => {
    const { world, failing, other } = await failingSite(410);
    const worker = new DeliveringWorker({ DB: losingAnswer(2) });
    worker.receiver = () => new Response(null, { status: 410 });
    await worker.deliver(failing);
    expect(await eventsAbout(world, failing)).toMatchObject([{ type: "webhook.disabled", to: [other.id] }]);
    expect(await readWebhook(failing)).toMatchObject({ status: "disabled" });
    // The second try changes nothing, but still sends the notices and the warning.
    expect(worker.notices).toMatchObject([{ webhook: other.id, delay: 0 }]);
    expect(worker.keptRecords.warnings).toMatchObject([{ webhook: failing.id, reason: "gone" }]);
  });

  it("a site without events gets no event about a disabled webhook", async () => {
    const { world, failing, worker } = await failingSite(410);
    await env.DB.prepare("UPDATE home_sites SET events = 0 WHERE site_id = ?").bind(world.siteId).run();
    await worker.deliver(failing);
    expect(await readWebhook(failing)).toMatchObject({ status: "disabled" });
    expect(await eventsAbout(world, failing)).toEqual([]);
  });
});

describe("a webhook that fails", () => {
  const sweep = (worker: DeliveringWorker) => worker.scheduled("* * * * *");

  it("an event about a failing webhook is written 5 minutes after its first failure, once until it recovers", async () => {
    const { world, failing, other, worker } = await failingSite(503);
    await worker.deliver(failing);
    worker.clock.now = NOW + 299;
    await sweep(worker);
    expect(await eventsAbout(world, failing)).toEqual([]);
    worker.clock.now = NOW + 300;
    worker.notices.length = 0;
    await sweep(worker);
    await sweep(worker);
    worker.clock.now = NOW + 4_000;
    await sweep(worker);
    const expected = {
      type: "webhook.failing",
      created_at: NOW + 300,
      session_id: null,
      data: { seq: 2, webhook_id: failing.id, reason: "failing", failing_since: NOW, last_status: 503 },
      to: [other.id],
    };
    expect(await eventsAbout(world, failing)).toEqual([expected]);
    expect(worker.notices).toContainEqual({ home: "main", site: world.siteId, webhook: other.id, delay: 0 });

    worker.receiver = () => new Response();
    await worker.deliver(failing);
    expect(await readWebhook(failing)).toMatchObject({ failing_since: null });
    await setDeliveries(failing, `status = 'pending', next_attempt_at = ${worker.clock.now}`);
    worker.receiver = () => new Response(null, { status: 500 });
    await worker.deliver(failing);
    worker.clock.now += 300;
    await sweep(worker);
    expect(await eventsAbout(world, failing)).toMatchObject([expected, { data: { failing_since: NOW + 4_000 } }]);
  });

  it("the event about a failing webhook is written once, even when D1's answer is lost", async () => {
    const { world, failing, other, worker } = await failingSite(503);
    await worker.deliver(failing);
    const losing = new DeliveringWorker({ DB: losingAnswer(1) });
    losing.clock.now = NOW + 300;
    await sweep(losing);
    expect(await eventsAbout(world, failing)).toMatchObject([{ type: "webhook.failing", to: [other.id] }]);
  });

  it("no event is written about a failing webhook that was disabled or recovered before the sweep", async () => {
    const { world, failing, other, worker } = await failingSite(503);
    await fillDeliveries(other, 1);
    await worker.deliver(failing);
    await setWebhook(failing, "status = 'disabled'");
    await setWebhook(other, `failing_since = ${NOW}`);
    worker.clock.now = NOW + 300;
    await worker.deliver(other);
    await sweep(worker);
    expect([...(await eventsAbout(world, failing)), ...(await eventsAbout(world, other))]).toEqual([]);
  });
});
