import { describe, expect, it } from "vitest";
import { problem } from "../../support/admin-calls.ts";
import {
  auditOfErasures,
  type ErasureAnswer,
  erase,
  eraseWhole,
  fieldsOf,
  forgetHashKeys,
  HOMES,
  personText,
  placesOf,
  seedCustomer,
  withRefusingKv,
} from "../../support/customers.ts";
import { databaseOf } from "../../support/homes.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import { eventStore } from "../../support/webhook-store.ts";
import { ADMIN_TOKEN, NOW, World } from "../../support/world.ts";

/** Erasing a customer: see docs/operating/data-and-restore.md, "One customer's data". */

const DAY = 86_400;

describe.each(HOMES)("erasing a customer in %s", (home) => {
  it("an erasure leaves nothing of the customer in any database or KV, and does not change other customers", async () => {
    const world = await World.create({}, home);
    const webhook = await newWebhook(world);
    const older = await newWebhook(world, { events: JSON.stringify(["session.created"]) });
    const text = personText();
    const fields = fieldsOf(text);
    const other = await world.chatId({ sbs: "other" });
    const chatIds = [
      await world.chatId(fields),
      await world.chatId(fields),
      await world.chatId({ ...fields, kefu_id: [1, 2, 3] }),
    ];
    await world.add(Number(chatIds[0]), { kefu_ids: "3" });
    const before = await world.stored();
    expect(await placesOf(text)).not.toEqual([]);

    const { status, body } = await erase(world, { sbs: text });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        erasure_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        erased: { sessions: 3, messages: 3, participants: 5, events: 4, deliveries: 7 },
        remaining: 0,
        customer_is_back: false,
        webhooks: expect.arrayContaining([
          { id: webhook.id, url: webhook.url, delivered: 0, may_have_arrived: 0, told: true },
          { id: older.id, url: older.url, delivered: 0, may_have_arrived: 0, told: false },
        ]),
        time_travel_until: NOW + 30 * DAY,
        idempotency_keys_until: NOW + DAY,
      },
    });
    expect(await placesOf(text)).toEqual([]);
    const { erasure_id: id } = body as { erasure_id: string };

    const after = await world.stored();
    const isOther = (row: Record<string, unknown>) =>
      row.id === other || row.session_id === other || row.external_id === "other";
    for (const table of ["customers", "sessions", "participants", "messages"] as const) {
      expect(after[table]).toEqual(before[table].filter(isOther));
    }
    const { events, deliveries } = await eventStore(world);
    expect(events.map(({ type, data }) => [type, data === null])).toEqual([
      ["session.created", false],
      ["session.created", true],
      ["session.created", true],
      ["session.created", true],
      ["session.agents_added", true],
      ["session.erased", false],
    ]);
    expect(JSON.parse(String(events.at(-1)?.data))).toEqual({ seq: 6, chat_ids: chatIds });
    const ofNewer = deliveries.filter((row) => row.webhook_id === webhook.id);
    expect(ofNewer.map(({ status: each }) => each)).toEqual(["pending", ...Array(4).fill("skipped"), "pending"]);
    const { audit } = await world.operated();
    expect(
      audit.slice(-2).map(({ action, subject, details }) => [action, subject, JSON.parse(String(details))]),
    ).toEqual([
      ["customer.erasure_begun", id, { hash: expect.any(String), highest_chat_id: chatIds.at(-1) }],
      [
        "customer.erased",
        id,
        { hash: expect.any(String), sessions: 3, messages: 3, participants: 5, events: 4, deliveries: 7 },
      ],
    ]);
    // An erased id is not given again.
    expect(await world.chatId({ sbs: "new" })).toBe(Number(chatIds.at(-1)) + 1);

    // The same call is repeated.
    const secondAnswer = await erase(world, { sbs: text });
    expect(secondAnswer.status).toBe(200);
    expect(secondAnswer.body).toMatchObject({
      erasure_id: id,
      erased: { sessions: 0, messages: 0, participants: 0, events: 0, deliveries: 0 },
      remaining: 0,
    });
  });
});

it("an erasure of an unknown customer is 404 and writes nothing", async () => {
  const world = await World.create({}, "apac");
  const before = await world.operated();
  expect(await erase(world, { sbs: "nobody" })).toMatchObject(problem(404, "Not found"));
  expect(await world.operated()).toEqual(before);
});

describe("POST /admin/sites/:site_id/customers/erase", () => {
  it("an erasure goes in steps of 250 sessions, each counted once, with one event per step", async () => {
    const world = await World.create({}, "apac");
    const text = personText();
    await newWebhook(world);
    await seedCustomer(world, text, 1_200);
    const answers = await eraseWhole(world, text);
    expect(answers.map(({ erased, remaining }) => [erased.sessions, remaining])).toEqual([
      [250, 950],
      [250, 700],
      [250, 450],
      [250, 200],
      [200, 0],
    ]);
    expect(new Set(answers.map(({ erasure_id }) => erasure_id)).size).toBe(1);
    const { events } = await eventStore(world);
    const counts = events
      .filter(({ type }) => type === "session.erased")
      .map(({ data }) => JSON.parse(String(data)).chat_ids.length);
    expect(counts).toEqual([250, 250, 250, 250, 200]);
    expect(await placesOf(text)).toEqual([]);
    const [, end] = await auditOfErasures(world);
    expect(end?.details).toMatchObject({ sessions: 1_200, messages: 1_200, participants: 1_200, events: 1_200 });
  });

  it("one call erases a customer with exactly as many sessions as a step takes", async () => {
    const world = await World.create({}, "apac");
    await seedCustomer(world, "whole", 250);
    expect((await erase(world, { sbs: "whole" })).body).toMatchObject({ erased: { sessions: 250 }, remaining: 0 });
  });

  it("an erasure ends with the same id when the key of the hashes is lost in between", async () => {
    const world = await World.create();
    const text = personText();
    await seedCustomer(world, text, 300);
    const { body } = await erase(world, { sbs: text });
    await forgetHashKeys();
    const [end] = await eraseWhole(world, text);
    expect(end).toMatchObject({ erasure_id: (body as { erasure_id: string }).erasure_id, remaining: 0 });
    expect(await placesOf(text)).toEqual([]);
  });

  it("an erasure does not touch sessions of a customer who comes back after its first step", async () => {
    const world = await World.create();
    await seedCustomer(world, "comes back", 600);
    await erase(world, { sbs: "comes back" });
    world.clock.now = NOW + 60;
    const back = await world.chatId({ sbs: "comes back" });
    world.clock.now = NOW + 90;
    await world.chatId({ sbs: "comes back" });
    const answers = await eraseWhole(world, "comes back");
    expect(answers.map(({ customer_is_back }) => customer_is_back)).toEqual([true, true]);
    const { sessions, customers } = await world.stored();
    expect(sessions.map(({ id }) => id)).toEqual([back, back + 1]);
    expect(customers).toMatchObject([{ external_id: "comes back", created_at: NOW + 60, updated_at: NOW + 90 }]);
    const [secondAnswer] = await eraseWhole(world, "comes back");
    expect(secondAnswer).toMatchObject({ erased: { sessions: 2 }, customer_is_back: false });
    expect((await world.stored()).customers).toEqual([]);
    expect(new Set((await auditOfErasures(world)).map(({ subject }) => subject)).size).toBe(2);
  });

  it("an erasure includes all sessions up to the first call that erases, even days after a call that failed", async () => {
    const world = await World.create({}, "apac");
    const text = personText();
    const old = await world.chatId(fieldsOf(text));
    expect((await erase(withRefusingKv(world), { sbs: text })).status).toBe(503);
    world.clock.now = NOW + 5 * DAY;
    const since = await world.chatId(fieldsOf(text));
    expect(await eraseWhole(world, text)).toMatchObject([{ erased: { sessions: 2 }, customer_is_back: false }]);
    expect(await placesOf(text)).toEqual([]);
    const rows = await auditOfErasures(world);
    expect(rows.map(({ action, details }) => [action, details.highest_chat_id])).toEqual([
      ["customer.erasure_begun", old],
      ["customer.erasure_begun", since],
      ["customer.erased", undefined],
    ]);
    expect(new Set(rows.map(({ subject }) => subject)).size).toBe(1);
  });

  it("the count of an erasure includes sessions that came after a call that erased nothing", async () => {
    const world = await World.create({}, "apac");
    await seedCustomer(world, "x", 10);
    expect((await erase(withRefusingKv(world), { sbs: "x" })).status).toBe(503);
    await seedCustomer(world, "x", 490, 11);
    expect((await erase(world, { sbs: "x" })).body).toMatchObject({ erased: { sessions: 250 }, remaining: 250 });
  });

  it("an erasure treats an integer and its digits as the same customer, also beyond 2^53", async () => {
    const world = await World.create();
    for (const digits of ["1001", "9007199254740993"]) {
      await world.chatId({ sbs: digits });
      const answer = await world.fetch(
        new Request(`http://worker/admin/sites/${world.siteId}/customers/erase`, {
          method: "POST",
          headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
          body: `{"sbs":${digits}}`,
        }),
      );
      expect([digits, answer.status]).toEqual([digits, 200]);
    }
    expect((await world.stored()).customers).toEqual([]);
  });

  it("the answer to an erasure says that Time Travel can bring the data back until 30 days after the last step", async () => {
    const world = await World.create();
    await seedCustomer(world, "slow", 600);
    await erase(world, { sbs: "slow" });
    const until = { time_travel_until: NOW + 35 * DAY, idempotency_keys_until: NOW + 6 * DAY };
    for (const [days, remaining] of [
      [5, 100],
      [5, 0],
      [20, 0],
    ] as const) {
      world.clock.now = NOW + days * DAY;
      expect((await erase(world, { sbs: "slow" })).body).toMatchObject({ remaining, ...until });
    }
  });

  it("a finished erasure is not changed by a repeated call days later", async () => {
    const world = await World.create({}, "apac");
    await world.chatId({ sbs: "gone" });
    const [end] = await eraseWhole(world, "gone");
    const readErasure = () =>
      databaseOf("apac").prepare("SELECT * FROM erasures WHERE site_id = ?").bind(world.siteId).all();
    const { results: before } = await readErasure();
    world.clock.now = NOW + 3 * DAY;
    expect(await eraseWhole(world, "gone")).toMatchObject([{ erasure_id: end?.erasure_id, remaining: 0 }]);
    expect((await readErasure()).results).toEqual(before);
  });

  it("an erased chat_id is not given again, even when all sessions are erased", async () => {
    const world = await World.create();
    const ids = [await world.chatId({ sbs: "a" }), await world.chatId({ sbs: "a" })];
    await eraseWhole(world, "a");
    const low = await world.admin("PATCH", `/admin/sites/${world.siteId}`, { first_chat_id: 2 });
    expect(low.status).toBe(400);
    expect(await world.chatId({ sbs: "b" })).toBe(Number(ids[1]) + 1);
  });

  it("a retry does not revive an erased session: an Idempotency-Key returns the old id, and add_kf is 404", async () => {
    const world = await World.create();
    const key = { "idempotency-key": "key-1" };
    const body = { sbs: "retried" };
    const first = await world.create(body, key);
    const { chat_id } = first.envelope.data as { chat_id: number };
    await eraseWhole(world, "retried");
    const secondAnswer = await world.create(body, key);
    expect(secondAnswer.envelope).toEqual(first.envelope);
    const answer = await world.add(chat_id);
    expect(answer.envelope).toEqual({ code: -1, msg: "会话不存在", data: "" });
    const { customers, sessions, participants, messages } = await world.stored();
    expect([customers, sessions, participants, messages]).toEqual([[], [], [], []]);
  });

  // The next two tests come last, because tests that look at all rows would be slow after them.
  it("the receipts of a customer with very many sessions are written in parts before the erasure", async () => {
    const world = await World.create();
    await seedCustomer(world, "many", 10_300, 1, { bare: true });
    const first = await erase(world, { sbs: "many" });
    expect(first.body).toMatchObject({ erased: { sessions: 250 }, remaining: 10_050 });
    const parts = "SELECT json_array_length(chat_ids) AS ids, first_chat_id FROM erasure_receipts WHERE site_id = ?";
    const { results } = await databaseOf("main").prepare(`${parts} ORDER BY 2`).bind(world.siteId).all();
    expect(results).toEqual([
      { ids: 10_000, first_chat_id: 1 },
      { ids: 300, first_chat_id: 10_001 },
    ]);
  });

  it("an erasure with one call a day reaches all 41,000 sessions and counts each", async () => {
    const world = await World.create({}, "apac");
    await seedCustomer(world, "slow", 41_000, 1, { bare: true });
    const steps: number[][] = [];
    for (let day = 0; day < 3; day++) {
      world.clock.now = NOW + day * DAY;
      const { erased, remaining } = (await erase(world, { sbs: "slow" })).body as ErasureAnswer;
      steps.push([erased.sessions, remaining]);
    }
    expect(steps).toEqual([
      [0, 41_000],
      [250, 40_750],
      [250, 40_500],
    ]);
  });
});

it("an erasure with a wrong sbs is refused and stores nothing", async () => {
  const world = await World.create();
  await world.chatId({ sbs: "x".repeat(64) });
  const before = [await world.stored(), await world.operated()];
  for (const sbs of [undefined, null, "", "x".repeat(65), "\ud800", 1.5, ["a"]]) {
    expect([sbs, (await erase(world, { sbs })).status]).toEqual([sbs, 400]);
  }
  expect((await erase(world, { sbs: "a", id: 1 })).status).toBe(400);
  expect([await world.stored(), await world.operated()]).toEqual(before);
});
