import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import {
  auditOfErasures,
  beforeStep,
  erase,
  eraseWhole,
  personText,
  placesOf,
  seedCustomer,
  withRefusingKv,
} from "../../support/customers.ts";
import { downDb } from "../../support/down-db.ts";
import { lateDb } from "../../support/late-db.ts";
import { eventsOn, newWebhook } from "../../support/new-webhook.ts";
import { replacing } from "../../support/replacing.ts";
import { deleteSite, patchSite, pruneEnded } from "../../support/site-end.ts";
import { eventStore } from "../../support/webhook-store.ts";
import { NOW, type ReplacedBindings, World } from "../../support/world.ts";

/** What an erasure does when a part of the deployment fails. */

describe("an erasure in apac is 503 and deletes nothing", () => {
  it.each<[string, ReplacedBindings]>([
    ["while the home is closed", closedHomeVars("apac")],
    ["while main is closed", closedHomeVars("main")],
    ["while the home does not answer", { HOME_APAC: downDb(env.HOME_APAC) }],
    ["while the directory does not answer", { DB: downDb(env.DB) }],
    [
      "while KV takes nothing",
      { CREDENTIALS: replacing(env.CREDENTIALS, { put: () => Promise.reject(new Error("KV PUT failed: 500")) }) },
    ],
  ])("an erasure in apac is 503 and deletes nothing %s; the next call erases", async (_, bindings) => {
    const world = await World.create({}, "apac");
    await eventsOn(world);
    await world.chatId({ sbs: "someone" });
    const before = [await world.stored(), (await eventStore(world)).events];
    const { status } = await erase(world.anotherIsolate(bindings), { sbs: "someone" });
    expect(status).toBe(503);
    expect([await world.stored(), (await eventStore(world)).events]).toEqual(before);
    await eraseWhole(world, "someone");
    expect((await world.stored()).customers).toEqual([]);
  });
});

describe("an erasure step whose answer D1 loses", () => {
  /** Loses the answer of the n-th batch of the home, or runs that batch later. */
  const losing = (n: number, way: "answer lost" | "late") => {
    let batches = 0;
    const late = lateDb(env.HOME_APAC, way);
    const batch = (statements: D1PreparedStatement[]) =>
      ++batches < n ? env.HOME_APAC.batch(statements) : late.db.batch(statements);
    return { db: replacing(env.HOME_APAC, { batch }), commitLate: () => late.commitLate(), batches: () => batches };
  };

  it.each([1, 2, 3, 4, 5, 6, 7].flatMap((n) => [[n, "answer lost"] as const, [n, "late"] as const]))(
    "an erasure whose D1 answer is lost erases once: batch %i, %s",
    async (n, way) => {
      const world = await World.create({}, "apac");
      const text = personText();
      await eventsOn(world);
      await seedCustomer(world, text, 300);
      const { db, commitLate, batches } = losing(n, way);
      const isolate = world.anotherIsolate({ HOME_APAC: db });
      let sessions = 0;
      for (let i = 0; i < 3; i++) {
        const { status, body } = await erase(isolate, { sbs: text });
        expect(status).toBe(200);
        sessions += (body as { erased: { sessions: number } }).erased.sessions;
      }
      expect(sessions).toBe(300);
      const back = await world.chatId({ sbs: text });
      if (way === "late" && batches() >= n) await commitLate();
      const rows = await world.stored();
      expect(rows.sessions.map(({ id }) => id)).toEqual([back]);
      const { events } = await eventStore(world);
      expect(events.filter(({ type }) => type === "session.erased")).toHaveLength(2);
      const ends = (await auditOfErasures(world)).filter(({ action }) => action === "customer.erased");
      expect(ends.map(({ details }) => details)).toMatchObject([
        { sessions: 300, messages: 300, participants: 300, events: 300 },
      ]);
    },
  );
});

describe("a prepared erasure step", () => {
  it("a prepared erasure step does nothing when another call restarts the erasure meanwhile", async () => {
    const world = await World.create({}, "apac");
    await world.chatId({ sbs: "x" });
    const slow = beforeStep(env.HOME_APAC, async () => {
      await world.chatId({ sbs: "x" });
      expect((await erase(withRefusingKv(world), { sbs: "x" })).status).toBe(503);
    });
    const { body } = await erase(world.anotherIsolate({ HOME_APAC: slow }), { sbs: "x" });
    expect(body).toMatchObject({ erased: { sessions: 0 }, remaining: 2 });
    expect((await eraseWhole(world, "x")).at(-1)).toMatchObject({ customer_is_back: false });
    expect((await world.stored()).sessions).toEqual([]);
  });

  it("a prepared erasure step does nothing when another call restarts the erasure and makes receipts meanwhile", async () => {
    const world = await World.create({ CREDENTIALS: undefined }, "apac");
    await world.chatId({ sbs: "x" });
    // Without KV the first call gives the operator the receipts and erases nothing.
    expect((await erase(world, { sbs: "x" })).body).toMatchObject({ erased: { sessions: 0 }, remaining: 1 });
    const slow = beforeStep(env.HOME_APAC, async () => {
      await world.chatId({ sbs: "x" });
      const { body } = await erase(world.anotherIsolate(), { sbs: "x" });
      expect(body).toMatchObject({ erased: { sessions: 0 }, remaining: 2 });
    });
    const { body } = await erase(world.anotherIsolate({ HOME_APAC: slow }), { sbs: "x" });
    expect(body).toMatchObject({ erased: { sessions: 0 }, remaining: 2 });
    expect(await eraseWhole(world, "x")).toMatchObject([{ erased: { sessions: 2 }, customer_is_back: false }]);
    expect((await world.stored()).sessions).toEqual([]);
    const ends = (await auditOfErasures(world)).filter(({ action }) => action === "customer.erased");
    expect(ends.map(({ details }) => details)).toMatchObject([{ sessions: 2 }]);
  });
});

it("an erasure step writes no event when the site is being deleted and its events are gone", async () => {
  const world = await World.create({}, "apac");
  await eventsOn(world);
  await seedCustomer(world, "x", 3);
  const slow = beforeStep(env.HOME_APAC, async () => {
    await patchSite(world, { status: "closed" });
    expect((await deleteSite(world)).status).toBe(202);
    await env.HOME_APAC.prepare("DELETE FROM events WHERE site_id = ?").bind(world.siteId).run();
  });
  const { body } = await erase(world.anotherIsolate({ HOME_APAC: slow }), { sbs: "x" });
  expect(body).toMatchObject({ erased: { sessions: 3 } });
  expect((await eventStore(world)).events).toEqual([]);
  await pruneEnded(NOW);
  expect((await world.stored()).customers).toEqual([]);
});

it("an erasure step writes its event although a deletion of the site was begun, as long as it is not complete", async () => {
  const world = await World.create({}, "apac");
  await newWebhook(world, { events: JSON.stringify(["session.erased"]) });
  await seedCustomer(world, "x", 3);
  await patchSite(world, { status: "closed" });
  const sql = "INSERT INTO site_deletions (site_id, id, home, begun_at) VALUES (?, 'begun', 'apac', ?)";
  await env.HOME_APAC.prepare(sql).bind(world.siteId, NOW).run();
  const { body } = await erase(world, { sbs: "x" });
  expect(body).toMatchObject({ erased: { sessions: 3 }, webhooks: [{ told: true }] });
  expect((await eventStore(world)).events.map(({ type }) => type)).toContain("session.erased");
});

it("the answer to an erasure says that webhooks are told even when a session disappears meanwhile", async () => {
  const world = await World.create({}, "apac");
  await newWebhook(world, { events: JSON.stringify(["session.erased"]) });
  const [, chatId] = [await world.chatId({ sbs: "x" }), await world.chatId({ sbs: "x" })];
  const remove = ["participants WHERE session_id", "messages WHERE session_id", "sessions WHERE id"];
  const removals = remove.map((from) =>
    env.HOME_APAC.prepare(`DELETE FROM ${from} = ? AND site_id = ?`).bind(chatId, world.siteId),
  );
  const slow = beforeStep(env.HOME_APAC, () => env.HOME_APAC.batch(removals));
  const { body } = await erase(world.anotherIsolate({ HOME_APAC: slow }), { sbs: "x" });
  expect(body).toMatchObject({ erased: { sessions: 1 }, remaining: 0, webhooks: [{ told: true }] });
});

describe("an erasure whose beginning commits late", () => {
  it("an erasure whose beginning commits late does not make a later erasure stop at an older chat_id", async () => {
    const world = await World.create({}, "apac");
    const text = personText();
    await world.chatId({ sbs: text });
    let late: D1PreparedStatement[] = [];
    const batch = (statements: D1PreparedStatement[]) => {
      late = statements;
      return Promise.reject(new Error("D1_ERROR: Network connection lost."));
    };
    const isolate = world.anotherIsolate({ HOME_APAC: replacing(env.HOME_APAC, { batch }) });
    expect((await erase(isolate, { sbs: text })).status).toBe(503);
    await eraseWhole(world, text);
    await world.chatId({ sbs: text });
    await env.HOME_APAC.batch(late);
    await world.chatId({ sbs: text });
    expect(await eraseWhole(world, text)).toMatchObject([{ erased: { sessions: 2 }, customer_is_back: false }]);
    expect(await placesOf(text)).toEqual([]);
  });
});

it("two operators who erase one customer together erase each row once, and their counts add up", async () => {
  const world = await World.create();
  const text = personText();
  await eventsOn(world);
  await seedCustomer(world, text, 300);
  const both = await Promise.all([eraseWhole(world, text), eraseWhole(world.anotherIsolate(), text)]);
  const sum = both.flat().reduce((total, { erased }) => total + erased.sessions, 0);
  expect(sum).toBe(300);
  expect(await placesOf(text)).toEqual([]);
  const rows = await auditOfErasures(world);
  expect(rows.map(({ action }) => action)).toEqual(["customer.erasure_begun", "customer.erased"]);
  expect(rows[1]?.details).toMatchObject({ sessions: 300, events: 300 });
  const erasedEvents = (await eventStore(world)).events.filter(({ type }) => type === "session.erased");
  const ids = erasedEvents.flatMap(({ data }) => (JSON.parse(String(data)) as { chat_ids: number[] }).chat_ids);
  expect(ids.sort((a, b) => a - b)).toEqual(Array.from({ length: 300 }, (_, i) => i + 1));
});
