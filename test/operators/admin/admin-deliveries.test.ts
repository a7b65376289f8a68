import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { type AdminAnswer, call, conflict, problem } from "../../support/admin-calls.ts";
import { addWebhook, eventStore, keepingQueue } from "../../support/webhook-store.ts";
import { NOW, World } from "../../support/world.ts";

const summary = ({ status, body }: AdminAnswer) => ({ status, body });
const bad = (field: string, message: string) => problem(400, "Invalid input", [{ field, message }]);

const at = ({ siteId }: World, id: string, path: string) => `/admin/sites/${siteId}/webhooks/${id}${path}`;
const EVENT_ID = expect.stringMatching(/^evt_[0-9a-f]{32}$/);

const update = (world: World, set: string, where = "true") =>
  env.DB.prepare(`UPDATE deliveries SET ${set} WHERE site_id = ? AND ${where}`).bind(world.siteId).run();

/** A world with one webhook and a queue that keeps its messages. */
async function start(home = "main") {
  const { sent, EVENTS } = keepingQueue();
  const world = await World.create({ EVENTS }, home);
  const { id } = await addWebhook(world);
  return { world, id, sent, notice: { home, site: world.siteId, webhook: id } };
}

const disable = (world: World, id: string) =>
  call(world, "PATCH", `/admin/sites/${world.siteId}/webhooks/${id}`, { status: "disabled" });

describe("POST /admin/sites/:site_id/webhooks/:webhook_id/ping", () => {
  it("a ping of a webhook is 202: it makes an event for this webhook only and notifies the queue", async () => {
    const { world, id, sent, notice } = await start("apac");
    await addWebhook(world);
    const answer = await call(world, "POST", at(world, id, "/ping"));
    expect(summary(answer)).toEqual({ status: 202, body: { event_id: EVENT_ID } });
    const { event_id } = answer.body as { event_id: string };
    const { events, deliveries } = await eventStore(world);
    const data = JSON.stringify({ seq: 1, webhook_id: id });
    const event = {
      site_id: world.siteId,
      seq: 1,
      id: event_id,
      type: "ping",
      session_id: null,
      created_at: NOW,
      data,
    };
    expect(events).toEqual([event]);
    expect(deliveries).toEqual([
      {
        site_id: world.siteId,
        webhook_id: id,
        seq: 1,
        status: "pending",
        attempts: 0,
        next_attempt_at: 0,
        claim: null,
        last_status: null,
        last_error: null,
        created_at: NOW,
        last_attempt_at: null,
        duration_ms: null,
      },
    ]);
    expect(sent).toEqual([notice]);
  });

  it("a ping is delivered although the webhook chose other types and the site's events are off", async () => {
    const { world, id } = await start();
    const sitePath = `/admin/sites/${world.siteId}`;
    await call(world, "PATCH", `${sitePath}/webhooks/${id}`, { events: ["session.agents_added"] });
    await call(world, "PATCH", sitePath, { events: false });
    await world.chatId();
    expect((await call(world, "POST", at(world, id, "/ping"))).status).toBe(202);
    expect((await eventStore(world)).deliveries).toHaveLength(1);
  });

  it("each ping takes the next seq of the site, as the events of calls do", async () => {
    const { world, id } = await start();
    await env.DB.prepare("UPDATE home_sites SET event_seq_floor = 10 WHERE site_id = ?").bind(world.siteId).run();
    await world.chatId();
    await Promise.all([1, 2, 3].map(() => call(world, "POST", at(world, id, "/ping"))));
    await world.chatId();
    const { events } = await eventStore(world);
    expect(events.map(({ seq, type }) => [seq, type])).toEqual([
      [11, "session.created"],
      ...[12, 13, 14].map((seq) => [seq, "ping"]),
      [15, "session.created"],
    ]);
    expect(new Set(events.map((event) => event.id)).size).toBe(5);
  });

  it("a ping of a disabled webhook is 409 and stores nothing", async () => {
    const { world, id, sent } = await start();
    await disable(world, id);
    const answer = await call(world, "POST", at(world, id, "/ping"));
    expect(summary(answer)).toEqual(conflict("webhook_disabled"));
    expect(answer.body).toMatchObject({ detail: "The webhook is disabled: enable it first." });
    expect(await eventStore(world)).toMatchObject({ events: [], deliveries: [] });
    expect(sent).toEqual([]);
  });

  it("a ping of a webhook is 202 when the queue fails, because the sweep will deliver it", async () => {
    const EVENTS = { sendBatch: () => Promise.reject(new Error("Queue is overloaded")) } as never;
    const world = await World.create({ EVENTS });
    const { id } = await addWebhook(world);
    expect((await call(world, "POST", at(world, id, "/ping"))).status).toBe(202);
    expect((await eventStore(world)).deliveries).toMatchObject([{ status: "pending", next_attempt_at: 0 }]);
  });
});

describe("GET /admin/sites/:site_id/webhooks/:webhook_id/deliveries", () => {
  it("the list of deliveries shows the webhook's deliveries, newest first, with exactly the documented fields", async () => {
    const { world, id } = await start();
    const chatId = await world.chatId();
    await call(world, "POST", at(world, id, "/ping"));
    const failed =
      "status = 'failed', attempts = 8, next_attempt_at = NULL, last_status = 500, last_error = 'HTTP 500: oops', last_attempt_at = 7, duration_ms = 212";
    await update(world, failed, "seq = 1");
    const { body } = await call(world, "GET", at(world, id, "/deliveries"));
    const [first, second] = (await eventStore(world)).events.map((event) => event.id);
    expect(body).toEqual({
      items: [
        {
          event_id: second,
          seq: 2,
          type: "ping",
          chat_id: null,
          status: "pending",
          attempts: 0,
          // A ping is first in line, so its wait counts from when it was made.
          last_status: null,
          last_error: null,
          next_attempt_at: NOW,
          created_at: NOW,
          last_attempt_at: null,
          duration_ms: null,
        },
        {
          event_id: first,
          seq: 1,
          type: "session.created",
          chat_id: chatId,
          status: "failed",
          attempts: 8,
          last_status: 500,
          last_error: "HTTP 500: oops",
          next_attempt_at: null,
          created_at: NOW,
          last_attempt_at: 7,
          duration_ms: 212,
        },
      ],
      next_cursor: null,
    });
  });

  it("each further page of the list of deliveries has earlier deliveries, also filtered by status", async () => {
    const { world, id } = await start();
    await addWebhook(world);
    for (let call = 0; call < 5; call++) await world.chatId();
    await update(world, "status = 'delivered', next_attempt_at = NULL", "seq % 2 = 0");
    const seqs: number[] = [];
    let query = "?limit=2";
    for (let pages = 0; pages < 3; pages++) {
      const { body } = await call(world, "GET", at(world, id, `/deliveries${query}`));
      const { items, next_cursor } = body as { items: { seq: number }[]; next_cursor: string | null };
      seqs.push(...items.map(({ seq }) => seq));
      expect(next_cursor === null).toBe(pages === 2);
      query = `?limit=2&cursor=${next_cursor}`;
    }
    expect(seqs).toEqual([5, 4, 3, 2, 1]);
    const of = async (status: string) => {
      const { body } = await call(world, "GET", at(world, id, `/deliveries?status=${status}`));
      return (body as { items: { seq: number }[] }).items.map(({ seq }) => seq);
    };
    expect([await of("delivered"), await of("pending"), await of("failed"), await of("skipped")]).toEqual([
      [4, 2],
      [5, 3, 1],
      [],
      [],
    ]);
  });

  it("the list of deliveries shows skipped deliveries and deliveries whose event is gone", async () => {
    const { world, id } = await start();
    for (let call = 0; call < 3; call++) await world.chatId();
    await update(world, "status = 'skipped', next_attempt_at = NULL", "seq < 3");
    const run = (sql: string) => env.DB.prepare(sql).bind(world.siteId).run();
    await run("DELETE FROM events WHERE site_id = ? AND seq <> 2");
    await run("UPDATE events SET data = NULL WHERE site_id = ?");
    const list = async (query: string) => {
      const { body } = await call(world, "GET", at(world, id, `/deliveries${query}`));
      return (body as { items: object[] }).items;
    };
    const noEvent = { event_id: null, type: null, chat_id: null };
    expect(await list("?status=skipped")).toMatchObject([
      { seq: 2, status: "skipped", type: "session.created", event_id: EVENT_ID },
      { seq: 1, status: "skipped", ...noEvent, created_at: NOW },
    ]);
    expect(await list("")).toMatchObject([{ seq: 3, status: "pending", ...noEvent }, { seq: 2 }, { seq: 1 }]);
  });

  const WRONG: [query: string, field: string, message: string][] = [
    ["status=gone", "status", "must be pending or delivered or failed or skipped"],
    ["limit=0", "limit", "must be an integer from 1 to 100"],
    ["limit=101", "limit", "must be an integer from 1 to 100"],
    ["cursor=x", "cursor", "is not a next_cursor"],
    ["after=1", "after", "is not a field of this call"],
  ];

  it("the list of deliveries refuses a wrong query and names the field", async () => {
    const { world, id } = await start();
    for (const [query, field, message] of WRONG) {
      const answer = await call(world, "GET", at(world, id, `/deliveries?${query}`));
      expect([query, summary(answer)]).toEqual([query, bad(field, message)]);
    }
  });
});

describe("POST /admin/sites/:site_id/webhooks/:webhook_id/deliveries/:seq/redeliver", () => {
  const redeliver = (world: World, id: string, seq: number | string) =>
    call(world, "POST", at(world, id, `/deliveries/${seq}/redeliver`));
  const DUE = {
    status: "pending",
    attempts: 0,
    next_attempt_at: NOW,
    claim: null,
    last_status: null,
    last_error: null,
  };

  it.each(["failed", "delivered", "skipped", "pending"])(
    "a %s delivery can be sent again: the answer is 202 and its attempts start again",
    async (status) => {
      const { world, id, sent, notice } = await start();
      await world.chatId();
      await update(
        world,
        `status = '${status}', attempts = 8, next_attempt_at = NULL, last_status = 500, last_error = 'no'`,
      );
      sent.length = 0;
      const { events } = await eventStore(world);
      expect(summary(await redeliver(world, id, 1))).toEqual({
        status: 202,
        body: { event_id: events[0]?.id, seq: 1 },
      });
      expect((await eventStore(world)).deliveries).toMatchObject([DUE]);
      expect(sent).toEqual([notice]);
    },
  );

  it("two operators who send one delivery again at the same time leave one delivery and two audit rows", async () => {
    const { world, id } = await start();
    await world.chatId();
    await update(world, "status = 'failed', attempts = 8, next_attempt_at = NULL");
    const rowsBefore = (await eventStore(world)).audit.length;
    const answers = await Promise.all([world, world.anotherIsolate()].map((each) => redeliver(each, id, 1)));
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    const { deliveries, audit } = await eventStore(world);
    expect(deliveries).toMatchObject([DUE]);
    expect(audit.slice(rowsBefore)).toMatchObject(Array(2).fill({ action: "webhook.redelivered" }));
  });

  it("a single event is sent on request to a webhook that is younger than the event or chose other types", async () => {
    const { world, id } = await start();
    await call(world, "PATCH", `/admin/sites/${world.siteId}/webhooks/${id}`, { events: ["session.agents_added"] });
    await world.chatId();
    world.clock.now = NOW + 60;
    expect((await redeliver(world, id, 1)).status).toBe(202);
    // The delivery has the event's age, so both are deleted together.
    expect((await eventStore(world)).deliveries).toMatchObject([
      { ...DUE, next_attempt_at: NOW + 60, created_at: NOW },
    ]);
  });

  it("sending a delivery again does not stop a running attempt, and starts a lost attempt again at once", async () => {
    const { world, id } = await start();
    await world.chatId();
    const lastAttempt = "last_status = 500, last_error = 'no', last_attempt_at = 5, duration_ms = 6";
    await update(world, `attempts = 3, claim = 'mine', next_attempt_at = ${NOW + 1}, ${lastAttempt}`);
    const inFlight = { status: "pending", attempts: 0, claim: "mine", next_attempt_at: NOW + 1, last_status: 500 };
    expect((await redeliver(world, id, 1)).status).toBe(202);
    expect((await eventStore(world)).deliveries).toMatchObject([{ ...inFlight, last_attempt_at: 5, duration_ms: 6 }]);
    world.clock.now = NOW + 1;
    expect((await redeliver(world, id, 1)).status).toBe(202);
    const delivery = { ...DUE, next_attempt_at: NOW + 1, last_attempt_at: 5, duration_ms: null };
    expect((await eventStore(world)).deliveries).toMatchObject([delivery]);
  });

  it("a ping that is sent again is first in line again", async () => {
    const { world, id } = await start();
    await call(world, "POST", at(world, id, "/ping"));
    await update(world, "status = 'failed', attempts = 1, next_attempt_at = NULL");
    expect((await redeliver(world, id, 1)).status).toBe(202);
    expect((await eventStore(world)).deliveries).toMatchObject([{ ...DUE, next_attempt_at: 0 }]);
  });

  it("sending an event again is 404 when the site does not have it", async () => {
    const { world, id } = await start();
    const other = await start();
    await other.world.chatId();
    for (const seq of [1, 2, 0, "x", "1.5", "9007199254740993"]) {
      const answer = await redeliver(world, id, seq);
      expect(summary(answer)).toEqual(problem(404, "Not found"));
      expect(answer.body).toMatchObject({ detail: "There is no such event, or it is kept no more." });
    }
    expect((await eventStore(world)).deliveries).toEqual([]);
  });

  it("sending an event again is 409 when it was erased or the webhook is disabled", async () => {
    const { world, id } = await start();
    await world.chatId();
    await update(world, "status = 'skipped', next_attempt_at = NULL");
    await env.DB.prepare("UPDATE events SET data = NULL WHERE site_id = ?").bind(world.siteId).run();
    const answer = await redeliver(world, id, 1);
    expect(summary(answer)).toEqual(conflict("event_erased"));
    expect(answer.body).toMatchObject({ detail: "The event was erased." });
    await disable(world, id);
    expect((await redeliver(world, id, 1)).status).toBe(409);
    expect((await eventStore(world)).deliveries).toMatchObject([{ status: "skipped" }]);
  });
});

describe("GET /admin/sites/:site_id/events", () => {
  const events = (world: World, query = "") => call(world, "GET", `/admin/sites/${world.siteId}/events${query}`);

  it("GET /admin/sites/:site_id/events gives exactly what webhooks get, oldest first", async () => {
    const { world, id } = await start();
    const chatId = await world.chatId({ kefu_id: [1], fzr_uid: 1 });
    world.clock.now++;
    await world.add(chatId, { kefu_ids: [3, 2] });
    await call(world, "POST", at(world, id, "/ping"));
    const session = (await call(world, "GET", `/admin/sites/${world.siteId}/sessions/${chatId}`)).body as object;
    const { appid } = world;
    expect((await events(world)).body).toEqual({
      items: [
        {
          id: EVENT_ID,
          seq: 1,
          type: "session.created",
          created_at: NOW,
          data: { seq: 1, appid, ...session, participants: [] },
        },
        {
          id: EVENT_ID,
          seq: 2,
          type: "session.agents_added",
          created_at: NOW + 1,
          data: { seq: 2, appid, chat_id: chatId, agent_ids: [2, 3], added_by: 1 },
        },
        { id: EVENT_ID, seq: 3, type: "ping", created_at: NOW + 1, data: { seq: 3, webhook_id: id } },
      ],
    });
  });

  it("GET /admin/sites/:site_id/events continues after the given seq, with as many events as the limit", async () => {
    const world = await World.create();
    await call(world, "PATCH", `/admin/sites/${world.siteId}`, { events: true });
    const other = await start();
    await other.world.chatId();
    for (let call = 0; call < 22; call++) await world.chatId();
    const seqs = async (query: string) =>
      ((await events(world, query)).body as { items: { seq: number }[] }).items.map(({ seq }) => seq);
    const upTo = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);
    expect(await seqs("")).toEqual(upTo(1, 20));
    expect(await seqs("?after=20")).toEqual([21, 22]);
    expect(await seqs("?after=3&limit=2")).toEqual([4, 5]);
    expect(await seqs("?after=22")).toEqual([]);
    expect(await seqs("?after=9007199254740991&limit=100")).toEqual([]);
  });

  it("an erased event keeps its place in the list of events, with data null", async () => {
    const { world } = await start();
    await world.chatId();
    await env.DB.prepare("UPDATE events SET data = NULL WHERE site_id = ?").bind(world.siteId).run();
    expect((await events(world)).body).toMatchObject({ items: [{ seq: 1, type: "session.created", data: null }] });
  });

  const WRONG: [query: string, field: string, message: string][] = [
    ["after=-1", "after", "must be an integer from 0 to 9007199254740991"],
    ["after=1.5", "after", "must be an integer from 0 to 9007199254740991"],
    ["after=x", "after", "must be an integer from 0 to 9007199254740991"],
    ["after=", "after", "must be an integer from 0 to 9007199254740991"],
    ["after=9007199254740992", "after", "must be an integer from 0 to 9007199254740991"],
    ["limit=0", "limit", "must be an integer from 1 to 100"],
    ["limit=101", "limit", "must be an integer from 1 to 100"],
    ["cursor=1", "cursor", "is not a field of this call"],
  ];

  it("GET /admin/sites/:site_id/events refuses a wrong query and names the field", async () => {
    const world = await World.create();
    for (const [query, field, message] of WRONG) {
      expect([query, summary(await events(world, `?${query}`))]).toEqual([query, bad(field, message)]);
    }
  });
});
