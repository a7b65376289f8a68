import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { EVENT_TYPES } from "../../../src/operators/services/webhooks.ts";
import { type AdminAnswer, call, problem } from "../../support/admin-calls.ts";
import { addWebhook, eventStore } from "../../support/webhook-store.ts";
import { NOW, World } from "../../support/world.ts";

const summary = ({ status, body }: AdminAnswer) => ({ status, body });
const bad = (field: string, message: string) => problem(400, "Invalid input", [{ field, message }]);

const URL_RULE = "must be an absolute https URL";
const TYPES_RULE = "must be a list of 1 to 100 types of events";
const ALL_TYPES = EVENT_TYPES;
const TYPE_RULE = `must be ${ALL_TYPES.join(" or ")}`;

const at = ({ siteId }: World, path = "") => `/admin/sites/${siteId}/webhooks${path}`;

/** A webhook that was just added, as the admin API shows it. */
const webhookWith = (change: object = {}) => ({
  id: expect.stringMatching(/^wh_[0-9a-f]{32}$/),
  url: "https://hooks.example.com/in?token=t",
  events: ALL_TYPES,
  status: "enabled",
  disabled_reason: null,
  disabled_at: null,
  failing_since: null,
  version: expect.stringMatching(/^[0-9a-f]{32}$/),
  last_status: null,
  last_cause: null,
  last_failed_at: null,
  last_error: null,
  pending: 0,
  failed: 0,
  oldest_pending_at: null,
  previous_expires_at: null,
  created_at: NOW,
  ...change,
});

const DETAILS = { origin: "https://hooks.example.com", events: ALL_TYPES };
const DISABLED = { from: "enabled", to: "disabled" };
const entry = (action: string, subject: string, details: object = DETAILS) => ({
  action,
  actor: "admin-api",
  at: NOW,
  subject,
  details,
});

/** Stores deliveries of a webhook with these statuses. */
async function putDeliveries({ siteId }: World, webhook: string, count: number, status = "pending"): Promise<void> {
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO deliveries (site_id, webhook_id, seq, status, attempts, next_attempt_at, claim, created_at)
     SELECT ?, ?, i, ?, 1, ?, 'claim', 1 FROM n`,
  )
    .bind(count, siteId, webhook, status, NOW)
    .run();
}

describe("POST /admin/sites/:site_id/webhooks", () => {
  it("adding a webhook is 201 with its secret, and turns the site's events on", async () => {
    // A webhook and the site's switch for events are only in the home.
    const world = await World.create({}, "apac");
    const { revision } = (await eventStore(world)).site as { revision: number };
    const answer = await call(world, "POST", at(world), { url: "https://hooks.example.com/in?token=t" });
    expect(summary(answer)).toEqual({
      status: 201,
      body: webhookWith({ secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) }),
    });
    const { id, secret } = answer.body as { id: string; secret: string };
    expect(Uint8Array.fromBase64(secret.slice(6))).toHaveLength(32);
    const { site, webhooks, audit } = await eventStore(world);
    expect(site).toMatchObject({ events: 1, revision });
    expect(webhooks).toEqual([
      {
        site_id: world.siteId,
        id,
        url: "https://hooks.example.com/in?token=t",
        created_at: NOW,
        events: JSON.stringify(ALL_TYPES),
        status: "enabled",
        disabled_reason: null,
        failing_since: null,
        version: expect.stringMatching(/^[0-9a-f]{32}$/),
        secret: expect.stringMatching(/^v2\./),
        previous_version: null,
        previous_secret: null,
        previous_expires_at: null,
        revision: 0,
        disabled_at: null,
        last_status: null,
        last_error: null,
        failing_told_at: null,
        last_cause: null,
        last_failed_at: null,
        last_seq: null,
        health_since: null,
        slow: null,
      },
    ]);
    expect(audit).toEqual([
      entry("webhook.added", id),
      entry("site.events_on", String(world.siteId), { from: false, to: true }),
    ]);
  });

  it("a new webhook gets the events of later calls and no earlier ones", async () => {
    const world = await World.create();
    await world.chatId();
    const [all, added_] = [await addWebhook(world), await addWebhook(world, { events: ["session.agents_added"] })];
    const chatId = await world.chatId({ kefu_id: [1], fzr_uid: 1 });
    await world.add(chatId, { kefu_ids: [2] });
    const { events, deliveries } = await eventStore(world);
    expect(events.map(({ seq, type }) => [seq, type])).toEqual([
      [1, "session.created"],
      [2, "session.agents_added"],
    ]);
    const due = { status: "pending", attempts: 0, next_attempt_at: NOW, claim: null, created_at: NOW };
    const byId = [
      ...[1, 2].map((seq) => ({ webhook_id: all.id, seq, ...due })),
      { webhook_id: added_.id, seq: 2, ...due },
    ].sort((a, b) => (a.webhook_id < b.webhook_id ? -1 : 1));
    expect(deliveries).toMatchObject(byId);
  });

  it("a webhook stores each given type once, in the given order, and two webhooks may have the same URL", async () => {
    const world = await World.create();
    const events = ["session.agents_added", "session.created", "session.agents_added"];
    const { body } = await call(world, "POST", at(world), { url: "https://hooks.example.com/", events });
    expect(body).toMatchObject({ events: ["session.agents_added", "session.created"] });
    await call(world, "POST", at(world), { url: "https://hooks.example.com/" });
    expect((await eventStore(world)).webhooks).toHaveLength(2);
  });

  it("a second webhook does not turn the site's events on again after an operator turned them off", async () => {
    const world = await World.create();
    await addWebhook(world);
    await call(world, "PATCH", `/admin/sites/${world.siteId}`, { events: false });
    await addWebhook(world);
    const { site, audit } = await eventStore(world);
    expect(site).toMatchObject({ events: 0 });
    expect(audit.map(({ action }) => action)).toEqual([
      "webhook.added",
      "site.events_on",
      "site.events_off",
      "webhook.added",
    ]);
  });

  it("adding a webhook writes no audit entry about events when they are on already", async () => {
    const world = await World.create();
    await call(world, "PATCH", `/admin/sites/${world.siteId}`, { events: true });
    await addWebhook(world);
    const { audit } = await eventStore(world);
    expect(audit.map(({ action }) => action)).toEqual(["site.events_on", "webhook.added"]);
  });

  it("a site may not have more than 10 webhooks, even when several are added at the same time", async () => {
    const world = await World.create();
    const answers = await Promise.all(
      Array.from({ length: 14 }, () => call(world, "POST", at(world), { url: "https://hooks.example.com/" })),
    );
    const refusals = answers.filter(({ status }) => status !== 201);
    expect(refusals.map(summary)).toEqual(Array(4).fill(bad("url", "a site has at most 10 webhooks")));
    const { webhooks, audit } = await eventStore(world);
    expect([webhooks.length, audit.length]).toEqual([10, 11]);
    const [{ id } = { id: "" }] = webhooks;
    expect((await call(world, "DELETE", at(world, `/${id}`))).status).toBe(204);
    await addWebhook(world);
    await addWebhook(await World.create());
  });

  // test/events/url.test.ts tests every rule of a URL.
  const WRONG_URLS: [url: unknown, message: string][] = [
    [undefined, "is required"],
    ["", URL_RULE],
    [5, URL_RULE],
    [null, URL_RULE],
    ["http://hooks.example.com/in", URL_RULE],
    ["https://hooks.example.com:8443/in", "must use port 443"],
    ["https://127.0.0.1/in", "must name a host, not an IP address"],
    [`https://hooks.example.com/${"a".repeat(2_048)}`, URL_RULE],
  ];

  it("adding a webhook with a wrong URL is refused with the field's name, and stores nothing", async () => {
    const world = await World.create({ WEBHOOK_LOOPBACK: "" });
    for (const [url, message] of WRONG_URLS) {
      expect([url, summary(await call(world, "POST", at(world), { url }))]).toEqual([url, bad("url", message)]);
    }
    expect(await eventStore(world)).toMatchObject({ webhooks: [], audit: [], site: { events: 0 } });
  });

  it("a webhook URL may be a loopback address only where the deployment allows it", async () => {
    const url = "http://127.0.0.1:9000/in";
    const [open, shut] = [
      await World.create({ WEBHOOK_LOOPBACK: "allow" }),
      await World.create({ WEBHOOK_LOOPBACK: "" }),
    ];
    expect(await call(open, "POST", at(open), { url })).toMatchObject({ status: 201, body: { url } });
    expect(summary(await call(shut, "POST", at(shut), { url }))).toEqual(bad("url", URL_RULE));
  });

  const WRONG_EVENTS: [events: unknown, field: string, message: string][] = [
    [["session.no_such_event"], "events.0", TYPE_RULE],
    [["session.created", "ping"], "events.1", TYPE_RULE],
    [[1], "events.0", TYPE_RULE],
    [["session.created", null], "events.1", TYPE_RULE],
    [[], "events", TYPES_RULE],
    ["session.created", "events", TYPES_RULE],
    [null, "events", TYPES_RULE],
    [{}, "events", TYPES_RULE],
  ];

  it("adding a webhook with wrong events is refused with the field's name", async () => {
    const world = await World.create();
    for (const [events, field, message] of WRONG_EVENTS) {
      const answer = await call(world, "POST", at(world), { url: "https://hooks.example.com/", events });
      expect([events, summary(answer)]).toEqual([events, bad(field, message)]);
    }
    expect((await eventStore(world)).webhooks).toEqual([]);
  });

  it("a webhook accepts a list of up to 100 types, with repetitions", async () => {
    const world = await World.create();
    const withTypes = (count: number) => ({
      url: "https://hooks.example.com/",
      events: Array(count).fill("session.created"),
    });
    expect(await call(world, "POST", at(world), withTypes(100))).toMatchObject({
      body: { events: ["session.created"] },
    });
    expect(summary(await call(world, "POST", at(world), withTypes(101)))).toEqual(bad("events", TYPES_RULE));
    expect((await eventStore(world)).webhooks).toHaveLength(1);
  });

  it("adding a webhook is refused with an unknown field or a query", async () => {
    const world = await World.create();
    const input = { url: "https://hooks.example.com/", secret: "mine" };
    expect(summary(await call(world, "POST", at(world), input))).toEqual(bad("secret", "is not a field of this call"));
    const { status } = await call(world, "POST", at(world, "?events=ping"), { url: "https://hooks.example.com/" });
    expect(status).toBe(400);
    expect((await eventStore(world)).webhooks).toEqual([]);
  });

  it("adding a webhook is 404 for an unknown site, 409 for an unfinished one, and works for a closed one", async () => {
    const world = await World.create();
    const body = { url: "https://hooks.example.com/" };
    expect((await call(world, "POST", "/admin/sites/999999/webhooks", body)).status).toBe(404);
    await call(world, "PATCH", `/admin/sites/${world.siteId}`, { status: "closed" });
    await addWebhook(world);
    const mark = env.DB.prepare("UPDATE sites SET status = ? WHERE id = ?");
    await mark.bind("creating", world.siteId).run();
    expect((await call(world, "POST", at(world), body)).status).toBe(409);
    // Otherwise the next new site of this name would finish this one.
    await mark.bind("open", world.siteId).run();
    expect((await eventStore(world)).webhooks).toHaveLength(1);
  });
});

describe("GET /admin/sites/:site_id/webhooks", () => {
  it("the list of webhooks shows only the site's own, oldest first, without a secret", async () => {
    const [world, other] = [await World.create(), await World.create()];
    expect((await call(world, "GET", at(world))).body).toEqual({ items: [], next_cursor: null });
    const first = await addWebhook(world);
    world.clock.now++;
    const second = await addWebhook(world, { url: "https://second.example.com/", events: ["session.created"] });
    await addWebhook(other);
    const { body } = await call(world, "GET", at(world));
    expect(body).toEqual({
      items: [
        webhookWith({ id: first.id }),
        webhookWith({
          id: second.id,
          url: "https://second.example.com/",
          events: ["session.created"],
          created_at: NOW + 1,
        }),
      ],
      next_cursor: null,
    });
    for (const { secret } of [first, second]) expect(JSON.stringify(body)).not.toContain(secret.slice(6));
  });
});

describe("PATCH /admin/sites/:site_id/webhooks/:webhook_id", () => {
  it("PATCH changes a webhook's URL, and the audit log shows neither the path nor the query", async () => {
    const world = await World.create();
    const { id } = await addWebhook(world);
    const url = "https://second.example.com/secret-path?token=2";
    expect(summary(await call(world, "PATCH", at(world, `/${id}`), { url }))).toEqual({
      status: 200,
      body: webhookWith({ id, url }),
    });
    const { webhooks, audit } = await eventStore(world);
    expect(webhooks).toMatchObject([{ id, url }]);
    const to = { origin: "https://second.example.com" };
    const details = { ...DETAILS, ...to, from: { origin: DETAILS.origin }, to };
    expect(audit.slice(2)).toEqual([entry("webhook.changed", id, details)]);
    expect(JSON.stringify(audit)).not.toMatch(/token|secret-path/);
  });

  it("the audit log says that the path or query of a webhook's URL changed, without its text", async () => {
    const world = await World.create();
    const { id } = await addWebhook(world);
    const own = { origin: DETAILS.origin };
    const details = { ...DETAILS, path: "changed", from: own, to: own };
    for (const url of ["https://hooks.example.com/other-path?token=t", "https://hooks.example.com/other-path?token=2"])
      expect((await call(world, "PATCH", at(world, `/${id}`), { url })).status).toBe(200);
    const { audit } = await eventStore(world);
    expect(audit.slice(2)).toEqual([entry("webhook.changed", id, details), entry("webhook.changed", id, details)]);
    expect(JSON.stringify(audit)).not.toMatch(/token|other-path/);
  });

  it("PATCH repairs a webhook whose stored URL is not readable", async () => {
    const world = await World.create();
    const { id } = await addWebhook(world);
    await env.DB.prepare("UPDATE webhooks SET url = 'not a url' WHERE id = ?").bind(id).run();
    const status = "disabled";
    expect(summary(await call(world, "PATCH", at(world, `/${id}`), { status }))).toMatchObject({ status: 200 });
    const url = "https://second.example.com/";
    const answer = await call(world, "PATCH", at(world, `/${id}`), { url, status: "enabled" });
    expect(summary(answer)).toEqual({ status: 200, body: webhookWith({ id, url }) });
    const to = { origin: "https://second.example.com" };
    const { audit } = await eventStore(world);
    expect(audit.slice(2)).toEqual(
      expect.arrayContaining([
        entry("webhook.disabled", id, { ...DETAILS, ...DISABLED, origin: null }),
        entry("webhook.changed", id, { ...DETAILS, ...to, from: { origin: null }, to }),
      ]),
    );
  });

  it("PATCH changes a webhook's types of events, from the next call on", async () => {
    const world = await World.create();
    const { id } = await addWebhook(world);
    const events = ["session.agents_added", "session.agents_added"];
    const { body } = await call(world, "PATCH", at(world, `/${id}`), { events });
    expect(body).toEqual(webhookWith({ id, events: ["session.agents_added"] }));
    await world.chatId();
    const { deliveries, audit } = await eventStore(world);
    expect(deliveries).toEqual([]);
    const to = { events: ["session.agents_added"] };
    const details = { ...DETAILS, ...to, from: { events: ALL_TYPES }, to };
    expect(audit.slice(2)).toEqual([entry("webhook.changed", id, details)]);
  });

  it("disabling a webhook ends its pending deliveries as failed, and makes no new ones", async () => {
    const world = await World.create();
    const [{ id }, other] = [await addWebhook(world), await addWebhook(world)];
    await world.chatId();
    await world.chatId();
    await env.DB.prepare("UPDATE deliveries SET status = 'delivered', next_attempt_at = NULL WHERE seq = 1").run();
    const { body } = await call(world, "PATCH", at(world, `/${id}`), { status: "disabled" });
    expect(body).toEqual(webhookWith({ id, status: "disabled", disabled_at: NOW, failed: 1 }));
    await world.chatId();
    const { deliveries, audit } = await eventStore(world);
    const of = (webhook: string) =>
      deliveries
        .filter(({ webhook_id }) => webhook_id === webhook)
        .map(({ seq, status, ...row }) => ({ seq, status, row }));
    expect(of(id)).toMatchObject([
      { seq: 1, status: "delivered", row: { last_error: null } },
      { seq: 2, status: "failed", row: { next_attempt_at: null, claim: null, last_error: "the webhook is disabled" } },
    ]);
    expect(of(other.id).map(({ status }) => status)).toEqual(["delivered", "pending", "pending"]);
    expect(audit.at(-1)).toEqual(entry("webhook.disabled", id, { ...DETAILS, ...DISABLED }));
    await call(world, "PATCH", at(world, `/${id}`), { status: "disabled" });
    expect((await eventStore(world)).audit).toHaveLength(audit.length);
  });

  it("enabling a webhook clears its fault and does not send failed deliveries again", async () => {
    const world = await World.create();
    const { id } = await addWebhook(world);
    await putDeliveries(world, id, 1, "failed");
    await env.DB.prepare(
      `UPDATE webhooks SET status = 'disabled', disabled_reason = 'failing', disabled_at = 6, failing_since = 5, last_status = 500,
       last_cause = 'status', last_failed_at = 6, last_seq = 1, failing_told_at = 5, slow = 0 WHERE id = ?`,
    )
      .bind(id)
      .run();
    const fault = { disabled_reason: "failing", disabled_at: 6, failing_since: 5, last_status: 500 };
    expect((await call(world, "GET", at(world))).body).toMatchObject({
      items: [{ status: "disabled", ...fault, last_cause: "status", last_failed_at: 6 }],
    });
    const { body } = await call(world, "PATCH", at(world, `/${id}`), { status: "enabled" });
    expect(body).toEqual(webhookWith({ id, failed: 1 }));
    expect((await eventStore(world)).webhooks).toMatchObject([
      { failing_told_at: null, last_seq: null, health_since: NOW, slow: null },
    ]);
    const { deliveries, audit } = await eventStore(world);
    expect(deliveries).toMatchObject([{ status: "failed" }]);
    const details = { ...DETAILS, from: "disabled", to: "enabled" };
    expect(audit.at(-1)).toEqual(entry("webhook.enabled", id, details));
  });

  it("PATCH of a webhook writes an audit entry for each changed field, and none when nothing changed", async () => {
    const world = await World.create();
    const { id } = await addWebhook(world);
    const change = { url: "https://second.example.com/", events: ["session.created"], status: "disabled" };
    await call(world, "PATCH", at(world, `/${id}`), change);
    await call(world, "PATCH", at(world, `/${id}`), change);
    const details = { origin: "https://second.example.com", events: ["session.created"] };
    expect((await eventStore(world)).audit.slice(2)).toEqual([
      entry("webhook.changed", id, { ...details, from: DETAILS, to: details }),
      entry("webhook.disabled", id, { ...details, ...DISABLED }),
    ]);
  });

  const WRONG_CHANGES: [body: unknown, field: string, message: string][] = [
    [{}, "", "must change url, events or status"],
    [{ status: "gone" }, "status", 'must be "enabled" or "disabled"'],
    [{ url: "http://hooks.example.com/" }, "url", URL_RULE],
    [{ url: "https://10.0.0.1/" }, "url", "must name a host, not an IP address"],
    [{ events: [] }, "events", TYPES_RULE],
    [{ events: ["ping"] }, "events.0", TYPE_RULE],
    [{ status: "disabled", secret: "mine" }, "secret", "is not a field of this call"],
  ];

  it("PATCH of a webhook refuses wrong changes with the field's name, and changes nothing", async () => {
    const world = await World.create();
    const { id } = await addWebhook(world);
    const before = await eventStore(world);
    for (const [body, field, message] of WRONG_CHANGES) {
      const answer = await call(world, "PATCH", at(world, `/${id}`), body);
      expect([body, summary(answer)]).toEqual([body, bad(field, message)]);
    }
    expect(await eventStore(world)).toEqual(before);
  });
});

describe("DELETE /admin/sites/:site_id/webhooks/:webhook_id", () => {
  it("DELETE of a webhook is 204 and removes its deliveries; events and other deliveries stay", async () => {
    const world = await World.create();
    const [{ id }, other] = [await addWebhook(world), await addWebhook(world)];
    await world.chatId();
    expect(summary(await call(world, "DELETE", at(world, `/${id}`)))).toEqual({ status: 204, body: undefined });
    const { site, webhooks, deliveries, events, audit } = await eventStore(world);
    expect(webhooks.map((row) => row.id)).toEqual([other.id]);
    expect(deliveries.map(({ webhook_id }) => webhook_id)).toEqual([other.id]);
    expect([events.length, site?.events]).toEqual([1, 1]);
    expect(audit.at(-1)).toEqual(entry("webhook.deleted", id));
    expect((await call(world, "DELETE", at(world, `/${id}`))).status).toBe(404);
    expect((await eventStore(world)).audit).toHaveLength(audit.length);
  });

  it("DELETE of a webhook removes up to 5,000 deliveries in one call", async () => {
    const world = await World.create();
    const { id } = await addWebhook(world);
    await putDeliveries(world, id, 5_001);
    expect((await call(world, "DELETE", at(world, `/${id}`))).status).toBe(204);
    expect((await eventStore(world)).deliveries).toHaveLength(1);
  });
});

describe("a webhook that the site does not have", () => {
  const CALLS_ABOUT_A_WEBHOOK: [method: string, path: string, body?: object][] = [
    ["PATCH", "", { status: "disabled" }],
    ["DELETE", ""],
    ["POST", "/rotate", {}],
    ["POST", "/end-overlap"],
    ["POST", "/ping"],
    ["POST", "/drill"],
    ["GET", "/deliveries"],
    ["POST", "/deliveries/1/redeliver"],
  ];

  it("an unknown webhook, or one of another site, is 404 for each call", async () => {
    const [world, other] = [await World.create(), await World.create()];
    const { id } = await addWebhook(other);
    await other.chatId();
    const before = await eventStore(other);
    for (const [method, path, body] of CALLS_ABOUT_A_WEBHOOK) {
      for (const unknown of [`wh_${"0".repeat(32)}`, "%20", id]) {
        const answer = await call(world, method, at(world, `/${unknown}${path}`), body);
        expect([method, path, summary(answer)]).toEqual([method, path, problem(404, "Not found")]);
        expect(answer.body).toMatchObject({ detail: "There is no such webhook." });
      }
    }
    expect(await eventStore(other)).toEqual(before);
    expect(await eventStore(world)).toMatchObject({ webhooks: [], deliveries: [], events: [], audit: [] });
  });
});
