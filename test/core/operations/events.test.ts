import { describe, expect, it } from "vitest";
import { call } from "../../support/admin-calls.ts";
import { databaseOf } from "../../support/homes.ts";
import { type Body, NOW, World } from "../../support/world.ts";

type Event = {
  seq: number;
  id: string;
  type: string;
  session_id: number | null;
  created_at: number;
  data: string | null;
};

async function siteWithEvents(home = "main"): Promise<World> {
  const world = await World.create({}, home);
  expect((await call(world, "PATCH", `/admin/sites/${world.siteId}`, { events: true })).status).toBe(200);
  return world;
}

async function eventsOf({ siteId, home }: World): Promise<Event[]> {
  const { results } = await databaseOf(home)
    .prepare("SELECT seq, id, type, session_id, created_at, data FROM events WHERE site_id = ? ORDER BY seq")
    .bind(siteId)
    .all<Event>();
  return results;
}

const dataOf = (event: Event | undefined) => JSON.parse(event?.data ?? "null") as Record<string, unknown>;

describe("an accepted create_gd of a site with events", () => {
  it.each<[string, Body]>([
    [
      "with everything",
      { kefu_id: [3, 1, 2], fzr_uid: 2, title: "Title", metadata: { order: "7", b: "" }, sender_type: 1 },
    ],
    ["with nothing optional", { kefu_id: [1], fzr_uid: 1 }],
    ["of the system", { sender_type: 3 }],
    [
      "with every kind of character",
      { content: '\u0000\u001f"\\/\u2028\u2029 王伟 🙂 </script>\n', sbs_mc: "\u007f'\"" },
    ],
  ])("an accepted create_gd %s makes one event with the admin API's answer and the appid", async (_, change) => {
    const world = await siteWithEvents();
    const chatId = await world.chatId(change);
    const [event, ...others] = await eventsOf(world);
    expect(others).toEqual([]);
    expect(event).toMatchObject({ seq: 1, type: "session.created", session_id: chatId, created_at: NOW });
    expect(event?.id).toMatch(/^evt_[0-9a-f]{32}$/);
    const { body } = await call(world, "GET", `/admin/sites/${world.siteId}/sessions/${chatId}`);
    expect(dataOf(event)).toEqual({ seq: 1, appid: world.appid, ...(body as object) });
  });

  it("the events of a site count one by one from its floor, separately from other sites", async () => {
    const world = await siteWithEvents("apac");
    await databaseOf("apac")
      .prepare("UPDATE home_sites SET event_seq_floor = 50 WHERE site_id = ?")
      .bind(world.siteId)
      .run();
    for (const _ of [1, 2]) await world.chatId();
    const other = await siteWithEvents("apac");
    await other.chatId();
    expect((await eventsOf(world)).map(({ seq }) => seq)).toEqual([51, 52]);
    expect((await eventsOf(other)).map(({ seq }) => seq)).toEqual([1]);
  });

  it("a create_gd that is refused, replayed or repeated makes no event", async () => {
    const world = await siteWithEvents();
    const body = world.createBody();
    await world.send("create_gd", body, { "idempotency-key": "k" });
    await world.send("create_gd", body, { "idempotency-key": "k" });
    await world.create({}, { "idempotency-key": "k" });
    await world.create({ kefu_id: [404], fzr_uid: 404 });
    expect(await eventsOf(world)).toHaveLength(1);
  });
});

describe("an accepted add_kf of a site with events", () => {
  it("an accepted add_kf makes one event with the agents who joined by it", async () => {
    const world = await siteWithEvents();
    const chatId = await world.chatId({ kefu_id: [2, 1], fzr_uid: 2 });
    await world.add(chatId, { kefu_ids: [4, 3, 2, 1, 404] });
    const [, event, ...others] = await eventsOf(world);
    expect(others).toEqual([]);
    expect(event).toMatchObject({ seq: 2, type: "session.agents_added", session_id: chatId });
    expect(dataOf(event)).toEqual({ seq: 2, appid: world.appid, chat_id: chatId, agent_ids: [3], added_by: 2 });
  });

  it("an add_kf by which nobody joins makes no event", async () => {
    const world = await siteWithEvents();
    const chatId = await world.chatId({ kefu_id: [1, 2], fzr_uid: 1 });
    await world.add(chatId, { kefu_ids: [1, 2] });
    expect(await eventsOf(world)).toHaveLength(1);
  });
});

describe("a site without events", () => {
  it("a site without events makes none, also after its events were turned off", async () => {
    const world = await World.create();
    await world.chatId();
    expect(await eventsOf(world)).toEqual([]);
    await call(world, "PATCH", `/admin/sites/${world.siteId}`, { events: true });
    await world.chatId();
    await call(world, "PATCH", `/admin/sites/${world.siteId}`, { events: false });
    await world.chatId();
    expect(await eventsOf(world)).toHaveLength(1);
    const { audit } = await world.operated();
    expect(audit.map(({ action }) => action).slice(-2)).toEqual(["site.events_on", "site.events_off"]);
  });
});
