import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { countingDb } from "../support/counting-db.ts";
import { type Answer, World } from "../support/world.ts";

// Each of these tests sends many requests, which takes longer than usual on a busy machine.
const chatIdOf = (answer: Answer) => (answer.envelope.data as { chat_id: number }).chat_id;

/** Three isolates of one deployment; requests go to each in turn. */
async function isolates() {
  const world = await World.create();
  const all = [world, world.anotherIsolate(), world.anotherIsolate()];
  return { world, nth: (i: number) => all[i % all.length] ?? world };
}

/** The number of answers with each status. */
function tally(answers: Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

describe("at once", () => {
  it("100 identical requests open one session, and 99 are refused as replays", async () => {
    const { world, nth } = await isolates();
    const text = JSON.stringify(world.createBody());
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => nth(i).send("create_gd", text)));
    expect(tally(answers)).toEqual({ 200: 1, 401: 99 });
    const { customers, sessions, participants, messages, nonces } = await world.stored();
    expect(sessions.map(({ id }) => id)).toEqual(answers.filter(({ status }) => status === 200).map(chatIdOf));
    const rows = [customers, participants, messages, nonces];
    expect(rows.map(({ length }) => length)).toEqual([1, 1, 1, 1]);
  });

  it("100 creates for one new customer open 100 sessions of one customer, each whole and with its own chat_id", async () => {
    const { world, nth } = await isolates();
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => nth(i).create({ content: `Message ${i}`, kefu_id: [1, 2, 3] })),
    );
    expect(tally(answers)).toEqual({ 200: 100 });
    const { customers, sessions, participants, messages } = await world.stored();
    expect(customers).toHaveLength(1);
    expect(new Set(answers.map(chatIdOf)).size).toBe(100);
    expect(new Set(sessions.map(({ id }) => id))).toEqual(new Set(answers.map(chatIdOf)));
    expect(sessions.every((row) => row.customer_external_id === customers[0]?.external_id)).toBe(true);
    expect(participants).toHaveLength(200);
    const contentOf = new Map(messages.map((row) => [row.session_id, row.content]));
    expect(answers.map((answer) => contentOf.get(chatIdOf(answer)))).toEqual(answers.map((_, i) => `Message ${i}`));
  });

  it("50 add_kf that name overlapping agents add each agent once, and fail only where no agent was left to add", async () => {
    const { world, nth } = await isolates();
    const ids = Array.from({ length: 20 }, (_, i) => 100 + i);
    await Promise.all(
      ids.map((id) => world.admin("POST", `/admin/sites/${world.siteId}/agents`, { id, name: "Agent" })),
    );
    const chatId = await world.chatId({ kefu_id: [1] });
    const named = Array.from({ length: 50 }, (_, i) => [
      1,
      4,
      ...ids.filter((_, n) => n % 7 === i % 7 || n % 3 === i % 3),
    ]);
    const answers = await Promise.all(named.map((agents, i) => nth(i).add(chatId, { kefu_ids: agents })));
    const { 200: added = 0, 409: late = 0 } = tally(answers);
    expect(added + late).toBe(50);
    expect(added).toBeGreaterThan(0);
    const { participants, nonces } = await world.stored();
    expect(participants.map((row) => row.agent_id)).toEqual(ids);
    expect(participants.every((row) => row.session_id === chatId && row.added_by === 1)).toBe(true);
    expect(nonces).toHaveLength(51);
  });

  it("20 identical add_kf add once, and 19 are refused as replays", async () => {
    const { world, nth } = await isolates();
    const text = JSON.stringify(world.addBody(await world.chatId(), { kefu_ids: [3] }));
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => nth(i).send("add_kf", text)));
    expect(tally(answers)).toEqual({ 200: 1, 401: 19 });
    expect((await world.stored()).participants.map((row) => row.agent_id)).toEqual([2, 3]);
  });
});

describe("the same bytes with an Idempotency-Key, ten times at once in one isolate", () => {
  it("cost one batch, open one session, and nine of them are refused", async () => {
    const { db, trips } = countingDb(env.DB);
    const world = await World.create({ DB: db });
    await world.create();
    const before = { ...trips };
    const body = JSON.stringify(world.createBody());
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => world.send("create_gd", body, { "idempotency-key": "k" })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(401)]);
    expect(trips).toEqual({ ...before, batches: before.batches + 1 });
    expect((await world.stored()).sessions).toHaveLength(2);
  });
});
