import { describe, expect, it } from "vitest";
import { NOW, World } from "../support/world.ts";

const ACCEPTED = { code: 1, msg: "ok", data: { chat_id: expect.any(Number) } };

describe("create_gd", () => {
  it("stores the customer, a ticket session, the other agents and the first message, and answers the chat_id", async () => {
    const world = await World.create();
    const { status, envelope } = await world.create({ title: "Order Consultation" });
    expect(status).toBe(200);
    expect(envelope).toEqual(ACCEPTED);
    const id = (envelope.data as { chat_id: number }).chat_id;
    const { customers, sessions, participants, messages, nonces } = await world.stored();
    expect(customers).toEqual([
      {
        id: expect.any(Number),
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
        kind: "ticket",
        customer_id: customers[0]?.id,
        responsible_agent_id: 1,
        status: "replied",
        visitor_title: "Order Consultation",
        agent_title: "Order Consultation",
        auto_title: "Initial message",
        created_at: NOW,
      },
    ]);
    expect(participants).toEqual([{ session_id: id, agent_id: 2, added_by: 1, added_at: NOW }]);
    expect(messages).toEqual([
      { session_id: id, seq: 1, sender: "agent", sender_uid: 1, content: "Initial message", created_at: NOW },
    ]);
    expect(nonces).toHaveLength(1);
  });
});
