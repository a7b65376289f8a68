import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, it, vi } from "vitest";
import { closedHomeVars } from "../support/closed-home-vars.ts";
import {
  DeliveringWorker,
  deliveriesOf,
  fillDeliveries,
  readWebhook,
  setDeliveries,
  setWebhook,
} from "../support/deliveries.ts";
import { downDb } from "../support/down-db.ts";
import { newWebhook, sealedIn } from "../support/new-webhook.ts";
import { NOW, World } from "../support/world.ts";

afterEach(() => vi.unstubAllGlobals());

/** The signature that the public package makes at the test's time. */
const signatureOf = (secret: string, id: string, body: string, at = NOW) =>
  new Webhook(secret).sign(id, new Date(at * 1000), body);

describe("an event that is due", () => {
  it("a due event is posted as Standard Webhooks requires, and counts as delivered", async () => {
    const world = await World.create();
    const webhook = await newWebhook(world);
    const chatId = await world.chatId({ content: '王伟 🙂 "</script>' });
    const worker = new DeliveringWorker();
    worker.clock.now += 7;
    await worker.deliver(webhook);

    const [posted, ...more] = worker.posted;
    expect(more).toEqual([]);
    const { id, data } = (await env.DB.prepare("SELECT id, data FROM events WHERE site_id = ?")
      .bind(world.siteId)
      .first<{ id: string; data: string }>()) as { id: string; data: string };
    expect(posted?.url).toBe(webhook.url);
    expect(posted?.body).toBe(`{"type":"session.created","timestamp":"2027-01-15T08:00:00.000Z","data":${data}}`);
    expect(JSON.parse(data)).toMatchObject({ seq: 1, chat_id: chatId });
    expect(Object.fromEntries(posted?.headers ?? [])).toEqual({
      "content-type": "application/json",
      "user-agent": "agent-session-webhooks/1",
      "webhook-id": id,
      "webhook-timestamp": String(NOW + 7),
      "webhook-signature": signatureOf(webhook.secret, id, posted?.body ?? "", NOW + 7),
    });
    expect(await deliveriesOf(webhook)).toEqual([
      {
        seq: 1,
        status: "delivered",
        attempts: 1,
        next_attempt_at: null,
        claim: null,
        last_status: 200,
        last_error: null,
      },
    ]);
    expect(worker.notices).toEqual([]);
  });

  it("a due event is signed with both secrets during an overlap, and with the current one after it", async () => {
    const world = await World.create();
    const previous = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const webhook = await newWebhook(world);
    const sealed = await sealedIn("previous", webhook, previous);
    const columns = Object.entries(sealed).map(([name, value]) => `${name} = '${value}'`);
    await setWebhook(webhook, `${columns.join(", ")}, previous_expires_at = ${NOW + 1}`);
    await fillDeliveries(webhook, 1);
    const worker = new DeliveringWorker();
    await worker.deliver(webhook);
    worker.clock.now += 1;
    await setDeliveries(webhook, `status = 'pending', next_attempt_at = ${NOW}`);
    await worker.deliver(webhook);
    const [both, current] = worker.posted;
    expect(both?.headers.get("webhook-signature")?.split(" ")).toEqual([
      signatureOf(webhook.secret, "evt_1", both?.body ?? ""),
      signatureOf(previous, "evt_1", both?.body ?? ""),
    ]);
    expect(current?.headers.get("webhook-signature")).toBe(
      signatureOf(webhook.secret, "evt_1", current?.body ?? "", NOW + 1),
    );
  });

  it("a due event is not posted when MASTER_KEY does not open the secret, and its delivery fails", async () => {
    const webhook = await newWebhook(await World.create(), { version: "another" });
    await fillDeliveries(webhook, 2);
    const worker = new DeliveringWorker();
    await worker.deliver(webhook);
    expect(worker.posted).toEqual([]);
    const failed = {
      status: "pending",
      attempts: 1,
      last_status: null,
      last_error: "the secret does not open: MASTER_KEY",
    };
    expect(await deliveriesOf(webhook)).toMatchObject([failed, failed]);
    expect(worker.keptRecords.warnings).toMatchObject([
      { warning: "the secret of a webhook does not open: MASTER_KEY", home: "main", webhook: webhook.id },
    ]);
    // This is no fault of the receiver, so it does not bring the webhook closer to being disabled.
    expect((await readWebhook(webhook)).failing_since).toBeNull();
  });

  it("a due event is not posted to a URL that no webhook may have, even if the database has it", async () => {
    const webhook = await newWebhook(await World.create(), { url: "http://127.0.0.1/" });
    await fillDeliveries(webhook, 1);
    const worker = new DeliveringWorker();
    await worker.deliver(webhook);
    expect(worker.posted).toEqual([]);
    const [delivery] = await deliveriesOf(webhook);
    expect(delivery).toMatchObject({ status: "pending", attempts: 1, last_status: null });
    expect(delivery?.last_error).toMatch(/^the URL must /);
  });

  it("a due event is posted to this machine where WEBHOOK_LOOPBACK allows it", async () => {
    const webhook = await newWebhook(await World.create(), { url: "http://127.0.0.1:9/" });
    await fillDeliveries(webhook, 1);
    await new DeliveringWorker({ WEBHOOK_LOOPBACK: "allow" }).deliver(webhook);
    expect(await deliveriesOf(webhook)).toMatchObject([{ status: "delivered" }]);
  });

  it("a delivery is skipped when its event was erased or no longer exists", async () => {
    const webhook = await newWebhook(await World.create());
    await fillDeliveries(webhook, 3);
    const { siteId } = webhook;
    await env.DB.batch([
      env.DB.prepare("UPDATE events SET data = NULL WHERE site_id = ? AND seq = 1").bind(siteId),
      env.DB.prepare("DELETE FROM events WHERE site_id = ? AND seq = 2").bind(siteId),
    ]);
    const worker = new DeliveringWorker();
    await worker.deliver(webhook);
    expect(worker.posted.map(({ headers }) => headers.get("webhook-id"))).toEqual(["evt_3"]);
    const skipped = { status: "skipped", next_attempt_at: null, claim: null };
    expect(await deliveriesOf(webhook)).toMatchObject([skipped, skipped, { status: "delivered" }]);
    expect(await readWebhook(webhook)).toMatchObject({ failing_since: null });
  });

  it("an event is posted when it is due, although the message came a little too early", async () => {
    const webhook = await newWebhook(await World.create());
    await fillDeliveries(webhook, 1);
    await setDeliveries(webhook, `next_attempt_at = ${NOW + 2}`);
    const worker = new DeliveringWorker();
    await worker.deliver(webhook);
    expect(worker.posted).toEqual([]);
    expect(worker.notices).toEqual([{ home: "main", site: webhook.siteId, webhook: webhook.id, delay: 2 }]);
  });

  it("an event is not posted to a disabled webhook, nor before it is due", async () => {
    const world = await World.create();
    const [disabled, early] = [await newWebhook(world, { status: "disabled" }), await newWebhook(world)];
    for (const webhook of [disabled, early]) await fillDeliveries(webhook, 1);
    await setDeliveries(early, `next_attempt_at = ${NOW + 3}`);
    const worker = new DeliveringWorker();
    await worker.deliver(disabled, early);
    expect(worker.posted).toEqual([]);
    for (const webhook of [disabled, early])
      expect(await deliveriesOf(webhook)).toMatchObject([{ status: "pending", attempts: 0, claim: null }]);
    expect(worker.notices).toEqual([]);
  });
});

describe("an attempt that ends late", () => {
  it("a late success counts although the delivery has failed meanwhile", async () => {
    const webhook = await newWebhook(await World.create());
    await fillDeliveries(webhook, 1);
    const worker = new DeliveringWorker();
    worker.receiver = async () => {
      await setDeliveries(webhook, "status = 'failed', claim = NULL, next_attempt_at = NULL, last_error = 'earlier'");
      return new Response();
    };
    await worker.deliver(webhook);
    expect(await deliveriesOf(webhook)).toMatchObject([{ status: "delivered", last_status: 200, last_error: null }]);
  });

  it("a late success counts although another attempt is in flight, whose failure then changes nothing", async () => {
    const webhook = await newWebhook(await World.create());
    await fillDeliveries(webhook, 1);
    const worker = new DeliveringWorker();
    let second: Promise<void> | undefined;
    worker.receiver = async () => {
      if (second === undefined) {
        worker.clock.now += 61;
        const failing = new Promise<Response>((resolve) =>
          setTimeout(() => resolve(new Response("", { status: 500 })), 50),
        );
        worker.receiver = () => failing;
        second = worker.deliver(webhook);
        while (worker.posted.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
      }
      return new Response();
    };
    await worker.deliver(webhook);
    await second;
    expect(worker.posted).toHaveLength(2);
    expect(await deliveriesOf(webhook)).toMatchObject([{ status: "delivered", attempts: 2, last_error: null }]);
  });

  it("a late failure does not count against another attempt that began meanwhile", async () => {
    const webhook = await newWebhook(await World.create());
    await fillDeliveries(webhook, 1);
    const worker = new DeliveringWorker();
    worker.receiver = async () => {
      await setDeliveries(webhook, `claim = 'another', attempts = 2, next_attempt_at = ${NOW + 90}`);
      return new Response("", { status: 500 });
    };
    await worker.deliver(webhook);
    expect(await deliveriesOf(webhook)).toMatchObject([
      { status: "pending", claim: "another", attempts: 2, next_attempt_at: NOW + 90, last_error: null },
    ]);
  });
});

describe("a message of the queue", () => {
  it("a message of the queue that the service did not make is dropped with a warning", async () => {
    const bodies = [
      null,
      "text",
      7,
      {},
      [],
      { home: "main", site: "1", webhook: "wh_1" },
      { home: 1, site: 1, webhook: "wh_1" },
      { home: "main", site: 1 },
      { home: "main", site: 1.5, webhook: "wh_1" },
    ];
    const webhook = await newWebhook(await World.create());
    await fillDeliveries(webhook, 1);
    const { home, siteId: site, id } = webhook;
    for (const body of bodies) {
      await setDeliveries(webhook, `status = 'pending', next_attempt_at = ${NOW}`);
      const worker = new DeliveringWorker();
      await worker.queue(body, { home, site, webhook: id });
      const warnings = [{ warning: "a message of the queue names no webhook" }];
      expect([body, worker.keptRecords.warnings]).toEqual([body, warnings]);
      expect(await deliveriesOf(webhook)).toMatchObject([{ status: "delivered" }]);
    }
  });

  it("a message for a home that is closed, unbound or down is dropped, and the other homes are served", async () => {
    const down = await newWebhook(await World.create({}, "apac"));
    const up = await newWebhook(await World.create());
    for (const webhook of [down, up]) await fillDeliveries(webhook, 1);
    const worker = new DeliveringWorker({
      HOME_APAC: downDb(env.HOME_APAC),
      HOME_SHUT: env.HOME_APAC,
      ...closedHomeVars("shut"),
    });
    await worker.deliver(down, { ...down, home: "shut" }, { ...down, home: "unbound" }, up);
    expect(await deliveriesOf(up)).toMatchObject([{ status: "delivered" }]);
    expect(await deliveriesOf(down)).toMatchObject([{ status: "pending", attempts: 0 }]);
    expect(worker.keptRecords.jobs).toMatchObject([
      {
        job: "deliver",
        outcome: "failed",
        homes: { main: { delivered: 1 }, apac: { begun: 0, fault: expect.any(String) } },
      },
    ]);
    expect(Object.keys(worker.keptRecords.jobs[0]?.homes as object).sort()).toEqual(["apac", "main"]);
  });

  it("the messages of the queue may name a webhook twice, or a webhook that does not exist", async () => {
    const webhook = await newWebhook(await World.create());
    await fillDeliveries(webhook, 2);
    const worker = new DeliveringWorker();
    await worker.deliver(webhook, webhook, { ...webhook, id: "wh_unknown" });
    expect(worker.posted).toHaveLength(2);
    expect(worker.keptRecords.jobs).toMatchObject([
      { outcome: "ok", homes: { main: { webhooks: [webhook.id, "wh_unknown"] } } },
    ]);
  });

  it("a batch of messages makes one log record, with nothing of the event, the URL or the answer", async () => {
    const world = await World.create();
    const webhook = await newWebhook(world, { url: "https://hooks.example.com/token-in-the-path" });
    await world.chatId({ content: "customer text", sbs_mc: "customer name" });
    const worker = new DeliveringWorker();
    worker.receiver = ({ body }) => new Response(body, { status: 500 });
    await worker.deliver(webhook);
    expect((await deliveriesOf(webhook))[0]?.last_error).toContain("session.created");
    const counts = { begun: 1, delivered: 0, failed: 1, skipped: 0 };
    const homes = { main: { webhooks: [webhook.id], ...counts } };
    expect(worker.keptRecords.jobs).toEqual([{ job: "deliver", outcome: "ok", homes, ms: expect.any(Number) }]);
    expect(JSON.stringify(worker.keptRecords)).not.toMatch(/customer|token|example\.com|session\.created/);
  });
});
