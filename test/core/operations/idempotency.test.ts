import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { Faults, faultyD1 } from "../../support/faulty-bindings.ts";
import { type Answer, type Body, World } from "../../support/world.ts";

const KEY = { "idempotency-key": "order-4711/retry" };
const DAY = 86_400;

const chatIdOf = (answer: Answer) => (answer.envelope.data as { chat_id: number }).chat_id;

/** All stored rows except the nonces, and the number of nonces. */
async function storedBy(world: World) {
  const { nonces, ...rest } = await world.stored();
  return { nonces: nonces.length, rest };
}

/** Expects the first answer again, marked as repeated, and that only a nonce was written. */
async function expectRepeat(world: World, first: Answer, repeat: () => Promise<Answer>): Promise<void> {
  const before = await storedBy(world);
  const secondAnswer = await repeat();
  expect({ status: secondAnswer.status, envelope: secondAnswer.envelope }).toEqual({
    status: 200,
    envelope: first.envelope,
  });
  expect(secondAnswer.headers.get("idempotency-replayed")).toBe("true");
  expect(await storedBy(world)).toEqual({ nonces: before.nonces + 1, rest: before.rest });
}

/** Expects 422 for the same key with another meaning, and that only a nonce was written. */
async function expectKeyReused(world: World, call: () => Promise<Answer>): Promise<void> {
  const before = await storedBy(world);
  const answer = await call();
  expect(answer.status).toBe(422);
  expect(answer.envelope).toEqual({ code: -1, msg: "参数错误", data: "" });
  expect(answer.headers.get("x-error-detail")).toMatch(/^Idempotency-Key: /);
  expect(answer.headers.has("idempotency-replayed")).toBe(false);
  expect(await storedBy(world)).toEqual({ nonces: before.nonces + 1, rest: before.rest });
}

function expectFirst(answer: Answer): void {
  expect(answer.envelope).toMatchObject({ code: 1 });
  expect(answer.headers.has("idempotency-replayed")).toBe(false);
}

describe("Idempotency-Key on create_gd", () => {
  it("a later create_gd with the same key and meaning gets the first answer, and writes only its nonce", async () => {
    const world = await World.create();
    const first = await world.create({}, KEY);
    expectFirst(first);
    await expectRepeat(world, first, () => world.create({}, KEY));
    const elsewhere = world.anotherIsolate();
    await expectRepeat(elsewhere, first, () => elsewhere.create({}, KEY));
    expect((await world.stored()).sessions).toHaveLength(1);
  });

  it("create_gd opens a session for each Idempotency-Key", async () => {
    const world = await World.create();
    expectFirst(await world.create({}, KEY));
    expectFirst(await world.create({}, { "idempotency-key": "order-4711/RETRY" }));
    expect((await world.stored()).sessions).toHaveLength(2);
  });

  it("an Idempotency-Key of create_gd is remembered for 24 hours, and then accepted as a new one", async () => {
    const world = await World.create();
    const first = await world.create({}, KEY);
    world.clock.now += DAY - 1;
    await expectRepeat(world, first, () => world.create({}, KEY));
    await expectKeyReused(world, () => world.create({ content: "Another" }, KEY));
    world.clock.now += 1;
    const second = await world.create({ content: "Another" }, KEY);
    expectFirst(second);
    expect(chatIdOf(second)).not.toBe(chatIdOf(first));
    expect((await world.stored()).keys).toEqual([
      expect.objectContaining({ session_id: chatIdOf(second), expires_at: world.clock.now + DAY }),
    ]);
    world.clock.now += DAY - 1;
    await expectRepeat(world, second, () => world.create({ content: "Another" }, KEY));
  });

  it("the ranstr is checked before the Idempotency-Key: the same bytes are refused, and the key still answers", async () => {
    const world = await World.create({ NONCES: undefined } as never);
    const body = world.createBody();
    const first = await world.send("create_gd", body, KEY);
    const before = await world.stored();
    const replay = await world.send("create_gd", body, KEY);
    expect(replay.status).toBe(401);
    expect(replay.envelope).toEqual({ code: -1, msg: "token验证失败!", data: "" });
    expect(replay.headers.has("idempotency-replayed")).toBe(false);
    expect(await world.stored()).toEqual(before);
    await expectRepeat(world, first, () => world.create({}, KEY));
  });

  it("the Idempotency-Key is checked before the agents: the first answer is repeated after they were disabled", async () => {
    const world = await World.create();
    const first = await world.create({}, KEY);
    await world.admin("PATCH", `/admin/sites/${world.siteId}/agents/1`, { status: "disabled" });
    expect((await world.create()).status).toBe(400);
    await expectRepeat(world, first, () => world.create({}, KEY));
    await expectKeyReused(world, () => world.create({ content: "Another" }, KEY));
  });

  it("a refused create_gd does not use up its Idempotency-Key", async () => {
    const world = await World.create();
    expect((await world.create({ kefu_id: [1, 4] }, KEY)).status).toBe(400);
    expect((await world.create({ content: "" }, KEY)).status).toBe(400);
    expect((await world.create({ timestamp: world.clock.now - 301 }, KEY)).status).toBe(401);
    expect((await world.create({ kefu_id: [1, 4] }, KEY)).status).toBe(400);
    expect((await world.stored()).keys).toEqual([]);
    expectFirst(await world.create({ content: "Another" }, KEY));
  });

  it("an Idempotency-Key costs no extra trip to the database, whether the call is first, repeated or refused", async () => {
    const faults = new Faults();
    const world = await World.create({ DB: faultyD1(env.DB, faults) });
    await world.create();
    const callsOf = async (call: Promise<unknown>) => {
      const before = faults.calls.length;
      await call;
      return faults.calls.slice(before);
    };
    expect(await callsOf(world.create())).toEqual(["DB.batch"]);
    expect(await callsOf(world.create({}, KEY))).toEqual(["DB.batch"]);
    expect(await callsOf(world.create({}, KEY))).toEqual(["DB.batch"]);
    expect(await callsOf(world.create({ content: "Another" }, KEY))).toEqual(["DB.batch"]);
  });

  it("ten simultaneous copies of one request cost one batch in an isolate, and nine of them are refused", async () => {
    const faults = new Faults();
    const world = await World.create({ DB: faultyD1(env.DB, faults) });
    await world.create();
    faults.calls.length = 0;
    const body = JSON.stringify(world.createBody());
    const answers = await Promise.all(Array.from({ length: 10 }, () => world.send("create_gd", body, KEY)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(401)]);
    expect(faults.calls).toEqual(["DB.batch"]);
    expect((await world.stored()).sessions).toHaveLength(2);
  });

  it("50 concurrent requests with one key open one session and get 50 equal answers, from several isolates", async () => {
    const world = await World.create();
    const isolates = [world, world.anotherIsolate(), world.anotherIsolate()];
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => (isolates[i % isolates.length] ?? world).create({}, KEY)),
    );
    expect(new Set(answers.map(({ status, envelope }) => JSON.stringify([status, envelope]))).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
    expect(answers.filter(({ headers }) => headers.get("idempotency-replayed") === "true")).toHaveLength(49);
    const { sessions, messages, participants, keys, nonces } = await world.stored();
    expect(sessions.map(({ id }) => id)).toEqual([chatIdOf(answers[0] as Answer)]);
    expect([messages.length, participants.length, keys.length, nonces.length]).toEqual([1, 1, 1, 50]);
  });

  it("one of several different requests that race with one key gets the key, and the others are refused", async () => {
    const world = await World.create();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => world.create({ content: `Message ${i % 2}` }, KEY)),
    );
    const statuses = answers.map(({ status }) => status);
    const winner = statuses.indexOf(200);
    expect(statuses).toEqual(answers.map((_, i) => (i % 2 === winner % 2 ? 200 : 422)));
    const { sessions, messages } = await world.stored();
    expect(sessions).toHaveLength(1);
    expect(messages[0]?.content).toBe(`Message ${winner % 2}`);
  });
});

describe("the meaning that an Idempotency-Key compares", () => {
  const fields = { sbs: 1001, kefu_id: [1, 2, 3], title: "Title" };
  let world: World;
  let first: Answer;
  beforeAll(async () => {
    world = await World.create();
    first = await world.create(fields, KEY);
    expectFirst(first);
  });

  it.each<[string, Body]>([
    ["the timestamp", { timestamp: "moved" }],
    ["fields that the contract does not know", { priority: 1, _comment: { any: ["thing"] } }],
    ["the order of the agents", { kefu_id: [3, 1, 2] }],
    ["an agent named twice", { kefu_id: [1, 2, 2, 3, 1] }],
    ["whether sbs is a number or its digits", { sbs: "1001" }],
    ["whether sender_type is 2 or left out", { sender_type: 2 }],
  ])("an Idempotency-Key ignores %s when it compares two requests", async (_, change) => {
    world.clock.now += 30;
    const timestamp = change.timestamp === "moved" ? world.clock.now - 10 : world.clock.now;
    await expectRepeat(world, first, () => world.create({ ...fields, ...change, timestamp }, KEY));
  });

  it("an Idempotency-Key ignores the order of the fields when it compares two requests", async () => {
    const backwards = Object.fromEntries(Object.entries(world.createBody(fields)).reverse());
    await expectRepeat(world, first, () => world.send("create_gd", backwards, KEY));
  });

  it.each<[string, Body]>([
    ["sbs", { sbs: 1002 }],
    ["a leading zero of sbs", { sbs: "01001" }],
    ["ip", { ip: "::1" }],
    ["sbs_mc", { sbs_mc: "Customer Name " }],
    ["content", { content: "initial message" }],
    ["title", { title: "Another" }],
    ["the absence of a title", { title: undefined }],
    ["kefu_id", { kefu_id: [1, 2] }],
    ["fzr_uid", { fzr_uid: 2 }],
    ["sender_type", { sender_type: 1 }],
  ])("create_gd refuses a used Idempotency-Key with another meaning: %s", async (_, change) => {
    await expectKeyReused(world, () => world.create({ ...fields, ...change }, KEY));
  });
});

describe("the scope of an Idempotency-Key", () => {
  it("an Idempotency-Key belongs to one app, even when two apps share a site", async () => {
    const world = await World.create();
    const issued = await world.admin("POST", `/admin/sites/${world.siteId}/apps`, { name: "Another app" });
    const other = Object.assign(world.anotherIsolate(), await issued.json<{ appid: string; secret: string }>());
    const first = await world.create({}, KEY);
    expectFirst(await other.create({ content: "Another" }, KEY));
    await expectRepeat(world, first, () => world.create({}, KEY));
    expect((await world.stored()).sessions).toHaveLength(2);
  });

  it("an Idempotency-Key belongs to one operation, create_gd or add_kf", async () => {
    const world = await World.create();
    const first = await world.create({}, KEY);
    const addAnswer = await world.add(chatIdOf(first), {}, KEY);
    expectFirst(addAnswer);
    await expectRepeat(world, first, () => world.create({}, KEY));
    await expectRepeat(world, addAnswer, () => world.add(chatIdOf(first), {}, KEY));
    expect((await world.stored()).keys.map(({ operation }) => operation)).toEqual(["add_agents", "create_session"]);
  });
});

describe("Idempotency-Key on add_kf", () => {
  it("a repeated add_kf gets the first answer, although its agents are on the session by now", async () => {
    const world = await World.create();
    const id = await world.chatId();
    const first = await world.add(id, {}, KEY);
    expectFirst(first);
    expect((await world.add(id)).status).toBe(409);
    await expectRepeat(world, first, () => world.add(id, {}, KEY));
  });

  it.each<[string, Body]>([
    ["whether kefu_ids is a string or an array", { kefu_ids: [2, 3] }],
    ["the order of the agents, blanks and one named twice", { kefu_ids: "3 , 2,3" }],
    ["fields that the contract does not know", { kefu_ids: "2,3", kefu_id: [4] }],
  ])("an Idempotency-Key of add_kf ignores %s when it compares two requests", async (_, change) => {
    const world = await World.create();
    const id = await world.chatId({ kefu_id: [1] });
    const first = await world.add(id, { kefu_ids: "2,3" }, KEY);
    expectFirst(first);
    await expectRepeat(world, first, () => world.add(id, change, KEY));
  });

  it("add_kf refuses a used Idempotency-Key with other agents or another session", async () => {
    const world = await World.create();
    const [id, another] = [await world.chatId({ kefu_id: [1] }), await world.chatId({ kefu_id: [1] })];
    expectFirst(await world.add(id, { kefu_ids: "2" }, KEY));
    await expectKeyReused(world, () => world.add(id, { kefu_ids: "3" }, KEY));
    await expectKeyReused(world, () => world.add(another, { kefu_ids: "2" }, KEY));
  });

  it("the Idempotency-Key of add_kf is checked before session and agents, so their changes do not matter", async () => {
    const world = await World.create();
    const id = await world.chatId();
    const first = await world.add(id, {}, KEY);
    await world.admin("PATCH", `/admin/sites/${world.siteId}/agents/3`, { status: "disabled" });
    await env.DB.prepare("UPDATE sessions SET kind = 'chat', responsible_agent_id = NULL WHERE site_id = ? AND id = ?")
      .bind(world.siteId, id)
      .run();
    await expectRepeat(world, first, () => world.add(id, {}, KEY));
  });

  it("a refused add_kf does not use up its Idempotency-Key", async () => {
    const world = await World.create();
    const id = await world.chatId();
    expect((await world.add(id + 1_000_000, {}, KEY)).status).toBe(404);
    expect((await world.add(id, { kefu_ids: "4" }, KEY)).status).toBe(409);
    expect((await world.stored()).keys).toEqual([]);
    expectFirst(await world.add(id, {}, KEY));
  });

  it("the Idempotency-Key of add_kf is accepted as a new one after 24 hours", async () => {
    const world = await World.create();
    const id = await world.chatId({ kefu_id: [1] });
    expectFirst(await world.add(id, { kefu_ids: "2" }, KEY));
    world.clock.now += DAY;
    expectFirst(await world.add(id, { kefu_ids: "3" }, KEY));
    expect((await world.stored()).participants.map((row) => row.agent_id)).toEqual([2, 3]);
  });

  it("the Idempotency-Key of add_kf costs no extra trip to the database", async () => {
    const faults = new Faults();
    const world = await World.create({ DB: faultyD1(env.DB, faults) });
    const id = await world.chatId();
    for (let i = 0; i < 2; i++) {
      const before = faults.calls.length;
      await world.add(id, {}, KEY);
      expect(faults.calls.slice(before)).toEqual(["DB.batch"]);
    }
  });
});
