import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { call } from "../../support/admin-calls.ts";
import {
  beforeStep,
  type ErasureAnswer,
  erase,
  eraseWhole,
  fieldsOf,
  personText,
  placesOf,
  seedCustomer,
} from "../../support/customers.ts";
import { DeliveringWorker, deliveriesOf, setDeliveries } from "../../support/deliveries.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import { settleHome } from "../../support/settle-home.ts";
import { bookmarkDatabase } from "../../support/time-travel.ts";
import { addWebhook, eventStore, keepingQueue } from "../../support/webhook-store.ts";
import { NOW, World } from "../../support/world.ts";

/** What an erasure of a customer does to events, deliveries and the answers of receivers. */

afterEach(() => vi.unstubAllGlobals());

/** A receiver that repeats what it was sent in its refusal. */
const echo = ({ body }: { body: string }) => new Response(`cannot use ${body.slice(-150)}`, { status: 500 });

describe("a receiver's answer", () => {
  it("a receiver's answer that repeats an erased event is stored only in its delivery, and is erased there", async () => {
    const world = await World.create();
    const webhook = await newWebhook(world);
    const text = personText();
    await world.chatId({ ...fieldsOf(text), content: text.repeat(3) });
    const worker = new DeliveringWorker();
    worker.receiver = echo;
    await worker.deliver(webhook);
    const places = await placesOf(text);
    expect([places.includes("main.deliveries"), places.includes("main.webhooks")]).toEqual([true, false]);
    await eraseWhole(world, text);
    expect(await placesOf(text)).toEqual([]);
    expect(await deliveriesOf(webhook)).toMatchObject([
      { status: "skipped", last_status: 500, last_error: null, claim: null, next_attempt_at: null },
      { status: "pending" },
    ]);
  });

  it("an erasure removes the receiver's answer from a delivered event too", async () => {
    const world = await World.create();
    const webhook = await newWebhook(world);
    await world.chatId({ sbs: "forgotten" });
    await setDeliveries(webhook, "status = 'delivered', last_error = 'words', next_attempt_at = NULL");
    await eraseWhole(world, "forgotten");
    expect(await deliveriesOf(webhook)).toMatchObject([{ status: "delivered", last_error: null }, {}]);
  });

  it.each([
    ["fails", 500],
    ["says that it is gone", 410],
  ])("the answer to an attempt that runs during an erasure is not stored when it %s", async (_, status) => {
    const world = await World.create();
    const webhook = await newWebhook(world);
    const text = personText();
    await world.chatId({ ...fieldsOf(text), content: text.repeat(3) });
    const worker = new DeliveringWorker();
    let answer: Partial<ErasureAnswer> = {};
    worker.receiver = async ({ body }) => {
      if (!body.includes(text)) return new Response();
      [answer = {}] = await eraseWhole(world, text);
      return new Response(`cannot use ${body.slice(-150)}`, { status });
    };
    await worker.deliver(webhook);
    expect(answer.webhooks).toMatchObject([{ id: webhook.id, delivered: 0, may_have_arrived: 1, told: true }]);
    expect(await placesOf(text)).toEqual([]);
    const [first] = await deliveriesOf(webhook);
    expect(first).toMatchObject({ status: "skipped", last_error: null });
  });

  it("the answer to a running attempt is not stored when its event is pruned or its session gets too old", async () => {
    const world = await World.create({}, "apac");
    const webhook = await newWebhook(world);
    const [oldText, prunedText] = [personText(), personText()];
    await world.admin("PATCH", `/admin/sites/${world.siteId}`, { retention_days: 7 });
    const worker = new DeliveringWorker();
    await world.chatId({ ...fieldsOf(oldText), content: oldText.repeat(3) });
    world.clock.now += 30 * 86_400;
    await world.chatId({ ...fieldsOf(prunedText), content: prunedText.repeat(3) });
    const { siteId } = world;
    const makeOld = "UPDATE events SET created_at = 1 WHERE site_id = ? AND seq = 2";
    await env.HOME_APAC.prepare(makeOld).bind(siteId).run();
    await world.chatId({ sbs: "the newest event stays" });
    worker.clock.now = world.clock.now;
    let answers = 0;
    worker.receiver = async ({ body }) => {
      if (++answers === 1) await worker.scheduled("*/5 * * * *");
      return new Response(`cannot use ${body.slice(-150)}`, { status: 500 });
    };
    await worker.deliver(webhook);
    expect(answers).toBe(3);
    expect(await placesOf(oldText)).toEqual([]);
    expect(await placesOf(prunedText)).not.toContain("apac.deliveries");
    expect(await deliveriesOf(webhook)).toMatchObject([{ seq: 2, status: "skipped", last_error: null }, { seq: 3 }]);
    expect((await eventStore(world)).webhooks).toMatchObject([{ last_cause: "status", last_error: null }]);
  });

  it("an attempt that runs during an erasure counts as delivered when the receiver accepts it", async () => {
    const world = await World.create();
    const webhook = await newWebhook(world);
    const text = personText();
    await world.chatId(fieldsOf(text));
    const worker = new DeliveringWorker();
    worker.receiver = async ({ body }) => {
      if (body.includes(text)) await eraseWhole(world, text);
      return new Response();
    };
    await worker.deliver(webhook);
    expect((await deliveriesOf(webhook)).map(({ status }) => status)).toEqual(["delivered", "delivered"]);
    expect(await placesOf(text)).toEqual([]);
  });

  it("the answer to session.erased is not stored, because it may name the erased customer", async () => {
    const world = await World.create({}, "apac");
    const webhook = await newWebhook(world);
    const text = personText();
    await world.chatId(fieldsOf(text));
    await eraseWhole(world, text);
    const worker = new DeliveringWorker();
    worker.receiver = () => new Response(`cannot delete ${text}`, { status: 500 });
    await worker.deliver(webhook);
    expect(await placesOf(text)).toEqual([]);
    expect((await deliveriesOf(webhook)).at(-1)).toMatchObject({ last_status: 500, last_error: "HTTP 500" });
  });
});

describe("a delivery", () => {
  it("an erasure skips the failed deliveries of erased events", async () => {
    const world = await World.create({}, "apac");
    const webhook = await newWebhook(world);
    await world.chatId({ sbs: "forgotten" });
    await setDeliveries(webhook, "status = 'failed', attempts = 8, next_attempt_at = NULL");
    const [{ erased } = {}] = await eraseWhole(world, "forgotten");
    expect(erased).toMatchObject({ deliveries: 1 });
    expect(await deliveriesOf(webhook)).toMatchObject([{ status: "skipped" }, { status: "pending" }]);
  });

  it.each([
    ["its event", 0],
    ["an older event is kept, because pruning goes by time and clocks differ, and its own", 1],
  ])(
    "an erasure removes the receiver's answer from a delivery whose event was pruned, when %s was pruned",
    async (_, older) => {
      const world = await World.create();
      const webhook = await newWebhook(world);
      const text = personText();
      for (let i = 0; i < older; i++) await world.chatId({ sbs: "other" });
      await world.chatId({ ...fieldsOf(text), content: text.repeat(3) });
      await world.chatId({ sbs: "other" });
      const worker = new DeliveringWorker();
      worker.receiver = echo;
      await worker.deliver(webhook);
      const prune = "DELETE FROM events WHERE site_id = ? AND seq = ?";
      await env.DB.prepare(prune)
        .bind(world.siteId, older + 1)
        .run();
      await eraseWhole(world, text);
      expect(await placesOf(text)).toEqual([]);
    },
  );
});

it("an erasure finds events whose time is half an hour behind the event before", async () => {
  const world = await World.create({}, "apac");
  const text = personText();
  await newWebhook(world);
  for (let i = 0; i < 3; i++) {
    world.clock.now = NOW + 3_000 + i;
    await world.chatId({ sbs: "other" });
  }
  world.clock.now = NOW + 1_200;
  await world.chatId(fieldsOf(text));
  world.clock.now = NOW + 3_010;
  await world.chatId({ sbs: "other" });
  await eraseWhole(world, text);
  expect(await placesOf(text)).toEqual([]);
});

it("an erasure sends the queue a message for each webhook that takes session.erased", async () => {
  const { sent, EVENTS } = keepingQueue();
  const world = await World.create({ EVENTS }, "apac");
  const webhook = await newWebhook(world);
  await newWebhook(world, { events: JSON.stringify(["session.created"]) });
  await seedCustomer(world, "x", 1);
  await erase(world, { sbs: "x" });
  expect(sent).toEqual([{ home: "apac", site: world.siteId, webhook: webhook.id }]);
});

describe("the answer to an erasure", () => {
  it("the answer to an erasure that found nobody says that no webhook is told", async () => {
    const world = await World.create();
    const travelBack = await bookmarkDatabase(env.DB);
    await world.chatId({ sbs: "x" });
    await eraseWhole(world, "x");
    await travelBack();
    await settleHome(world, "main");
    await newWebhook(world);
    expect((await erase(world, { sbs: "x" })).body).toMatchObject({ remaining: 0, webhooks: [{ told: false }] });
  });

  it("the answer to an erasure names all webhooks: what each one got, and which are not told", async () => {
    const world = await World.create({}, "apac");
    const toldWebhook = await newWebhook(world);
    const older = await newWebhook(world, { events: JSON.stringify(["session.created"]) });
    const off = await newWebhook(world, { status: "disabled" });
    const deletedWebhook = await addWebhook(world);
    await world.chatId({ sbs: "named" });
    const worker = new DeliveringWorker();
    await worker.deliver(toldWebhook, older, { ...toldWebhook, id: deletedWebhook.id });
    await env.HOME_APAC.prepare("DELETE FROM webhooks WHERE id = ?").bind(deletedWebhook.id).run();
    const { body } = await erase(world, { sbs: "named" });
    const { webhooks } = body as ErasureAnswer;
    const byId = Object.fromEntries(webhooks.map(({ id, ...rest }) => [id, rest]));
    expect(byId).toEqual({
      [toldWebhook.id]: { url: toldWebhook.url, delivered: 1, may_have_arrived: 0, told: true },
      [older.id]: { url: older.url, delivered: 1, may_have_arrived: 0, told: false },
      [off.id]: { url: off.url, delivered: 0, may_have_arrived: 0, told: false },
      [deletedWebhook.id]: { url: null, delivered: 1, may_have_arrived: 0, told: false },
    });
  });

  it.each([
    ["was sent again after it had arrived", 200],
    ["was refused by a receiver that had read it", 500],
  ])("the answer to an erasure counts a delivery that %s as one that may have arrived", async (_, status) => {
    const world = await World.create();
    const webhook = await newWebhook(world);
    await world.chatId({ sbs: "read" });
    const worker = new DeliveringWorker();
    worker.receiver = () => new Response("", { status });
    await worker.deliver(webhook);
    const path = `/admin/sites/${world.siteId}/webhooks/${webhook.id}/deliveries/1/redeliver`;
    expect((await world.admin("POST", path)).status).toBe(202);
    const [answer] = await eraseWhole(world, "read");
    expect(answer?.webhooks).toMatchObject([{ delivered: 0, may_have_arrived: 1 }]);
  });

  it("the answer to an erasure names a deleted webhook that was posted to, whatever its receiver answered", async () => {
    const world = await World.create();
    const webhook = await newWebhook(world);
    await world.chatId({ sbs: "read" });
    const worker = new DeliveringWorker();
    worker.receiver = () => new Response("", { status: 500 });
    await worker.deliver(webhook);
    await env.DB.prepare("DELETE FROM webhooks WHERE id = ?").bind(webhook.id).run();
    const [answer] = await eraseWhole(world, "read");
    expect(answer?.webhooks).toMatchObject([{ id: webhook.id, url: null, may_have_arrived: 1, told: false }]);
  });

  it("a repeated erasure says which webhooks were told, even when their types changed since", async () => {
    const world = await World.create();
    const older = await newWebhook(world, { events: JSON.stringify(["session.created"]) });
    const toldWebhook = await newWebhook(world);
    await world.chatId({ sbs: "gone" });
    await eraseWhole(world, "gone");
    const webhooks = `/admin/sites/${world.siteId}/webhooks`;
    await world.admin("PATCH", `${webhooks}/${older.id}`, { events: ["session.created", "session.erased"] });
    await world.admin("PATCH", `${webhooks}/${toldWebhook.id}`, { events: ["session.created"] });
    const [secondAnswer] = await eraseWhole(world, "gone");
    const byId = Object.fromEntries((secondAnswer?.webhooks ?? []).map((each) => [each.id, each.told]));
    expect(byId).toEqual({ [older.id]: false, [toldWebhook.id]: true });
  });

  it('the answer to an erasure says "not told" of a webhook that takes session.erased only from a later step on', async () => {
    const world = await World.create();
    const late = await newWebhook(world, { events: JSON.stringify(["session.created"]) });
    await seedCustomer(world, "in two calls", 600);
    const { body } = await erase(world, { sbs: "in two calls" });
    expect((body as ErasureAnswer).webhooks).toMatchObject([{ told: false }]);
    await world.admin("PATCH", `/admin/sites/${world.siteId}/webhooks/${late.id}`, { events: ["session.erased"] });
    const end = (await eraseWhole(world, "in two calls")).at(-1);
    expect(end).toMatchObject({ remaining: 0, webhooks: [{ id: late.id, told: false }] });
  });

  it("the answer to an erasure says that no webhook is told on a site without events", async () => {
    const world = await World.create();
    await newWebhook(world);
    await world.admin("PATCH", `/admin/sites/${world.siteId}`, { events: false });
    await world.chatId({ sbs: "quiet" });
    const [answer] = await eraseWhole(world, "quiet");
    expect(answer?.webhooks).toMatchObject([{ told: false }]);
    expect((await eventStore(world)).events).toEqual([]);
  });
});

describe("the events of an erased customer", () => {
  it("an erasure finds all events of a customer among those of others and in the same second", async () => {
    const world = await World.create();
    await newWebhook(world);
    const chatId = await world.chatId({ sbs: "theirs", kefu_id: [1] });
    await world.add(chatId, { kefu_ids: "2" });
    for (let i = 0; i < 5; i++) await world.chatId({ sbs: `other ${i}` });
    world.clock.now += 5_000;
    await world.add(chatId, { kefu_ids: "3" });
    for (let i = 0; i < 5; i++) await world.chatId({ sbs: `other ${i}` });
    const [{ erased } = { erased: {} }] = await eraseWhole(world, "theirs");
    expect(erased).toMatchObject({ sessions: 1, participants: 2, events: 3 });
    const { events } = await eventStore(world);
    const emptyEvents = events.filter(({ data }) => data === null);
    expect(emptyEvents.map(({ seq, session_id }) => [seq, session_id])).toEqual([
      [1, chatId],
      [2, chatId],
      [8, chatId],
    ]);
  });

  it("an erasure finds an event that arrives between its search and its step", async () => {
    const world = await World.create();
    await newWebhook(world);
    const chatId = await world.chatId({ sbs: "busy", kefu_id: [1] });
    const DB = beforeStep(env.DB, () => world.add(chatId, { kefu_ids: "2,3" }));
    const [{ erased } = { erased: {} }] = await eraseWhole(world.anotherIsolate({ DB }), "busy");
    expect(erased).toMatchObject({ participants: 2, events: 2 });
    expect((await eventStore(world)).events.map(({ data }) => data === null)).toEqual([true, true, false]);
  });

  it("an erased event cannot be sent again, and the list of events shows it without data", async () => {
    const world = await World.create();
    const webhook = await newWebhook(world);
    await world.chatId({ sbs: "pulled" });
    await eraseWhole(world, "pulled");
    const path = `/admin/sites/${world.siteId}/webhooks/${webhook.id}/deliveries/1/redeliver`;
    expect(await call(world, "POST", path)).toMatchObject({ status: 409, body: { reason: "event_erased" } });
    const { body } = await call(world, "GET", `/admin/sites/${world.siteId}/events`);
    const { items } = body as { items: { type: string; data: unknown }[] };
    expect(items.map(({ type, data }) => [type, data === null])).toEqual([
      ["session.created", true],
      ["session.erased", false],
    ]);
  });
});
