import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { problem } from "../../support/admin-calls.ts";
import { auditOfErasures, erase, eraseWhole, exportOf, seedCustomer } from "../../support/customers.ts";
import { eventsOn } from "../../support/new-webhook.ts";
import { replacing } from "../../support/replacing.ts";
import { NOW, World } from "../../support/world.ts";

/** Exporting a customer's data: see docs/operating/data-and-restore.md, "One customer's data". */

interface Exported {
  customer: Record<string, unknown>;
  sessions: { chat_id: number }[];
  events: { chat_id: number; data: unknown }[];
  next_cursor: string | null;
}

// The home is not the directory, so that a statement in the wrong database finds nothing.
describe("POST /admin/sites/:site_id/customers/export: the export of a customer", () => {
  const home = "apac";

  it("the export of a customer has everything stored of that customer and nothing of others", async () => {
    const world = await World.create({}, home);
    await eventsOn(world);
    await world.chatId({ sbs: "other", content: "somebody else" });
    const body = { sbs: "theirs", title: "T", metadata: { order: "7" }, sender_type: 1, kefu_id: [1, 2] };
    const id = await world.chatId(body);
    world.clock.now += 60;
    await world.add(id, { kefu_ids: "3" });
    const { status, body: answer } = await exportOf(world, { sbs: "theirs" });
    const { request_id } = (await world.stored()).sessions.at(-1) as { request_id: string };
    expect({ status, answer }).toEqual({
      status: 200,
      answer: {
        customer: { sbs: "theirs", name: "Customer Name", ip: "127.0.0.1", created_at: NOW, updated_at: NOW },
        sessions: [
          {
            chat_id: id,
            kind: "ticket",
            status: "waiting",
            responsible_agent_id: 1,
            visitor_title: "T",
            agent_title: "T",
            auto_title: "Initial message",
            metadata: { order: "7" },
            created_at: NOW,
            appid: world.appid,
            request_id,
            participants: [
              { agent_id: 2, added_by: 1, added_at: NOW },
              { agent_id: 3, added_by: 1, added_at: NOW + 60 },
            ],
            messages: [{ sender: "visitor", sender_uid: null, content: "Initial message", created_at: NOW }],
          },
        ],
        events: [
          expect.objectContaining({ seq: 2, type: "session.created", chat_id: id, created_at: NOW }),
          expect.objectContaining({ seq: 3, type: "session.agents_added", chat_id: id, created_at: NOW + 60 }),
        ],
        next_cursor: null,
      },
    });
    expect(JSON.stringify(answer)).not.toContain("somebody else");
  });

  it("the export of a customer has nothing of another site whose sessions have the same ids", async () => {
    const [world, another] = [await World.create({}, home), await World.create({}, home)];
    for (const each of [world, another]) await eventsOn(each);
    const ids = [
      await world.chatId({ sbs: "same" }),
      await another.chatId({ sbs: "same", content: "of another site" }),
    ];
    expect(ids[0]).toBe(ids[1]);
    await another.add(Number(ids[1]), { kefu_ids: "3" });
    const { body } = await exportOf(world, { sbs: "same" });
    const { sessions, events } = body as Exported;
    expect([sessions.length, events.length]).toEqual([1, 1]);
    expect(sessions[0]).toMatchObject({ participants: [{ agent_id: 2 }], messages: [{ content: "Initial message" }] });
    expect(JSON.stringify(body)).not.toContain("of another site");
  });

  it("the export of a customer comes in pages, oldest first, and each leaves an audit row without the customer's name", async () => {
    const world = await World.create({}, home);
    await seedCustomer(world, "of many pages", 120);
    const pages: Exported[] = [];
    let cursor: string | null | undefined;
    while (cursor !== null) {
      const { status, body } = await exportOf(world, { sbs: "of many pages", ...(cursor && { cursor }) });
      expect(status).toBe(200);
      pages.push(body as Exported);
      cursor = (body as Exported).next_cursor;
    }
    expect(pages.map(({ sessions, events }) => [sessions.length, events.length])).toEqual([
      [50, 50],
      [50, 50],
      [20, 20],
    ]);
    const ids = pages.flatMap(({ sessions }) => sessions.map(({ chat_id }) => chat_id));
    expect(ids).toEqual(Array.from({ length: 120 }, (_, i) => i + 1));
    const rows = await auditOfErasures(world);
    expect(rows.map(({ action, details }) => [action, details.sessions, details.after])).toEqual([
      ["customer.exported", 50, 0],
      ["customer.exported", 50, 50],
      ["customer.exported", 20, 100],
    ]);
    expect(JSON.stringify(rows)).not.toContain("of many pages");
  });

  it("the export of a customer is 404 for an unknown or erased customer, and 400 for a malformed cursor", async () => {
    const world = await World.create({}, home);
    await world.chatId({ sbs: "gone" });
    expect((await exportOf(world, { sbs: "gone", cursor: "x" })).status).toBe(400);
    await eraseWhole(world, "gone");
    for (const sbs of ["gone", "nobody"]) {
      expect(await exportOf(world, { sbs })).toMatchObject(problem(404, "Not found"));
    }
  });

  it("the export of a customer gives a cursor when an erasure removes the page that is being read", async () => {
    const world = await World.create({}, home);
    await seedCustomer(world, "both", 400);
    let batches = 0;
    const batch = async (list: D1PreparedStatement[]) => {
      if (list.length === 5 && batches++ === 0) await erase(world, { sbs: "both" });
      return env.HOME_APAC.batch(list);
    };
    const reading = world.anotherIsolate({ HOME_APAC: replacing(env.HOME_APAC, { batch }) });
    const { body } = await exportOf(reading, { sbs: "both" });
    expect(body).toMatchObject({ sessions: [], next_cursor: "50" });
    expect(batches).toBe(1);
  });

  it("the export of a customer is one page when the sessions exactly fill it", async () => {
    const world = await World.create({}, home);
    await seedCustomer(world, "page", 50);
    expect((await exportOf(world, { sbs: "page" })).body).toMatchObject({ next_cursor: null });
  });

  it("the export of a customer has the remaining sessions while an erasure is in progress", async () => {
    const world = await World.create({}, home);
    await seedCustomer(world, "half", 300);
    await erase(world, { sbs: "half" });
    const { body } = await exportOf(world, { sbs: "half" });
    expect((body as Exported).sessions.map(({ chat_id }) => chat_id)).toEqual(
      Array.from({ length: 50 }, (_, i) => 251 + i),
    );
  });
});
