import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { redeliverEvents } from "../../../src/operators/services/events.ts";
import { findSite } from "../../../src/operators/services/sites.ts";
import { type AdminAnswer, call, conflict, problem } from "../../support/admin-calls.ts";
import { DeliveringWorker, deliveriesOf, fillDeliveries, setDeliveries, setWebhook } from "../../support/deliveries.ts";
import { newWebhook, type TestWebhook } from "../../support/new-webhook.ts";
import { replacing } from "../../support/replacing.ts";
import { contextAt } from "../../support/service-context.ts";
import { eventStore, keepingQueue } from "../../support/webhook-store.ts";
import { NOW, World } from "../../support/world.ts";

afterEach(() => vi.unstubAllGlobals());

const DAY = 86_400;
const STATUS_RULE = "must be a list of different ones of failed, pending, missed, delivered";
const TIME_RULE = "must be a Unix time in seconds";
const SEQ_RULE = "must be an integer from 0 to 9007199254740991";

const summary = ({ status, body }: AdminAnswer) => ({ status, body });
const bad = (field: string, message: string) => problem(400, "Invalid input", [{ field, message }]);

const path = ({ siteId, id }: Pick<TestWebhook, "siteId" | "id">) => `/admin/sites/${siteId}/webhooks/${id}/redeliver`;

async function start(home = "main") {
  const { sent, delays, EVENTS } = keepingQueue();
  const world = await World.create({ EVENTS }, home);
  const webhook = await newWebhook(world);
  const redeliver = (body?: object) => call(world, "POST", path(webhook), body);
  /** Makes all steps, as the API tells callers to. @returns the answers */
  const redeliverAll = async (body: object = {}) => {
    const answers: Record<string, number | null>[] = [];
    for (let next: object = body; ; ) {
      const { status, body: answer } = await redeliver(next);
      if (status !== 202) throw new Error(JSON.stringify(answer));
      const step = answer as Record<string, number | null>;
      answers.push(step);
      if (step.next_after_seq === null) return answers;
      next = { ...body, until: step.until, after_seq: step.next_after_seq };
    }
  };
  return { world, webhook, redeliver, redeliverAll, sent, delays };
}

/** An event of the site, and its delivery to the webhook unless `status` is `missed`. */
async function put(
  { siteId, id }: TestWebhook,
  seq: number,
  status: string,
  event: { at?: number; type?: string; data?: string | null } = {},
): Promise<void> {
  const { at = NOW - 60, type = "session.created", data = "{}" } = event;
  await env.DB.prepare("INSERT INTO events (site_id, seq, id, type, created_at, data) VALUES (?, ?, ?, ?, ?, ?)")
    .bind(siteId, seq, `evt_${seq}`, type, at, data)
    .run();
  if (status === "missed") return;
  const next = status === "pending" ? NOW + 3_600 : null;
  await env.DB.prepare(
    `INSERT INTO deliveries (site_id, webhook_id, seq, status, attempts, next_attempt_at, last_status, last_error, created_at, last_attempt_at, duration_ms)
     VALUES (?, ?, ?, ?, 3, ?, 500, 'HTTP 500: no', ?, ?, 12)`,
  )
    .bind(siteId, id, seq, status, next, at, NOW - 30)
    .run();
}

const statusesOf = async (webhook: TestWebhook) =>
  (await deliveriesOf(webhook)).map(({ seq, status, attempts }) => `${seq} ${status} ${attempts}`);

const auditRows = async (world: World) =>
  (await eventStore(world)).audit.filter(({ action }) => action === "webhook.redelivered");

describe("POST /admin/sites/:site_id/webhooks/:webhook_id/redeliver", () => {
  it("the call redeliver is 202, sends failed and pending deliveries again, and writes one audit row", async () => {
    const home = "apac";
    const { world, webhook, redeliver, sent } = await start(home);
    await fillDeliveries(webhook, 4);
    await setDeliveries(
      webhook,
      `attempts = 8, status = CASE seq WHEN 1 THEN 'failed' WHEN 2 THEN 'delivered' WHEN 3 THEN 'pending' ELSE 'skipped' END,
       next_attempt_at = iif(seq = 3, ${NOW + 3_600}, NULL), last_status = 500, last_error = 'no', last_attempt_at = 1, duration_ms = 1`,
    );
    expect(summary(await redeliver())).toEqual({
      status: 202,
      body: { matched: 2, queued: 2, until: NOW, next_after_seq: null },
    });
    const { deliveries } = await eventStore(world);
    const due = {
      status: "pending",
      attempts: 0,
      next_attempt_at: NOW,
      claim: null,
      last_status: null,
      created_at: NOW,
    };
    // The time of the last attempt stays, because the receiver may have the event.
    const dueAgain = { ...due, last_error: null, last_attempt_at: 1, duration_ms: null };
    expect(deliveries).toMatchObject([
      { seq: 1, ...dueAgain },
      { seq: 2, status: "delivered", attempts: 8, last_status: 500, last_attempt_at: 1 },
      { seq: 3, ...dueAgain },
      { seq: 4, status: "skipped" },
    ]);
    const details = { status: ["failed", "pending"], until: NOW, queued: 2, next_after_seq: null };
    expect(await auditRows(world)).toEqual([
      {
        action: "webhook.redelivered",
        actor: "admin-api",
        at: NOW,
        subject: webhook.id,
        details: { ...details, call: expect.any(String) },
      },
    ]);
    expect(sent).toEqual([{ home, site: world.siteId, webhook: webhook.id }]);
  });

  it("the call redeliver notifies the queue of the next attempt that waits, for one event and for many", async () => {
    const { world, webhook, redeliver, delays } = await start();
    await fillDeliveries(webhook, 4);
    await setDeliveries(webhook, `attempts = seq - 1, next_attempt_at = ${NOW} + seq * 100`);
    await call(world, "POST", path(webhook).replace("redeliver", "deliveries/2/redeliver"));
    // A delivery that was never tried waits for no retry.
    expect(delays).toEqual([0, 300]);
    delays.length = 0;
    await redeliver({ after_seq: 2, until: NOW, status: ["pending"] });
    expect(delays).toEqual([0]);
    await setDeliveries(
      webhook,
      `attempts = 1, status = iif(seq = 1, 'failed', 'pending'), next_attempt_at = iif(seq = 1, NULL, ${NOW + 90_000})`,
    );
    delays.length = 0;
    await redeliver({ status: ["failed"] });
    expect(delays).toEqual([0, 43_200]);
    // A delivery has no attempts when it was sent again during an attempt that then failed.
    await setDeliveries(
      webhook,
      `status = 'pending', attempts = 0, next_attempt_at = ${NOW} + seq * 100, last_error = iif(seq < 3, NULL, 'HTTP 500')`,
    );
    delays.length = 0;
    await redeliver({ until: NOW, after_seq: 3, status: ["pending"] });
    expect(delays).toEqual([0, 300]);
  });

  it("the call redeliver sends 6,000 events in steps of 5,000, spread over 10 seconds each, in the order of seq", async () => {
    const { world, webhook, redeliverAll, delays } = await start();
    await fillDeliveries(webhook, 6_000);
    await setDeliveries(webhook, "status = 'failed', attempts = 8, next_attempt_at = NULL");
    const step = { matched: 5_000, queued: 5_000, until: NOW };
    expect(await redeliverAll({ since: NOW })).toEqual([
      { ...step, next_after_seq: 5_000 },
      { ...step, matched: 1_000, queued: 1_000, next_after_seq: null },
    ]);
    const deliveries = await deliveriesOf(webhook);
    expect(deliveries.every(({ status, attempts }) => status === "pending" && attempts === 0)).toBe(true);
    const due = deliveries.map(({ next_attempt_at }) => Number(next_attempt_at) - NOW);
    expect(due).toEqual(deliveries.map(({ seq }) => Math.floor(((seq - 1) % 5_000) / 500)));
    // The queue gets one notice for each second in which a delivery is due.
    const tens = Array.from({ length: 10 }, (_, second) => second);
    expect(delays).toEqual([...tens, 0, 1]);
    expect((await auditRows(world)).map(({ details }) => details)).toMatchObject([
      { since: NOW, until: NOW, queued: 5_000 },
      { since: NOW, until: NOW, after_seq: 5_000, queued: 1_000 },
    ]);
  });

  it("a dry run of the call redeliver changes nothing and is 200 with the number of deliveries", async () => {
    const { world, webhook, redeliver, sent } = await start();
    for (const [index, status] of ["failed", "pending", "missed", "delivered"].entries())
      await put(webhook, index + 1, status);
    const before = await eventStore(world);
    const status = ["failed", "pending", "missed", "delivered"];
    expect(summary(await redeliver({ status, after_seq: 0, dry_run: true }))).toEqual({
      status: 200,
      body: { matched: 4, queued: 0, until: NOW, next_after_seq: null },
    });
    expect(await eventStore(world)).toEqual(before);
    expect(sent).toEqual([]);
    expect((await redeliver({ status, after_seq: 0, dry_run: false })).body).toMatchObject({ matched: 4, queued: 4 });
  });

  it.each<[string, string, number[]]>([
    ["failed", "failed", [1]],
    ["pending", "pending", [2]],
    ["delivered", "delivered", [3]],
    ["missed", "missed", [4]],
  ])("the call redeliver sends only %s deliveries when the call names that status", async (_, status, seqs) => {
    const { webhook, redeliver } = await start();
    for (const [index, each] of ["failed", "pending", "delivered", "missed", "skipped"].entries())
      await put(webhook, index + 1, each);
    expect((await redeliver({ status: [status], since: 0 })).body).toMatchObject({ matched: 1, queued: 1 });
    const dueAgain = (await deliveriesOf(webhook)).filter(({ next_attempt_at }) => next_attempt_at === NOW);
    expect(dueAgain.map(({ seq }) => seq)).toEqual(seqs);
  });

  it("the call redeliver sends the events of a time range of ten minutes, both ends included, among 12,000 events", async () => {
    const { webhook, redeliverAll } = await start();
    await fillDeliveries(webhook, 12_000);
    await setDeliveries(webhook, `created_at = ${NOW} - 12000 + seq, status = 'delivered', next_attempt_at = NULL`);
    // The state after a restore, which skips seqs, and after pruning, which removes the oldest events.
    const site = webhook.siteId;
    await env.DB.batch([
      env.DB.prepare("UPDATE events SET created_at = ? - 12000 + seq WHERE site_id = ?").bind(NOW, site),
      env.DB.prepare("UPDATE events SET seq = seq + 1000000 WHERE site_id = ? AND seq > 7000").bind(site),
      env.DB.prepare("UPDATE deliveries SET seq = seq + 1000000 WHERE site_id = ? AND seq > 7000").bind(site),
      env.DB.prepare("DELETE FROM events WHERE site_id = ? AND seq < 1000").bind(site),
      env.DB.prepare("DELETE FROM deliveries WHERE site_id = ? AND seq < 1000").bind(site),
    ]);
    const [since, until] = [NOW - 5_300, NOW - 4_701];
    const [first, ...more] = await redeliverAll({ since, until, status: ["delivered"] });
    expect(first).toEqual({ matched: 600, queued: 600, until, next_after_seq: null });
    expect(more).toEqual([]);
    const pending = (await deliveriesOf(webhook)).filter(({ status }) => status === "pending");
    expect([pending.length, pending[0]?.seq, pending.at(-1)?.seq]).toEqual([600, 6_700, 1_007_299]);
  });

  it("the call redeliver finds an event whose time is up to a minute before the time of an event with a lower seq", async () => {
    const { webhook, redeliver } = await start();
    const times = [-1_000, -600, -460, -500, -340, -399, -100];
    for (const [index, time] of times.entries()) await put(webhook, index + 1, "missed", { at: NOW + time });
    const body = { status: ["missed"], since: NOW - 460, until: NOW - 340 };
    expect((await redeliver(body)).body).toMatchObject({ queued: 3 });
    expect((await deliveriesOf(webhook)).map(({ seq }) => seq)).toEqual([3, 5, 6]);
  });

  it("the call redeliver goes on when the last event of a step is up to a minute younger than `until`", async () => {
    const { webhook, redeliverAll } = await start();
    await fillDeliveries(webhook, 5_001);
    const at = (seconds: number, where: string) =>
      env.DB.prepare(`UPDATE events SET created_at = ? WHERE site_id = ? AND ${where}`)
        .bind(NOW - seconds, webhook.siteId)
        .run();
    await at(100, "true");
    await at(50, "seq = 5000");
    await setDeliveries(webhook, `created_at = ${NOW} - iif(seq = 5000, 50, 100)`);
    const steps = await redeliverAll({ until: NOW - 100 });
    expect(steps.map(({ queued, next_after_seq }) => [queued, next_after_seq])).toEqual([
      [4_999, 5_000],
      [1, null],
    ]);
  });

  it("the call redeliver sends events that a webhook missed while disabled or before it was added", async () => {
    const { world, webhook, redeliver } = await start();
    await newWebhook(world, { id: "wh_other" });
    await world.chatId();
    const change = (status: string) =>
      call(world, "PATCH", `/admin/sites/${world.siteId}/webhooks/${webhook.id}`, { status });
    expect((await change("disabled")).status).toBe(200);
    world.clock.now += 60;
    await world.chatId();
    expect((await redeliver({ status: ["missed"], since: NOW })).status).toBe(409);
    expect((await change("enabled")).status).toBe(200);
    const later = await newWebhook(world, { events: JSON.stringify(["session.created"]) });
    const chatId = await world.chatId({ kefu_id: [1], fzr_uid: 1 });
    await world.add(chatId, { kefu_ids: [2] });
    expect((await redeliver({ status: ["missed"], since: NOW })).body).toMatchObject({ matched: 1, queued: 1 });
    expect((await redeliver({ status: ["missed"], since: NOW })).body).toMatchObject({ matched: 0, queued: 0 });
    // The delivery has the event's age, so both are deleted together.
    expect((await eventStore(world)).deliveries.filter(({ webhook_id }) => webhook_id === webhook.id)).toMatchObject([
      { seq: 1, status: "failed" },
      { seq: 2, status: "pending", attempts: 0, next_attempt_at: NOW + 60, created_at: NOW + 60 },
      { seq: 3 },
      { seq: 4 },
    ]);
    const answer = await call(world, "POST", path(later), { status: ["missed"], after_seq: 0 });
    expect(answer.body).toMatchObject({ matched: 2, queued: 2 });
    expect((await deliveriesOf(later)).map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });

  it("the call redeliver never sends a ping, an erased or expired event, or an event about this webhook itself", async () => {
    const { webhook, redeliver } = await start();
    const types = ["session.created", "webhook.disabled", "webhook.failing"];
    await setWebhook(webhook, `events = '${JSON.stringify(types)}'`);
    const own = JSON.stringify({ webhook_id: webhook.id, reason: "gone" });
    const others = JSON.stringify({ webhook_id: "wh_other", reason: "gone" });
    let seq = 0;
    for (const status of ["failed", "pending", "missed", "delivered"]) {
      await put(webhook, ++seq, status, { at: NOW - 30 * DAY });
      await put(webhook, ++seq, status, { type: "ping" });
      await put(webhook, ++seq, status, { data: null });
      await put(webhook, ++seq, status, { type: "webhook.disabled", data: own });
      await put(webhook, ++seq, status, { type: "webhook.failing", data: own });
      await put(webhook, ++seq, status, { type: "webhook.disabled", data: others, at: NOW - 30 * DAY + 1 });
    }
    const before = await statusesOf(webhook);
    const body = { status: ["failed", "pending", "missed", "delivered"], since: 0 };
    expect((await redeliver(body)).body).toEqual({ matched: 4, queued: 4, until: NOW, next_after_seq: null });
    const sentAgain = ["6 pending 0", "12 pending 0", "18 pending 0", "24 pending 0"];
    const after = await statusesOf(webhook);
    expect(after.filter((each) => !before.includes(each))).toEqual(sentAgain);
  });

  it("the call redeliver does not count an event as missed when the webhook did not choose its type", async () => {
    const { webhook, redeliver } = await start();
    await setWebhook(webhook, `events = '["session.agents_added"]'`);
    await put(webhook, 1, "missed");
    await put(webhook, 2, "failed");
    const body = { status: ["missed", "failed"], after_seq: 0 };
    expect((await redeliver(body)).body).toMatchObject({ matched: 1 });
    expect(await statusesOf(webhook)).toEqual(["2 pending 0"]);
  });

  it("the call redeliver does not stop a running attempt, and starts a lost attempt again at once", async () => {
    const { world, webhook, redeliver } = await start();
    await put(webhook, 1, "pending");
    await put(webhook, 2, "pending");
    const lease = (seq: number, until: number) =>
      env.DB.prepare("UPDATE deliveries SET claim = 'theirs', next_attempt_at = ? WHERE site_id = ? AND seq = ?")
        .bind(until, webhook.siteId, seq)
        .run();
    await lease(1, NOW + 1);
    await lease(2, NOW);
    expect((await redeliver()).body).toMatchObject({ matched: 2, queued: 2 });
    const { deliveries } = await eventStore(world);
    expect(deliveries).toMatchObject([
      {
        seq: 1,
        status: "pending",
        attempts: 0,
        claim: "theirs",
        next_attempt_at: NOW + 1,
        last_status: 500,
        last_error: "HTTP 500: no",
        last_attempt_at: NOW - 30,
        duration_ms: 12,
      },
      { seq: 2, status: "pending", attempts: 0, claim: null, last_status: null, last_attempt_at: NOW - 30 },
    ]);
  });

  it.each<[string, object]>([
    ["sent again", {}],
    ["to an old URL", { url: "https://moved.example.com/" }],
  ])(
    "after a running attempt fails, its delivery begins again with the first of eight attempts: %s",
    async (_, change) => {
      const { world, webhook, redeliver } = await start();
      await put(webhook, 1, "pending");
      await setDeliveries(webhook, `attempts = 7, next_attempt_at = ${NOW}`);
      const worker = new DeliveringWorker();
      worker.receiver = async () => {
        if ("url" in change) await call(world, "PATCH", path(webhook).replace(/\/redeliver$/, ""), change);
        else expect((await redeliver()).body).toMatchObject({ queued: 1 });
        return new Response("", { status: 500 });
      };
      await worker.deliver(webhook);
      expect(worker.posted).toHaveLength(1);
      expect(await deliveriesOf(webhook)).toMatchObject([
        { status: "pending", attempts: 0, next_attempt_at: NOW + 5, claim: null },
      ]);
    },
  );

  it("a repeated call redeliver queues failed deliveries only once, and makes pending ones due again", async () => {
    const { world, webhook, redeliver } = await start();
    await put(webhook, 1, "failed");
    expect((await redeliver({ status: ["failed"] })).body).toMatchObject({ matched: 1, queued: 1 });
    const before = await eventStore(world);
    const none = { matched: 0, queued: 0, until: NOW, next_after_seq: null };
    expect(summary(await redeliver({ status: ["failed"] }))).toEqual({ status: 202, body: none });
    expect(await eventStore(world)).toEqual(before);
    expect((await redeliver()).body).toMatchObject({ matched: 1, queued: 1 });
    expect((await eventStore(world)).deliveries).toEqual(before.deliveries);
  });

  it("the call redeliver is 409 for a disabled webhook and 404 for an unknown one, also in a dry run", async () => {
    const { world, webhook, redeliver, sent } = await start();
    await put(webhook, 1, "failed");
    await setWebhook(webhook, "status = 'disabled'");
    for (const dry_run of [true, false]) {
      const answer = await redeliver({ dry_run });
      expect(summary(answer)).toEqual(conflict("webhook_disabled"));
      expect(answer.body).toMatchObject({ detail: "The webhook is disabled: enable it first." });
      const unknown = await call(world, "POST", path({ ...webhook, id: "wh_0" }), { dry_run });
      expect(summary(unknown)).toEqual(problem(404, "Not found"));
    }
    expect(await statusesOf(webhook)).toEqual(["1 failed 3"]);
    expect(await auditRows(world)).toEqual([]);
    expect(sent).toEqual([]);
  });

  it("the call redeliver does not touch other webhooks and other sites", async () => {
    const { world, webhook, redeliver } = await start();
    const other = await newWebhook(world);
    const elsewhere = (await start()).webhook;
    for (const each of [webhook, elsewhere]) {
      await fillDeliveries(each, 2);
      await setDeliveries(each, "status = 'failed'");
    }
    await fillDeliveries(other, 2);
    await setDeliveries(other, "status = 'failed'");
    expect((await redeliver()).body).toMatchObject({ queued: 2 });
    expect(await statusesOf(other)).toEqual(["1 failed 0", "2 failed 0"]);
    expect(await statusesOf(elsewhere)).toEqual(["1 failed 0", "2 failed 0"]);
  });

  const WRONG: [body: object, field: string, message: string][] = [
    [{ status: ["missed"] }, "status", "missed needs since or after_seq"],
    [{ status: ["failed", "missed"], until: 5 }, "status", "missed needs since or after_seq"],
    [{ status: [] }, "status", STATUS_RULE],
    [{ status: ["failed", "failed"] }, "status", STATUS_RULE],
    [{ status: ["skipped"] }, "status.0", "must be failed or pending or missed or delivered"],
    [{ status: "failed" }, "status", STATUS_RULE],
    [{ since: 6, until: 5 }, "since", "must not be after until"],
    [{ since: NOW + 1 }, "since", "must not be after until"],
    [{ since: -1 }, "since", TIME_RULE],
    [{ since: "2026-01-01" }, "since", TIME_RULE],
    [{ until: 1.5 }, "until", TIME_RULE],
    [{ until: 253_402_214_400 }, "until", TIME_RULE],
    [{ after_seq: -1 }, "after_seq", SEQ_RULE],
    [{ after_seq: "1" }, "after_seq", SEQ_RULE],
    [{ dry_run: 1 }, "dry_run", "must be true or false"],
    [{ seq: 1 }, "seq", "is not a field of this call"],
  ];

  it("the call redeliver is 400 for a wrong body and names the field", async () => {
    const { world, webhook, redeliver } = await start();
    await put(webhook, 1, "failed");
    for (const [body, field, message] of WRONG) {
      expect([body, summary(await redeliver(body))]).toEqual([body, bad(field, message)]);
    }
    expect(await statusesOf(webhook)).toEqual(["1 failed 3"]);
    expect(await auditRows(world)).toEqual([]);
  });

  it("the call redeliver accepts the largest documented values", async () => {
    const { webhook, redeliver } = await start();
    await put(webhook, 1, "failed");
    expect((await redeliver({ after_seq: Number.MAX_SAFE_INTEGER })).body).toMatchObject({
      matched: 0,
      next_after_seq: null,
    });
    const most = 253_402_214_399;
    expect((await redeliver({ since: most, until: most })).body).toMatchObject({ matched: 0, until: most });
    expect((await redeliver({ since: 0, until: most })).body).toMatchObject({ matched: 1, until: most });
  });
});

describe("redeliver when the database loses an answer", () => {
  /** A context whose database runs every batch but loses the answer of the first. */
  function forgetful(between: () => Promise<unknown> = async () => {}) {
    let tries = 0;
    const batch = async (statements: D1PreparedStatement[]) => {
      const results = await env.DB.batch(statements);
      if (tries++ > 0) return results;
      await between();
      throw new Error("D1_ERROR: Network connection lost.");
    };
    return contextAt(NOW, { DB: replacing(env.DB, { batch }) });
  }

  it.each<[string, ("failed" | "pending" | "missed")[]]>([
    ["by the index of what failed", ["failed"]],
    ["by the deliveries", ["failed", "pending"]],
    ["by the events", ["failed", "missed"]],
  ])(
    "a redeliver call whose answer is lost queues nothing twice and writes one audit row, when it selects %s",
    async (_, status) => {
      const { world, webhook } = await start();
      const site = await findSite(contextAt(NOW), world);
      await fillDeliveries(webhook, 5_003);
      await setDeliveries(webhook, "status = 'failed', next_attempt_at = NULL, attempts = 8");
      // Before the second try the first delivery has arrived, and the second has failed again.
      const between = async () => {
        await setDeliveries(
          webhook,
          "status = iif(seq = 1, 'delivered', status), attempts = iif(seq = 2, 1, attempts)",
        );
      };
      const step = await redeliverEvents(forgetful(between), { site, webhookId: webhook.id, status, since: NOW });
      expect(step).toEqual({ matched: 5_000, queued: 5_000, until: NOW, nextAfterSeq: 5_000 });
      expect(await auditRows(world)).toHaveLength(1);
      const [first, second] = await deliveriesOf(webhook);
      expect([first, second]).toMatchObject([
        { status: "delivered", attempts: 0 },
        { status: "pending", attempts: 1 },
      ]);
    },
  );

  it("a redeliver call whose answer is lost reports its result even when the webhook was disabled meanwhile", async () => {
    const { world, webhook } = await start();
    const site = await findSite(contextAt(NOW), world);
    await put(webhook, 1, "failed");
    const between = () => setWebhook(webhook, "status = 'disabled'");
    const step = await redeliverEvents(forgetful(between), { site, webhookId: webhook.id });
    expect(step).toMatchObject({ queued: 1 });
  });
});
