import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { closedHomeVars } from "../support/closed-home-vars.ts";
import { DeliveringWorker, deliveriesOf, fillDeliveries, setDeliveries, setWebhook } from "../support/deliveries.ts";
import { downDb } from "../support/down-db.ts";
import { databaseOf } from "../support/homes.ts";
import { newWebhook, type TestWebhook } from "../support/new-webhook.ts";
import { replacing } from "../support/replacing.ts";
import { NOW, World } from "../support/world.ts";

afterEach(() => vi.unstubAllGlobals());

const SWEEP = "* * * * *";

async function webhookWith(deliveries: string, home = "main"): Promise<TestWebhook> {
  const webhook = await newWebhook(await World.create({}, home));
  await fillDeliveries(webhook, 2);
  await setDeliveries(webhook, deliveries);
  return webhook;
}

/** The given webhooks for which one run of the sweep notifies the queue. */
async function runSweep(webhooks: TestWebhook[], worker = new DeliveringWorker()): Promise<TestWebhook[]> {
  await worker.scheduled(SWEEP);
  return webhooks.filter(({ home, siteId, id }) => {
    const sent = worker.notices.filter(
      (notice) => notice.home === home && notice.site === siteId && notice.webhook === id,
    );
    expect(sent.length).toBeLessThanOrEqual(1);
    return sent.length === 1;
  });
}

describe("the sweep", () => {
  it("the sweep notifies the queue once for each webhook with a delivery due for 5 seconds, in all homes", async () => {
    const never = await webhookWith(`next_attempt_at = ${NOW - 5}`);
    const lost = await webhookWith(`claim = 'lost', next_attempt_at = ${NOW - 5}`, "apac");
    const soon = await webhookWith(`next_attempt_at = ${NOW - 4}`);
    const inFlight = await webhookWith(`claim = 'held', next_attempt_at = ${NOW + 60}`);
    const done = await webhookWith("status = 'delivered', next_attempt_at = NULL");
    expect(await runSweep([never, lost, soon, inFlight, done])).toEqual([never, lost]);
  });

  it("the sweep delivers an event whose message was lost", async () => {
    const world = await World.create({ EVENTS: undefined });
    const webhook = await newWebhook(world);
    await world.chatId();
    const worker = new DeliveringWorker();
    worker.clock.now += 5;
    expect(await runSweep([webhook], worker)).toEqual([webhook]);
    await worker.deliver(webhook);
    expect(await deliveriesOf(webhook)).toMatchObject([{ status: "delivered" }]);
  });

  it("the sweep notifies the queue of due deliveries even when the database fails in a later step", async () => {
    const [failing, due] = [await webhookWith("attempts = 1"), await webhookWith(`next_attempt_at = ${NOW - 5}`)];
    await setWebhook(failing, `failing_since = ${NOW - 400}`);
    const batch = () => Promise.reject(new Error("D1_ERROR: D1 DB is overloaded"));
    const worker = new DeliveringWorker({ DB: replacing(env.DB, { batch }) });
    await expect(runSweep([], worker)).rejects.toThrow("not swept: main");
    expect(worker.notices.map(({ webhook }) => webhook)).toContain(due.id);
  });

  it("the sweep continues when a home fails, and reports the fault", async () => {
    const [down, up] = [await webhookWith("attempts = 0", "apac"), await webhookWith("attempts = 0")];
    const worker = new DeliveringWorker({ HOME_APAC: downDb(env.HOME_APAC) });
    worker.clock.now += 5;
    await expect(runSweep([], worker)).rejects.toThrow("not swept: apac");
    expect(worker.notices.map(({ webhook }) => webhook)).toContain(up.id);
    expect(worker.notices.map(({ webhook }) => webhook)).not.toContain(down.id);
    expect(worker.keptRecords.jobs).toMatchObject([
      { job: "sweep", outcome: "failed", faults: { apac: expect.any(String) } },
    ]);
  });

  it("the sweep does not touch a closed home", async () => {
    const webhook = await webhookWith("attempts = 0", "apac");
    const worker = new DeliveringWorker(closedHomeVars("apac"));
    worker.clock.now += 5;
    expect(await runSweep([webhook], worker)).toEqual([]);
  });

  it("the sweep ends pending deliveries of a disabled webhook, and removes those of a deleted one", async () => {
    const disabled = await webhookWith(`next_attempt_at = ${NOW + 9_000}`, "apac");
    await setWebhook(disabled, "status = 'disabled'");
    const deleted = await webhookWith("claim = 'held'", "apac");
    const { siteId, id } = deleted;
    await databaseOf("apac").prepare("DELETE FROM webhooks WHERE site_id = ? AND id = ?").bind(siteId, id).run();
    const worker = new DeliveringWorker();
    expect(await runSweep([disabled, deleted], worker)).toEqual([]);
    const failed = { status: "failed", next_attempt_at: null, claim: null, last_error: "the webhook is disabled" };
    expect(await deliveriesOf(disabled)).toMatchObject([failed, failed]);
    expect(await deliveriesOf(deleted)).toEqual([]);
    expect(worker.keptRecords.jobs).toMatchObject([{ ended: { apac: 4 } }]);
  });

  it("the sweep logs a record of counts", async () => {
    const worker = new DeliveringWorker();
    await worker.scheduled(SWEEP);
    const counts = { main: expect.any(Number), apac: expect.any(Number) };
    expect(worker.keptRecords.jobs).toEqual([
      { job: "sweep", outcome: "ok", woken: counts, ended: counts, ms: expect.any(Number) },
    ]);
  });
});

describe("a cron", () => {
  it.each([
    [SWEEP, ["sweep"]],
    ["*/5 * * * *", ["prune"]],
    ["0 0 * * *", ["sweep", "prune"]],
  ])("the cron %j runs %j", async (cron, jobs) => {
    const worker = new DeliveringWorker();
    await worker.scheduled(cron);
    expect(worker.keptRecords.jobs.map(({ job }) => job)).toEqual(jobs);
  });
});
