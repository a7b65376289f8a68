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
import { newWebhook } from "../support/new-webhook.ts";
import { NOW, World } from "../support/world.ts";

afterEach(() => vi.unstubAllGlobals());

const DAY = 86_400;

/** The details in the audit log of a webhook that the Worker has disabled. */
const detailsOf = (reason: string) =>
  new RegExp(
    `^{"origin":"https://hooks.example.com","reason":"${reason}","from":"enabled","to":"disabled","event_id":"evt_[0-9a-f]{32}"}$`,
  );

/** A webhook with due deliveries, one by default, whose receiver answers each attempt with this status and these headers. */
async function failing(status: number, headers: Record<string, string> = {}, deliveries = 1) {
  const world = await World.create();
  const webhook = await newWebhook(world);
  await fillDeliveries(webhook, deliveries);
  const worker = new DeliveringWorker();
  worker.receiver = () => new Response(null, { status, headers });
  return { world, webhook, worker };
}

describe("a delivery whose attempts fail", () => {
  it("a delivery is tried eight times with growing backoffs, and then fails for good", async () => {
    // This random number makes a backoff that is longer than the longest delay of a message. schedule.test.ts tests other random numbers.
    const pauses = [6, 330, 1_980, 7_920, 19_800, 39_600, 47_520];
    const { webhook, worker } = await failing(500);
    worker.chance = 1;
    for (const [i, pause] of pauses.entries()) {
      await worker.deliver(webhook);
      const next_attempt_at = worker.clock.now + pause;
      expect(await deliveriesOf(webhook)).toEqual([
        {
          seq: 1,
          status: "pending",
          attempts: i + 1,
          next_attempt_at,
          claim: null,
          last_status: 500,
          last_error: "HTTP 500",
        },
      ]);
      worker.clock.now = next_attempt_at - 3;
      await worker.deliver(webhook);
      expect(worker.posted).toHaveLength(i + 1);
      worker.clock.now = next_attempt_at;
    }
    await worker.deliver(webhook);
    expect(await deliveriesOf(webhook)).toEqual([
      {
        seq: 1,
        status: "failed",
        attempts: 8,
        next_attempt_at: null,
        claim: null,
        last_status: 500,
        last_error: "HTTP 500",
      },
    ]);
    // Each attempt posts the same event, with a new signature for its own time.
    expect(new Set(worker.posted.map(({ body }) => body)).size).toBe(1);
    expect(new Set(worker.posted.map(({ headers }) => headers.get("webhook-id")))).toEqual(new Set(["evt_1"]));
    expect(new Set(worker.posted.map(({ headers }) => headers.get("webhook-timestamp"))).size).toBe(8);
    // A message that comes too early finds nothing due, and the sweep finds the delivery later.
    const [, ...delays] = [0, ...pauses].map((pause) => Math.min(pause, 43_200));
    expect(worker.notices).toEqual(
      delays.map((delay) => ({ home: "main", site: webhook.siteId, webhook: webhook.id, delay })),
    );
  });

  // test/events/schedule.test.ts tests how the header is read.
  it.each<[string, number, string, number]>([
    ["in seconds", 429, "120", 120],
    ["as an HTTP date", 503, "Fri, 15 Jan 2027 08:02:00 GMT", 120],
    ["of a redirect", 302, "120", 120],
    ["shorter than the pause", 503, "2", 5],
    ["in the past", 503, "Fri, 15 Jan 2027 07:02:00 GMT", 5],
    ["longer than 12 hours", 503, "900000", 43_200],
    ["as a date in years", 503, "Fri, 15 Jan 2038 08:02:00 GMT", 43_200],
    ["in no known form", 503, "soon", 5],
  ])("a delivery waits as the receiver asks by a Retry-After %s", async (_, status, value, pause) => {
    const { webhook, worker } = await failing(status, { "retry-after": value });
    await worker.deliver(webhook);
    expect(await deliveriesOf(webhook)).toMatchObject([{ status: "pending", next_attempt_at: NOW + pause }]);
    expect(worker.notices).toMatchObject([{ delay: pause }]);
  });

  it("a delivery ends with the first attempt that succeeds", async () => {
    const { webhook, worker } = await failing(500);
    await worker.deliver(webhook);
    worker.clock.now += 5;
    worker.receiver = () => new Response(null, { status: 204 });
    await worker.deliver(webhook);
    expect(await deliveriesOf(webhook)).toMatchObject([
      { status: "delivered", attempts: 2, next_attempt_at: null, last_status: 204, last_error: null },
    ]);
  });

  it("a delivery has its last error on one line of at most 200 characters", async () => {
    const { webhook, worker } = await failing(500);
    worker.receiver = () => new Response(`\u0000\r\n a\u202e\u001b[31m${"🙂".repeat(400)}`, { status: 500 });
    await worker.deliver(webhook);
    const [delivery] = await deliveriesOf(webhook);
    expect(delivery?.last_error).toMatch(/^HTTP 500: a \[31m(🙂)+$/u);
    expect([...(delivery?.last_error ?? "").slice("HTTP 500: ".length)]).toHaveLength(200);
  });

  it("a delivery is tried again when its attempt was lost, and the lost attempt counts", async () => {
    const { webhook, worker } = await failing(500);
    await setDeliveries(webhook, `attempts = 3, claim = 'lost', next_attempt_at = ${NOW}`);
    worker.receiver = () => new Response();
    await worker.deliver(webhook);
    expect(await deliveriesOf(webhook)).toMatchObject([{ status: "delivered", attempts: 4, claim: null }]);
  });

  it("the queue is notified of the time when the earliest remaining delivery is due", async () => {
    const { webhook, worker } = await failing(500);
    await setDeliveries(webhook, "attempts = 3");
    const other = { ...webhook, seq: 2 };
    await fillMore(other, NOW + 100);
    await worker.deliver(webhook);
    expect(worker.notices).toMatchObject([{ delay: 100 }]);
    // The later message finds the due delivery. Although nothing failed, it causes a notice for the remaining deliveries.
    worker.notices.length = 0;
    worker.clock.now += 100;
    await setDeliveries(webhook, "attempts = 1");
    worker.receiver = () => new Response();
    await worker.deliver(webhook);
    expect(worker.notices).toMatchObject([{ delay: 7_100 }]);
  });
});

describe("the next attempt of a delivery", () => {
  /** A webhook with two deliveries: the first is answered 503, the other hangs until the test ends it. */
  async function besideOneThatHangs() {
    const { webhook, worker } = await failing(503, {}, 2);
    let end = () => {};
    let posts = 0;
    worker.receiver = () => {
      posts += 1;
      if (posts === 1) return new Response(null, { status: 503 });
      return new Promise((resolve) => (end = () => resolve(new Response())));
    };
    return { webhook, worker, end: () => end() };
  }

  it("the queue is notified of a next attempt at once, even while another attempt of the webhook hangs", async () => {
    const { webhook, worker, end } = await besideOneThatHangs();
    const delivering = worker.deliver(webhook);
    await eventually(() => expect(worker.notices).toMatchObject([{ webhook: webhook.id, delay: 5 }]));
    end();
    await delivering;
    // There is only this one notice.
    expect(worker.notices).toHaveLength(1);
  });

  it("the queue is notified of a next attempt even when its invocation leaves due deliveries to another one", async () => {
    const { webhook, worker } = await failing(503);
    await fillMore(webhook, NOW + 1);
    worker.receiver = () => {
      worker.clock.now = NOW + 1;
      worker.elapsedMore = 60_000;
      return new Response(null, { status: 503 });
    };
    await worker.deliver(webhook);
    expect(worker.posted).toHaveLength(1);
    expect(worker.notices).toMatchObject([{ delay: 0 }, { delay: 5 }]);
    // The other invocation knows only its own deliveries.
    await setWebhook(webhook, "failing_since = NULL");
    worker.notices.length = 0;
    worker.receiver = () => new Response();
    await env.DB.prepare("UPDATE deliveries SET attempts = 0 WHERE site_id = ? AND seq = 2").bind(webhook.siteId).run();
    await worker.deliver(webhook);
    expect(worker.notices).toEqual([]);
    expect(await deliveriesOf(webhook)).toMatchObject([
      { status: "pending", attempts: 1, next_attempt_at: NOW + 6 },
      { status: "delivered", attempts: 1 },
    ]);
  });

  it("the queue is notified of the next attempt of a delivery that was sent again while it was in flight", async () => {
    const { webhook, worker } = await failing(200);
    await setDeliveries(webhook, "attempts = 0, last_error = 'HTTP 500'");
    await fillMore(webhook, NOW + 300);
    await worker.deliver(webhook);
    expect(worker.notices).toMatchObject([{ delay: 300 }]);
  });

  it("the queue is notified of a next attempt even when deliveries that were sent again are due shortly before", async () => {
    const { webhook, worker } = await failing(503);
    await fillMore(webhook, NOW + 3);
    await worker.deliver(webhook);
    expect(worker.notices).toMatchObject([{ delay: 3 }, { delay: 5 }]);
  });

  it("a next attempt begins when it is due, even while another attempt of the webhook hangs", async () => {
    const { webhook, worker, end } = await besideOneThatHangs();
    const hanging = worker.deliver(webhook);
    await eventually(() => expect(worker.notices).toHaveLength(1));
    worker.clock.now = NOW + 5;
    worker.receiver = () => new Response();
    await worker.deliver(webhook);
    expect(await deliveriesOf(webhook)).toMatchObject([
      { status: "delivered", attempts: 2 },
      { status: "pending", attempts: 1 },
    ]);
    end();
    await hanging;
  });
});

/** Another delivery, of an event that no test reads, due at a given time. */
async function fillMore({ siteId, id }: { siteId: number; id: string }, at: number): Promise<void> {
  await env.DB.batch([
    env.DB.prepare("INSERT INTO events VALUES (?, 2, 'evt_2', 'session.created', NULL, 0, '{}')").bind(siteId),
    env.DB.prepare("INSERT INTO deliveries VALUES (?, ?, 2, 'pending', 1, ?, NULL, NULL, NULL, 0, NULL, NULL)").bind(
      siteId,
      id,
      at,
    ),
  ]);
}

describe("a webhook", () => {
  it("a webhook is failing from its first failure until a success", async () => {
    const { webhook, worker } = await failing(500);
    await worker.deliver(webhook);
    expect(await readWebhook(webhook)).toEqual({ status: "enabled", disabled_reason: null, failing_since: NOW });
    worker.clock.now += 5;
    await worker.deliver(webhook);
    expect(await readWebhook(webhook)).toMatchObject({ failing_since: NOW });
    worker.clock.now += 400;
    worker.receiver = () => new Response();
    await worker.deliver(webhook);
    expect(await readWebhook(webhook)).toMatchObject({ failing_since: null });
  });

  it("a webhook is not failing while one of several attempts succeeds", async () => {
    const { webhook, worker } = await failing(500);
    await fillMore(webhook, NOW);
    worker.receiver = ({ headers }) =>
      new Response(null, { status: headers.get("webhook-id") === "evt_1" ? 500 : 200 });
    await setWebhook(webhook, "failing_since = 1");
    await worker.deliver(webhook);
    expect((await deliveriesOf(webhook)).map(({ status }) => status)).toEqual(["pending", "delivered"]);
  });

  it("a webhook is disabled by a 410, and all its pending deliveries end", async () => {
    const { world, webhook, worker } = await failing(410);
    await fillMore(webhook, NOW + 1_000);
    const other = await newWebhook(world);
    await fillDeliveries(other, 1);
    await worker.deliver(webhook);
    expect(worker.posted).toHaveLength(1);
    expect(await readWebhook(webhook)).toMatchObject({ status: "disabled", disabled_reason: "gone" });
    expect(await deliveriesOf(webhook)).toMatchObject([
      { status: "failed", attempts: 1, last_status: 410, last_error: "HTTP 410", next_attempt_at: null },
      {
        status: "failed",
        attempts: 1,
        last_status: null,
        last_error: "the webhook is disabled",
        next_attempt_at: null,
      },
    ]);
    const { audit } = await world.operated();
    expect(audit.at(-1)).toMatchObject({
      at: NOW,
      actor: "worker",
      who_kind: null,
      address: null,
      action: "webhook.disabled",
      subject: webhook.id,
      details: expect.stringMatching(detailsOf("gone")),
    });
    expect(await readWebhook(other)).toMatchObject({ status: "enabled" });
    expect(await deliveriesOf(other)).toMatchObject([{ status: "pending" }, { status: "pending" }]);
  });

  it("a webhook is not disabled by a 410 from its previous URL", async () => {
    const { webhook, worker } = await failing(410);
    worker.receiver = async () => {
      await setWebhook(webhook, "url = 'https://hooks.example.com/new'");
      return new Response(null, { status: 410 });
    };
    await worker.deliver(webhook);
    expect(await readWebhook(webhook)).toEqual({ status: "enabled", disabled_reason: null, failing_since: null });
  });

  it.each<[string, string, number, "enabled" | "disabled"]>([
    ["a delivery has used up its attempts", "attempts = 7", 5 * DAY, "disabled"],
    ["a delivery has used up its attempts", "attempts = 7", 5 * DAY - 1, "enabled"],
    ["a delivery has an attempt left", "attempts = 6", 9 * DAY, "enabled"],
    ["one that nobody holds is due for a day", `next_attempt_at = ${NOW - DAY}`, 5 * DAY, "disabled"],
    ["one that nobody holds is due for a day", `next_attempt_at = ${NOW - DAY}`, 5 * DAY - 1, "enabled"],
    ["the longest due is due for less", `next_attempt_at = ${NOW - DAY + 1}`, 9 * DAY, "enabled"],
    ["a lease ended a day ago", `claim = 'lost', next_attempt_at = ${NOW - DAY}`, 5 * DAY, "disabled"],
    ["only pings are due", "next_attempt_at = CASE seq WHEN 1 THEN next_attempt_at ELSE 0 END", 9 * DAY, "enabled"],
  ])("when %s (%s), a webhook that fails for %i s without a success is %s", async (_, columns, seconds, status) => {
    // The webhook has more due deliveries than it may have in flight.
    const { world, webhook, worker } = await failing(500, {}, 5);
    await setDeliveries(webhook, columns);
    await setWebhook(webhook, `failing_since = ${NOW - seconds}`);
    await worker.deliver(webhook);
    const isDisabled = status === "disabled";
    const reason = isDisabled ? "failing" : null;
    expect(await readWebhook(webhook)).toEqual({ status, disabled_reason: reason, failing_since: NOW - seconds });
    const { audit } = await world.operated();
    const disabled = audit.filter(({ action }) => action === "webhook.disabled");
    expect(disabled.map(({ details }) => details)).toEqual(
      isDisabled ? [expect.stringMatching(detailsOf("failing"))] : [],
    );
    expect(worker.keptRecords.warnings.filter(({ warning }) => warning.startsWith("a webhook was disabled"))).toEqual(
      isDisabled ? [expect.objectContaining({ home: "main", webhook: webhook.id, reason: "failing" })] : [],
    );
    const deliveries = await deliveriesOf(webhook);
    if (isDisabled) expect(deliveries.filter((each) => each.status === "pending")).toEqual([]);
    // The deliveries that were tried keep their last error.
    expect(
      deliveries.filter(({ last_status }) => last_status === 500).every((each) => each.last_error === "HTTP 500"),
    ).toBe(true);
    expect(deliveries.filter(({ last_status }) => last_status === 500)).not.toEqual([]);
  });

  it("a webhook without events for days after one failure is tried again when its next event fails", async () => {
    const { webhook, worker } = await failing(500);
    await setWebhook(webhook, `failing_since = ${NOW - 6 * DAY}`);
    await worker.deliver(webhook);
    expect(await deliveriesOf(webhook)).toMatchObject([{ status: "pending", next_attempt_at: NOW + 5 }]);
    expect(worker.notices).toMatchObject([{ delay: 5 }]);
    worker.clock.now += 5;
    worker.receiver = () => new Response();
    await worker.deliver(webhook);
    expect(await deliveriesOf(webhook)).toMatchObject([{ status: "delivered" }]);
    expect(await readWebhook(webhook)).toEqual({ status: "enabled", disabled_reason: null, failing_since: null });
  });

  it("a webhook that succeeds after five days of failures stays enabled", async () => {
    const { webhook, worker } = await failing(200);
    await setWebhook(webhook, `failing_since = ${NOW - 9 * DAY}`);
    await worker.deliver(webhook);
    expect(await readWebhook(webhook)).toEqual({ status: "enabled", disabled_reason: null, failing_since: null });
  });
});
