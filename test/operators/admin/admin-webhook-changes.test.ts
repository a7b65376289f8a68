import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { findSite } from "../../../src/operators/services/sites.ts";
import { changeWebhook } from "../../../src/operators/services/webhooks.ts";
import { type AdminAnswer, call, conflict } from "../../support/admin-calls.ts";
import { DeliveringWorker, deliveriesOf, fillDeliveries, setDeliveries, setWebhook } from "../../support/deliveries.ts";
import { newWebhook, type TestWebhook } from "../../support/new-webhook.ts";
import { replacing } from "../../support/replacing.ts";
import { contextAt } from "../../support/service-context.ts";
import { eventStore, keepingQueue } from "../../support/webhook-store.ts";
import { NOW, World } from "../../support/world.ts";

afterEach(() => vi.unstubAllGlobals());

const summary = ({ status, body }: AdminAnswer) => ({ status, body });
const MOVED = "https://moved.example.com/";

async function start() {
  const { sent, EVENTS } = keepingQueue();
  const world = await World.create({ EVENTS });
  const webhook = await newWebhook(world);
  const patch = (body: object) => call(world, "PATCH", `/admin/sites/${world.siteId}/webhooks/${webhook.id}`, body);
  const showWebhook = async () => {
    const { body } = await call(world, "GET", `/admin/sites/${world.siteId}/webhooks`);
    return (body as { items: Record<string, unknown>[] }).items.find(({ id }) => id === webhook.id);
  };
  return { world, webhook, patch, showWebhook, sent };
}

/** How many pending deliveries are due now, and how many are later. */
async function dueAndLater(webhook: TestWebhook): Promise<[number, number]> {
  const count = `SELECT total(next_attempt_at <= ${NOW}), total(next_attempt_at > ${NOW}) FROM deliveries
    WHERE site_id = ? AND webhook_id = ? AND status = 'pending'`;
  const [counts] = await env.DB.prepare(count).bind(webhook.siteId, webhook.id).raw<[number, number]>();
  return counts as [number, number];
}

describe("a webhook with another URL", () => {
  it("a new URL makes the pending deliveries of a webhook due at once, and their attempts stay counted", async () => {
    const { webhook, patch, sent } = await start();
    await fillDeliveries(webhook, 6);
    await setDeliveries(
      webhook,
      `attempts = 7, last_error = 'no', status = CASE seq WHEN 5 THEN 'failed' WHEN 6 THEN 'delivered' ELSE 'pending' END,
       next_attempt_at = CASE seq WHEN 1 THEN 0 WHEN 2 THEN ${NOW - 5} WHEN 3 THEN ${NOW + 43_200} WHEN 4 THEN ${NOW + 1} END`,
    );
    expect((await patch({ url: MOVED })).body).toMatchObject({ pending: 4, failed: 1, oldest_pending_at: NOW });
    const row = { attempts: 7, last_error: "no" };
    expect(await deliveriesOf(webhook)).toMatchObject([
      { status: "pending", next_attempt_at: 0, ...row },
      { status: "pending", next_attempt_at: NOW - 5, ...row },
      { status: "pending", next_attempt_at: NOW, ...row },
      { status: "pending", next_attempt_at: NOW, ...row },
      { status: "failed", next_attempt_at: null, ...row },
      { status: "delivered", next_attempt_at: null, ...row },
    ]);
    expect(sent).toEqual([{ home: "main", site: webhook.siteId, webhook: webhook.id }]);
  });

  it("a new URL resets the count of a running attempt, and a lost attempt stays due", async () => {
    const { webhook, patch } = await start();
    await fillDeliveries(webhook, 2);
    await setDeliveries(
      webhook,
      `attempts = 7, claim = 'theirs', next_attempt_at = iif(seq = 1, ${NOW + 60}, ${NOW - 1})`,
    );
    await patch({ url: MOVED });
    expect(await deliveriesOf(webhook)).toMatchObject([
      { attempts: 0, claim: "theirs", next_attempt_at: NOW + 60 },
      { attempts: 7, claim: "theirs", next_attempt_at: NOW - 1 },
    ]);
  });

  it("a new URL makes a backlog due at once: 20,000 deliveries before the answer, and the rest after it", async () => {
    const { world, webhook } = await start();
    await fillDeliveries(webhook, 20_001);
    await setDeliveries(webhook, `next_attempt_at = ${NOW} + 43200`);
    const site = await findSite(contextAt(NOW), world);
    const later: Promise<unknown>[] = [];
    const atOnce: [number, number][] = [];
    const ctx = { ...contextAt(NOW), waitUntil: (work: Promise<unknown>) => void later.push(work) };
    await changeWebhook(ctx, { site, webhookId: webhook.id, change: { url: MOVED } });
    atOnce.push(await dueAndLater(webhook));
    await Promise.all(later);
    expect(atOnce[0]?.[0]).toBeGreaterThanOrEqual(20_000);
    expect(await dueAndLater(webhook)).toEqual([20_001, 0]);
  });

  it("a new URL clears the failures of a webhook; other changes do not", async () => {
    const { world, webhook, patch } = await start();
    const failing = { failing_since: 5, last_status: 500, last_cause: "status", last_failed_at: 6 };
    const failure = "last_cause = 'status', last_failed_at = 6, last_seq = 1";
    await setWebhook(webhook, `failing_since = 5, last_status = 500, ${failure}, failing_told_at = 6, slow = 0`);
    const others = { events: ["session.created"], url: webhook.url, status: "enabled" };
    expect((await patch(others)).body).toMatchObject(failing);
    expect((await eventStore(world)).webhooks).toMatchObject([{ failing_told_at: 6, slow: 0 }]);
    const well = { failing_since: null, last_status: null, last_cause: null, last_failed_at: null };
    expect((await patch({ url: MOVED })).body).toMatchObject(well);
    expect((await eventStore(world)).webhooks).toMatchObject([
      { failing_told_at: null, last_seq: null, health_since: NOW, slow: null },
    ]);
  });

  it("pending deliveries keep their times when the URL stays the same or the change disables the webhook", async () => {
    const { webhook, patch, sent } = await start();
    await fillDeliveries(webhook, 1);
    await setDeliveries(webhook, `attempts = 2, claim = 'theirs', next_attempt_at = ${NOW + 9}`);
    await patch({ url: webhook.url, events: ["session.created"] });
    expect(await deliveriesOf(webhook)).toMatchObject([{ attempts: 2, next_attempt_at: NOW + 9 }]);
    await patch({ url: MOVED, status: "disabled" });
    expect(await deliveriesOf(webhook)).toMatchObject([{ status: "failed", next_attempt_at: null }]);
    expect(sent).toEqual([]);
  });

  it("a new URL of a webhook is stored once when the database loses the answer", async () => {
    const { world, webhook } = await start();
    await fillDeliveries(webhook, 2);
    await setDeliveries(webhook, `attempts = 2, next_attempt_at = ${NOW + 9}`);
    let tries = 0;
    const batch = async (statements: D1PreparedStatement[]) => {
      const results = await env.DB.batch(statements);
      if (tries++ > 0) return results;
      // Meanwhile an attempt at the new URL has begun, and another one has failed.
      await setDeliveries(
        webhook,
        `attempts = 3, claim = iif(seq = 1, 'theirs', NULL), next_attempt_at = iif(seq = 1, ${NOW + 60}, ${NOW + 300})`,
      );
      throw new Error("D1_ERROR: Network connection lost.");
    };
    const ctx = contextAt(NOW, { DB: replacing(env.DB, { batch }) });
    const site = await findSite(ctx, world);
    const answer = await changeWebhook(ctx, { site, webhookId: webhook.id, change: { url: MOVED } });
    expect(answer).toMatchObject({ url: MOVED, pending: 2 });
    expect(await deliveriesOf(webhook)).toMatchObject([
      { attempts: 3, claim: "theirs", next_attempt_at: NOW + 60 },
      { attempts: 3, next_attempt_at: NOW + 300 },
    ]);
    expect((await eventStore(world)).audit.map(({ action }) => action)).toEqual(["webhook.changed"]);
  });

  it("a new URL of a webhook is stored even when the database fails for the rest of the backlog", async () => {
    const { world, webhook } = await start();
    await fillDeliveries(webhook, 6_000);
    await setDeliveries(webhook, `next_attempt_at = ${NOW} + 43200`);
    const site = await findSite(contextAt(NOW), world);
    const prepare = (sql: string) => {
      const fails = sql.startsWith("update");
      const fail = () => Promise.reject(new Error("D1_ERROR: D1 DB is overloaded."));
      const statement = env.DB.prepare(sql);
      return fails
        ? replacing(statement, { bind: (...v: unknown[]) => replacing(statement.bind(...v), { run: fail }) })
        : statement;
    };
    const batch = (statements: D1PreparedStatement[]) => env.DB.batch(statements);
    const warnings: unknown[] = [];
    const ctx = contextAt(NOW, { DB: replacing(env.DB, { prepare, batch }) });
    const telemetry = { ...ctx.telemetry, warn: (record: unknown) => void warnings.push(record) };
    const change = { url: MOVED };
    expect(await changeWebhook({ ...ctx, telemetry }, { site, webhookId: webhook.id, change })).toMatchObject(change);
    expect(await dueAndLater(webhook)).toEqual([5_000, 1_000]);
    expect(warnings).toMatchObject([{ warning: "not all that is pending is due at the new URL now" }]);
  });
});

describe("disabling a webhook", () => {
  it("disabling a webhook stores the time and does not overwrite why each delivery failed", async () => {
    const { world, webhook, patch } = await start();
    await fillDeliveries(webhook, 2);
    await setDeliveries(
      webhook,
      "last_error = iif(seq = 1, 'HTTP 500: no', NULL), last_status = iif(seq = 1, 500, NULL)",
    );
    await setWebhook(webhook, "failing_since = 5, last_status = 500, last_cause = 'status'");
    world.clock.now += 9;
    expect((await patch({ status: "disabled" })).body).toMatchObject({
      status: "disabled",
      disabled_reason: null,
      disabled_at: NOW + 9,
      failing_since: 5,
      last_status: 500,
      pending: 0,
      failed: 2,
    });
    expect(await deliveriesOf(webhook)).toMatchObject([
      { status: "failed", last_error: "HTTP 500: no", last_status: 500 },
      { status: "failed", last_error: "the webhook is disabled" },
    ]);
  });

  it("disabling a webhook that the Worker disabled does not change the stored reason and time", async () => {
    const { world, webhook, patch } = await start();
    await setWebhook(webhook, "status = 'disabled', disabled_reason = 'gone', disabled_at = 7, last_status = 410");
    const reason = { disabled_reason: "gone", disabled_at: 7, last_status: 410 };
    expect((await patch({ status: "disabled" })).body).toMatchObject(reason);
    expect((await eventStore(world)).webhooks).toMatchObject([reason]);
  });
});

describe("enabling a webhook", () => {
  it("enabling a webhook is 409 while more than 5,000 deliveries are being ended, and works after the sweep", async () => {
    const { world, webhook, patch, showWebhook } = await start();
    await fillDeliveries(webhook, 5_003);
    expect((await patch({ status: "disabled" })).body).toMatchObject({ pending: 3, failed: 5_000 });
    const before = await eventStore(world);
    for (const change of [{ status: "enabled" }, { status: "enabled", url: MOVED, events: ["session.created"] }]) {
      const answer = await patch(change);
      expect(summary(answer)).toEqual(conflict("webhook_ending"));
      expect(answer.body).toMatchObject({
        detail:
          "Deliveries that were pending when the webhook was disabled are still being ended, within minutes: enable it when `pending` is 0.",
      });
    }
    expect(await eventStore(world)).toEqual(before);
    const worker = new DeliveringWorker();
    // Each run begins with webhooks that other tests left, if there are any.
    for (let run = 0; run < 20 && (await showWebhook())?.pending !== 0; run++) await worker.scheduled("* * * * *");
    expect(await showWebhook()).toMatchObject({ status: "disabled", pending: 0, failed: 5_003 });
    expect(summary(await patch({ status: "enabled" }))).toMatchObject({
      status: 200,
      body: { status: "enabled", pending: 0 },
    });
    expect((await eventStore(world)).audit.map(({ action }) => action)).toEqual([
      "webhook.disabled",
      "webhook.enabled",
    ]);
  });

  it("enabling an enabled webhook works while deliveries are pending", async () => {
    const { webhook, patch } = await start();
    await fillDeliveries(webhook, 1);
    expect(summary(await patch({ status: "enabled" }))).toMatchObject({ status: 200, body: { pending: 1 } });
  });
});

describe("a webhook in the answers", () => {
  it("a webhook shows its pending and failed deliveries, up to 10,000 each, and the age of the oldest pending one", async () => {
    const { world, webhook, showWebhook } = await start();
    expect(await showWebhook()).toMatchObject({ pending: 0, failed: 0, oldest_pending_at: null });
    const other = await newWebhook(world);
    await fillDeliveries(webhook, 20_002);
    await fillDeliveries(other, 1);
    await setDeliveries(
      webhook,
      `created_at = ${NOW} - 30000 + seq, status = CASE WHEN seq > 10001 THEN 'failed' WHEN seq = 1 THEN 'delivered' ELSE 'pending' END`,
    );
    expect(await showWebhook()).toMatchObject({ pending: 10_000, failed: 10_000, oldest_pending_at: NOW - 30_000 + 2 });
    await setDeliveries(webhook, "status = iif(seq < 20000, 'delivered', 'pending')");
    expect(await showWebhook()).toMatchObject({ pending: 3, failed: 0, oldest_pending_at: NOW - 10_000 });
  });

  it("a webhook shows why its last delivery failed, with the receiver's words while that delivery has them", async () => {
    const { webhook, showWebhook } = await start();
    await fillDeliveries(webhook, 2);
    await setDeliveries(webhook, "last_status = 503, last_error = 'HTTP 503: busy ' || seq");
    const cause = { last_status: 503, last_cause: "status", last_failed_at: 6 };
    const failure = "last_status = 503, last_cause = 'status', last_failed_at = 6, last_seq = 1";
    await setWebhook(webhook, `failing_since = 5, ${failure}, last_error = 'HTTP 500: of an older release'`);
    expect(await showWebhook()).toMatchObject({ failing_since: 5, ...cause, last_error: "HTTP 503: busy 1" });
    // The delivery loses the receiver's words when it is sent again, and gets others under a wrong MASTER_KEY.
    for (const later of ["last_error = NULL", "last_status = NULL, last_error = 'the secret does not open'"]) {
      await setDeliveries(webhook, later);
      expect(await showWebhook()).toMatchObject({ ...cause, last_error: null });
    }
  });
});
