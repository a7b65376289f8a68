import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { selectSession } from "../../../../src/operators/store/home/sessions.ts";
import { seedSession } from "../../../support/seed-session.ts";
import { NOW, World } from "../../../support/world.ts";

describe("reading a session", () => {
  it("a session is read with every value in its place, even for columns with the same name", async () => {
    const world = await World.create();
    for (const id of [1, 2, 3])
      await world.admin("PATCH", `/admin/sites/${world.siteId}/agents/${id}`, { name: `N${id}` });
    const id = await world.chatId({ kefu_id: [1, 2, 3], fzr_uid: 1, sbs: "sbs", sbs_mc: "Customer", title: "Title" });
    expect(await selectSession(env.DB, world.siteId, id)).toEqual({
      session: expect.objectContaining({
        id,
        appid: world.appid,
        kind: "ticket",
        status: "replied",
        responsibleAgentId: 1,
        responsibleAgentName: "N1",
        visitorTitle: "Title",
        agentTitle: "Title",
        autoTitle: "Initial message",
        createdAt: NOW,
        metadata: {},
      }),
      customer: { externalId: "sbs", name: "Customer", ip: "127.0.0.1" },
      participants: [
        { agentId: 2, agentName: "N2", addedBy: 1, addedAt: NOW },
        { agentId: 3, agentName: "N3", addedBy: 1, addedAt: NOW },
      ],
      messages: [
        { seq: 1, sender: "agent", senderUid: 1, senderName: "N1", content: "Initial message", createdAt: NOW },
      ],
    });
  });

  it("reading a session gives no names of deleted agents, and nothing of another site's session", async () => {
    const world = await World.create();
    const id = await world.chatId();
    await env.DB.prepare("DELETE FROM agents WHERE site_id = ?").bind(world.siteId).run();
    expect(await selectSession(env.DB, world.siteId, id)).toMatchObject({
      session: { responsibleAgentId: 1, responsibleAgentName: null },
      participants: [{ agentId: 2, agentName: null }],
      messages: [{ senderUid: 1, senderName: null }],
    });
    expect(await selectSession(env.DB, world.siteId + 1, id)).toBeUndefined();
  });

  it.each([
    ["the stored object", '{"order":"A-17","channel":"web"}', { order: "A-17", channel: "web" }],
    ["an empty object without one", undefined, {}],
  ])("a session is read with its metadata: %s", async (_, metadata, expected) => {
    const world = await World.create();
    const id = await seedSession(world, metadata === undefined ? {} : { metadata });
    expect((await selectSession(env.DB, world.siteId, id))?.session.metadata).toEqual(expected);
  });
});
