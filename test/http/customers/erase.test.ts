import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { call, problem } from "../../support/admin-calls.ts";
import { databaseOf } from "../../support/homes.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import { tablesOf } from "../../support/read-store.ts";
import { eventStore } from "../../support/webhook-store.ts";
import { NOW, World } from "../../support/world.ts";

/** Erasing a customer: docs/operating.md, "One customer's data". */

const HOMES = ["main", "apac"];
const DAY = 86_400;

const erase = (world: World, body: unknown) =>
  call(world, "POST", `/admin/sites/${world.siteId}/customers/erase`, body);

/** A text that stands for the person wherever it is found. */
const marker = () => `person-${crypto.randomUUID()}`;

/** The tables of all databases, and KV, where a text is found. */
async function placesOf(text: string): Promise<string[]> {
  const found: string[] = [];
  for (const home of HOMES) {
    for (const [table, rows] of Object.entries(await tablesOf(databaseOf(home)))) {
      if (JSON.stringify(rows).includes(text)) found.push(`${home}.${table}`);
    }
  }
  for (const kv of [env.CREDENTIALS, env.NONCES]) {
    const { keys } = await kv.list();
    for (const { name, metadata } of keys) {
      if ([name, JSON.stringify(metadata), await kv.get(name)].join().includes(text)) found.push(`kv ${name}`);
    }
  }
  return found;
}

describe.each(HOMES)("erasing a customer in %s", (home) => {
  it("leaves nothing of them in any database or KV, and everybody else as they were", async () => {
    const world = await World.create({}, home);
    const webhook = await newWebhook(world);
    const text = marker();
    const theirs = { sbs: text, sbs_mc: text.slice(0, 30), content: text, title: text, metadata: { who: text } };
    const other = await world.chatId({ sbs: "other" });
    const chatIds = [
      await world.chatId(theirs),
      await world.chatId(theirs),
      await world.chatId({ ...theirs, kefu_id: [1, 2, 3] }),
    ];
    await world.add(Number(chatIds[0]), { kefu_ids: "3" });
    const before = await world.stored();
    expect(await placesOf(text)).not.toEqual([]);

    const { status, body } = await erase(world, { sbs: text });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        erasure_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        erased: { sessions: 3, messages: 3, participants: 5, events: 4, deliveries: 4 },
        remaining: 0,
        webhooks: [{ id: webhook.id, url: webhook.url, delivered: 0, in_flight: 0, told: true }],
        time_travel_until: NOW + 30 * DAY,
        idempotency_keys_until: NOW + DAY,
      },
    });
    expect(await placesOf(text)).toEqual([]);
    expect(await placesOf(text.slice(0, 30))).toEqual([]);
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
    expect(deliveries.map((row) => row.status)).toEqual([
      "pending",
      "skipped",
      "skipped",
      "skipped",
      "skipped",
      "pending",
    ]);
    const { audit } = await world.operated();
    expect(
      audit.slice(-2).map(({ action, subject, details }) => [action, subject, JSON.parse(String(details))]),
    ).toEqual([
      ["customer.erasure_begun", id, { hash: expect.any(String), highest_chat_id: chatIds.at(-1) }],
      [
        "customer.erased",
        id,
        { hash: expect.any(String), sessions: 3, messages: 3, participants: 5, events: 4, deliveries: 4 },
      ],
    ]);
    // The ids are never given again.
    expect(await world.chatId({ sbs: "new" })).toBe(Number(chatIds.at(-1)) + 1);

    // The same call again.
    const again = await erase(world, { sbs: text });
    expect(again.status).toBe(200);
    expect(again.body).toMatchObject({
      erasure_id: id,
      erased: { sessions: 0, messages: 0, participants: 0, events: 0, deliveries: 0 },
      remaining: 0,
    });
  });

  it("is 404 for a customer who is unknown and was never erased, and writes nothing", async () => {
    const world = await World.create({}, home);
    const before = await world.operated();
    expect(await erase(world, { sbs: "nobody" })).toMatchObject(problem(404, "Not found"));
    expect(await world.operated()).toEqual(before);
  });
});
