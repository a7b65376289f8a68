import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { call } from "../../support/admin-calls.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { databaseOf } from "../../support/homes.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import { replacing } from "../../support/replacing.ts";
import { bookmarkDatabase } from "../../support/time-travel.ts";
import { eventStore } from "../../support/webhook-store.ts";
import { NOW, World } from "../../support/world.ts";

/** Compares all given ids with each other, because an earlier mistake showed only at the second restore. */

const withClosed = (world: World) => world.anotherIsolate(closedHomeVars(world.home));

async function reconcile(world: World, body?: unknown) {
  const { status, body: answer } = await call(withClosed(world), "POST", `/admin/homes/${world.home}/restored`, body);
  expect(status).toBe(200);
  return answer as { settling_id: string; lifted_by: number };
}

/** Opens two sessions and stores their ids and the seqs of their events. */
async function openSessions(world: World, sessions: { ids: number[]; seqs: number[] }) {
  const before = new Set((await eventStore(world)).events.map(({ seq }) => seq));
  for (let i = 0; i < 2; i++) sessions.ids.push(await world.anotherIsolate().chatId());
  const { events } = await eventStore(world);
  sessions.seqs.push(...events.map(({ seq }) => Number(seq)).filter((seq) => !before.has(seq)));
}

const expectDistinct = ({ ids, seqs }: { ids: number[]; seqs: number[] }) => {
  expect(ids).toEqual([...new Set(ids)]);
  expect(seqs).toEqual([...new Set(seqs)]);
  expect(seqs.length).toBeGreaterThan(ids.length / 2);
};

describe.each(["main", "apac"])("the home %s, restored twice", (home) => {
  it("a home gives no chat_id and no seq twice when restores go back to different points", async () => {
    const world = await World.create({}, home);
    await newWebhook(world);
    const sessions = { ids: [] as number[], seqs: [] as number[] };
    const first = await bookmarkDatabase(databaseOf(home));
    await openSessions(world, sessions);
    const second = await bookmarkDatabase(databaseOf(home));
    await openSessions(world, sessions);
    for (const travelBack of [second, first, second]) {
      await travelBack();
      expect(await reconcile(world)).toMatchObject({ lifted_by: 1_000_000 });
      await openSessions(world, sessions);
    }
    expectDistinct(sessions);
    expect(sessions.ids).toHaveLength(10);
  });

  it("a first_chat_id that was set after the restore point holds after the first and the second restore", async () => {
    const world = await World.create({}, home);
    const travelBack = await bookmarkDatabase(databaseOf(home));
    const path = `/admin/sites/${world.siteId}`;
    expect((await call(world, "PATCH", path, { first_chat_id: 70_000_000 })).status).toBe(200);
    const chatIds = [await world.chatId()];
    for (let i = 0; i < 2; i++) {
      await travelBack();
      await reconcile(world, { lift: 5 });
      chatIds.push(await world.anotherIsolate().chatId());
    }
    expect(chatIds).toEqual([70_000_000, 70_000_005, 70_000_010]);
  });

  it("a home's reconciliation repeated with its settling_id skips no more ids, even when a write to KV was lost", async () => {
    const world = await World.create({}, home);
    const travelBack = await bookmarkDatabase(databaseOf(home));
    const chatIds = [await world.chatId()];
    await travelBack();
    const settling_id = crypto.randomUUID();
    const put = () => Promise.reject(new Error("KV PUT failed: 500"));
    const isolate = withClosed(world).anotherIsolate({ CREDENTIALS: replacing(env.CREDENTIALS, { put }) });
    expect((await call(isolate, "POST", `/admin/homes/${home}/restored`, { settling_id })).status).toBe(503);
    expect(await reconcile(world, { settling_id })).toMatchObject({ settling_id, lifted_by: 0 });
    chatIds.push(await world.chatId());
    await travelBack();
    await reconcile(world);
    chatIds.push(await world.chatId());
    expect(chatIds).toEqual([1, 1_000_001, 2_000_001]);
  });
});

describe("the home apac, restored twice", () => {
  it.each([
    ["CREDENTIALS is not bound", { CREDENTIALS: undefined }],
    ["KV answers", {}],
  ])("the floors of apac stay in the directory across a change before the second reconciliation: %s", async (_, kv) => {
    const world = await World.create(kv, "apac");
    const travelBack = await bookmarkDatabase(env.HOME_APAC);
    const chatIds = [await world.chatId()];
    for (let i = 0; i < 2; i++) {
      await travelBack();
      expect((await call(world, "PATCH", `/admin/sites/${world.siteId}`, { name: `Name ${i}` })).status).toBe(200);
      await reconcile(world);
      chatIds.push(await world.anotherIsolate().chatId());
    }
    expect(chatIds).toEqual([1, 1_000_001, 2_000_001]);
  });

  it("an old settling_id is refused, because ids would be given again after a second restore", async () => {
    const world = await World.create({}, "apac");
    const settling_id = crypto.randomUUID();
    await reconcile(world, { settling_id });
    const travelBack = await bookmarkDatabase(env.HOME_APAC);
    const chatIds = [await world.chatId()];
    await travelBack();
    const later = withClosed(world);
    later.clock.now = NOW + 1_860;
    const answer = await call(later, "POST", "/admin/homes/apac/restored", { settling_id });
    expect([answer.status, answer.body]).toEqual([
      409,
      expect.objectContaining({ detail: expect.stringContaining("another settling_id") }),
    ]);
    await reconcile(world);
    chatIds.push(await world.anotherIsolate().chatId());
    expect(chatIds).toEqual([1_000_001, 2_000_001]);
  });

  it("the reconciliation of a home skips ids of a site that only a repeated call finds in the directory", async () => {
    const world = await World.create({}, "apac");
    const [noSite, noDirectory] = [await bookmarkDatabase(env.HOME_APAC), await bookmarkDatabase(env.DB)];
    const late = await World.create({}, "apac");
    const chatIds = [await late.chatId()];
    const withDirectory = await bookmarkDatabase(env.DB);
    const settling_id = crypto.randomUUID();
    await noSite();
    await noDirectory();
    expect(await reconcile(world, { settling_id })).toMatchObject({ lifted_by: 1_000_000 });
    await withDirectory();
    expect(await reconcile(world, { settling_id })).toMatchObject({ lifted_by: 0 });
    const row = await env.HOME_APAC.prepare("SELECT * FROM home_sites WHERE site_id = ?").bind(late.siteId).first();
    expect(row).toMatchObject({ chat_id_floor: 1_000_000, event_seq_floor: 1_000_000 });
    expect(chatIds).toEqual([1]);
  });
});

describe("the home main, restored", () => {
  it.each([
    ["KV knows each", 0],
    ["KV has lost all that were made since the first", 2],
  ])("the restored home main gives no site id twice, even after a second restore, when %s", async (_, lostCount) => {
    const world = await World.create();
    const travelBack = await bookmarkDatabase(env.DB);
    const make = async () => {
      const { status, body } = await call(world, "POST", "/admin/sites", { name: "Site" });
      expect(status).toBe(201);
      return (body as { id: number }).id;
    };
    const siteIds = [await make(), await make()];
    for (let i = 0; i < 2; i++) {
      await travelBack();
      await reconcile(world);
      siteIds.push(await make(), await make());
      for (const id of siteIds.slice(siteIds.length - lostCount))
        await env.CREDENTIALS.delete(`site-ids:${String(1_000_000_000 - id).padStart(10, "0")}`);
    }
    expect(siteIds).toEqual([...new Set(siteIds)]);
  });

  it("the reconciliation of a home ignores malformed floors in KV and floors that would leave a site no ids", async () => {
    const world = await World.create();
    const { siteId } = world;
    const at = (rest: string) => `floors:main:${rest}`;
    await env.CREDENTIALS.put(at(`site:${siteId}:x`), "", { metadata: [siteId, 2 ** 53, 0] });
    await env.CREDENTIALS.put(at(`site:${siteId}:y`), "", { metadata: { siteId } });
    await env.CREDENTIALS.put("site-ids:!", "");
    await env.CREDENTIALS.put(at("settling:bad"), "not JSON");
    await env.CREDENTIALS.put(
      at("settling:worse"),
      JSON.stringify([null, [siteId, -1, 0], [siteId, "9", 0], [2 ** 50, 9, 9]]),
    );
    await reconcile(world, { lift: 5 });
    expect(await world.chatId()).toBe(6);
    const { body } = await call(world, "POST", "/admin/sites", { name: "Next" });
    expect((body as { id: number }).id).toBeLessThan(10_000);
  });
});
