import { describe, expect, it } from "vitest";
import { INVALID_PARAMETERS, rowsAdded } from "../../support/signed-routes.ts";
import { NOW, World } from "../../support/world.ts";

const ACCEPTED = { code: 1, msg: "ok", data: { chat_id: expect.any(Number) } };

describe("create_gd", () => {
  it("create_gd stores the customer, a ticket session, the agents and the first message, and answers the chat_id", async () => {
    const world = await World.create();
    const { status, headers, envelope } = await world.create({ title: "Order Consultation" });
    expect(status).toBe(200);
    expect(envelope).toEqual(ACCEPTED);
    const requestId = headers.get("x-request-id");
    const id = (envelope.data as { chat_id: number }).chat_id;
    const { customers, sessions, participants, messages, nonces, keys } = await world.stored();
    expect(customers).toEqual([
      {
        site_id: world.siteId,
        external_id: "customer_001",
        name: "Customer Name",
        ip: "127.0.0.1",
        created_at: NOW,
        updated_at: NOW,
      },
    ]);
    expect(sessions).toEqual([
      {
        id,
        site_id: world.siteId,
        appid: world.appid,
        kind: "ticket",
        customer_external_id: "customer_001",
        responsible_agent_id: 1,
        status: "replied",
        visitor_title: "Order Consultation",
        agent_title: "Order Consultation",
        auto_title: "Initial message",
        created_at: NOW,
        metadata: null,
        request_id: requestId,
      },
    ]);
    expect(participants).toEqual([{ site_id: world.siteId, session_id: id, agent_id: 2, added_by: 1, added_at: NOW }]);
    expect(messages).toEqual([
      {
        site_id: world.siteId,
        session_id: id,
        seq: 1,
        sender: "agent",
        sender_uid: 1,
        content: "Initial message",
        created_at: NOW,
      },
    ]);
    expect(nonces).toHaveLength(1);
    expect(keys).toEqual([]);
  });

  it.each([
    [1, { status: "waiting", sender: "visitor", sender_uid: null }],
    [2, { status: "replied", sender: "agent", sender_uid: 2 }],
    [undefined, { status: "replied", sender: "agent", sender_uid: 2 }],
    [3, { status: "waiting", sender: "agent", sender_uid: 0 }],
  ])("create_gd sets the first message's sender and the status by sender_type %s", async (sender_type, expected) => {
    const world = await World.create();
    await world.chatId({ sender_type, fzr_uid: 2 });
    const { sessions, messages } = await world.stored();
    expect(messages).toHaveLength(1);
    const { status, ...sender } = expected;
    expect(sessions).toMatchObject([{ status, responsible_agent_id: 2 }]);
    expect(messages).toMatchObject([sender]);
  });

  it("create_gd always stores an automatic title, and stores no other titles without the field title", async () => {
    const world = await World.create();
    await world.chatId({ content: "My order is late. Where is it?" });
    await world.chatId({ content: " \n", title: "Blank" });
    expect((await world.stored()).sessions).toMatchObject([
      { visitor_title: null, agent_title: null, auto_title: "My order is late." },
      { visitor_title: "Blank", agent_title: "Blank", auto_title: "" },
    ]);
  });

  it("create_gd opens a new session for a known customer and stores the newest name and ip", async () => {
    const world = await World.create();
    const first = await world.chatId();
    const [before] = (await world.stored()).customers;
    world.clock.now += 60;
    const second = await world.chatId({ sbs_mc: "New Name", ip: "2001:db8::1", content: "Again" });
    expect(second).not.toBe(first);
    const { customers, sessions, messages } = await world.stored();
    expect(customers).toEqual([{ ...before, name: "New Name", ip: "2001:db8::1", updated_at: NOW + 60 }]);
    const customer = { customer_external_id: before?.external_id };
    expect(sessions).toMatchObject([customer, { ...customer, created_at: NOW + 60 }]);
    expect(messages).toMatchObject([
      { session_id: first, seq: 1, content: "Initial message" },
      { session_id: second, seq: 1, content: "Again" },
    ]);
  });

  it("create_gd keeps the customers of two sites apart", async () => {
    const [world, other] = [await World.create(), await World.create()];
    await world.chatId();
    await other.chatId({ sbs_mc: "Another Name" });
    expect((await world.stored()).customers).toMatchObject([{ name: "Customer Name" }]);
    expect((await other.stored()).customers).toMatchObject([{ name: "Another Name" }]);
  });

  it("the apps of one site share the customers of create_gd, but not the ranstrs", async () => {
    const world = await World.create();
    const issued = await world.admin("POST", `/admin/sites/${world.siteId}/apps`, { name: "Second" });
    const second = Object.assign(world.anotherIsolate(), await issued.json<{ appid: string; secret: string }>());
    await world.chatId({ ranstr: "same" });
    await second.chatId({ ranstr: "same" });
    expect(second.appid).not.toBe(world.appid);
    const { customers, sessions } = await world.stored();
    expect([customers.length, sessions.length]).toEqual([1, 2]);
  });

  it("many simultaneous create_gd requests for a new customer open a whole session each, over three isolates", async () => {
    const world = await World.create();
    const isolates = [world, world.anotherIsolate(), world.anotherIsolate()];
    const sent = Array.from({ length: 30 }, (_, i) => `Message ${i}`);
    const ids = await Promise.all(sent.map((content, i) => isolates[i % 3]?.chatId({ content })));
    expect(new Set(ids).size).toBe(30);
    const { customers, sessions, messages, participants } = await world.stored();
    expect([customers, sessions, messages, participants].map((rows) => rows.length)).toEqual([1, 30, 30, 30]);
    const contentOf = new Map(messages.map(({ session_id, content }) => [session_id, content]));
    expect(ids.map((id) => contentOf.get(Number(id)))).toEqual(sent);
  });

  it("create_gd stores only the ranstr when it refuses the agents of a known customer", async () => {
    const world = await World.create();
    await world.chatId();
    const before = await world.stored();
    world.clock.now += 60;
    const { status, envelope } = await world.create({ sbs_mc: "New Name", kefu_id: [1, 404] });
    expect({ status, envelope }).toEqual({ status: 400, envelope: INVALID_PARAMETERS });
    const after = await world.stored();
    expect(rowsAdded(before, after)).toEqual({ nonces: 1 });
    expect({ ...after, nonces: [] }).toEqual({ ...before, nonces: [] });
  });
});
