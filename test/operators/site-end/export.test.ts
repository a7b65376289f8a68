import { describe, expect, it } from "vitest";
import { type AdminAnswer, call } from "../../support/admin-calls.ts";
import { seedCustomer } from "../../support/customers.ts";
import { databaseOf } from "../../support/homes.ts";
import { newToken, useToken } from "../../support/new-token.ts";
import { sitePath } from "../../support/site-end.ts";
import { NOW, World } from "../../support/world.ts";

/** Exporting a site: see docs/operating/data-and-restore.md, "Exporting a site". */

type Line = Record<string, unknown> & { kind: string };

const partOf = (world: World, query = ""): Promise<AdminAnswer> =>
  call(world, "GET", `${sitePath(world)}/export${query}`);

/** All lines of an export, part by part, without the last line of each part. */
async function exported(world: World, limit: number): Promise<Line[]> {
  const lines: Line[] = [];
  for (let after: string | null = ""; after !== null; ) {
    const { status, body } = await partOf(world, `?limit=${limit}${after && `&after=${after}`}`);
    expect(status).toBe(200);
    const part = body as Line[];
    const end = part.pop();
    expect(end?.kind).toBe("end");
    expect(part.filter(({ kind }) => ["agent", "app", "session"].includes(kind)).length).toBeLessThanOrEqual(limit);
    lines.push(...part);
    after = end?.next as string | null;
  }
  return lines;
}

const linesOfKind = (lines: Line[], kind: string) => lines.filter((line) => line.kind === kind);

// The home is not the directory, so that a statement in the wrong database finds nothing.
describe("GET /admin/sites/:site_id/export: the export of a site", () => {
  const home = "apac";

  it("the export of a site has every row once, in parts of any size", async () => {
    const world = await World.create({}, home);
    const neighbour = await World.create({}, home);
    await neighbour.chatId({ sbs: "neighbour" });
    const ids: number[] = [];
    for (const sbs of ["a", "b", "a", "c", "b"]) ids.push(await world.chatId({ sbs, metadata: { of: sbs } }));
    await world.add(ids[1] ?? 0);
    const { sessions, customers, participants, messages } = await world.stored();
    const { apps, agents } = await world.operated();
    for (const limit of [1, 3, 500]) {
      const lines = await exported(world, limit);
      expect(linesOfKind(lines, "session").map((line) => line.chat_id)).toEqual(sessions.map(({ id }) => id));
      const customerIds = linesOfKind(lines, "customer").map(({ sbs }) => sbs);
      expect(customerIds.sort()).toEqual(customers.map(({ external_id }) => external_id).sort());
      expect(linesOfKind(lines, "agent").map((line) => line.id)).toEqual(agents.map(({ id }) => id));
      expect(linesOfKind(lines, "app").map((line) => line.appid)).toEqual(apps.map(({ appid }) => appid));
      expect(linesOfKind(lines, "site")).toMatchObject([{ id: world.siteId, home, status: "open" }]);
      const lineParticipants = linesOfKind(lines, "session").flatMap((line) => line.participants as object[]);
      const lineMessages = linesOfKind(lines, "session").flatMap((line) => line.messages as object[]);
      expect([lineParticipants.length, lineMessages.length]).toEqual([participants.length, messages.length]);
      // A customer comes before the first session, so that a program can insert line by line.
      const ids = new Set<unknown>();
      for (const { kind, sbs } of lines) {
        if (kind === "customer") ids.add(sbs);
        if (kind === "session") expect(ids.has(sbs)).toBe(true);
      }
    }
  });

  it("the export of a site has everything stored of a session, and no secret", async () => {
    const world = await World.create({}, home);
    const id = await world.chatId({ sbs: "a", sbs_mc: "Alice", content: "Hello", metadata: { order: "A-17" } });
    const lines = await exported(world, 100);
    const { sessions, participants, messages } = await world.stored();
    expect(linesOfKind(lines, "session")).toEqual([
      expect.objectContaining({
        kind: "session",
        chat_id: id,
        sbs: "a",
        appid: world.appid,
        metadata: { order: "A-17" },
        request_id: sessions[0]?.request_id,
        created_at: sessions[0]?.created_at,
        participants: participants.map(({ agent_id, added_by, added_at }) => ({ agent_id, added_by, added_at })),
        messages: messages.map(({ sender, sender_uid, content, created_at }) => ({
          sender,
          sender_uid,
          content,
          created_at,
        })),
      }),
    ]);
    const { apps } = await world.operated();
    for (const secret of [world.secret, String(apps[0]?.secret)]) expect(JSON.stringify(lines)).not.toContain(secret);
  });

  it("the export of a site has its own agents, apps and customers, also when another site has the same ids", async () => {
    const world = await World.create({}, home);
    const neighbour = await World.create({}, home);
    await neighbour.chatId({ sbs: "both" });
    await world.chatId({ sbs: "first" });
    world.clock.now += 60;
    await world.chatId({ sbs: "both", sbs_mc: "Ann" });
    world.clock.now += 60;
    await world.chatId({ sbs: "both", sbs_mc: "Anna" });
    world.clock.now += 60;
    expect((await call(world, "DELETE", `/admin/apps/${world.appid}`)).status).toBe(204);
    await call(world, "PATCH", `${sitePath(world)}/agents/2`, { name: "Bob", status: "disabled" });
    const { appid, name, created_at } = (await world.operated()).apps[0] as Record<string, unknown>;
    // The state after an older session was deleted.
    const older = "UPDATE customers SET created_at = created_at - 7 WHERE site_id = ?";
    await databaseOf(home).prepare(older).bind(world.siteId).run();
    const lines = await exported(world, 100);
    const ann = { sbs: "both", name: "Anna", ip: "127.0.0.1", created_at: NOW + 53, updated_at: NOW + 120 };
    expect(linesOfKind(lines, "customer").at(-1)).toEqual({ kind: "customer", ...ann });
    expect(linesOfKind(lines, "agent")).toContainEqual({ kind: "agent", id: 2, name: "Bob", status: "disabled" });
    expect(linesOfKind(lines, "app")).toEqual([{ kind: "app", appid, name, revoked_at: NOW + 180, created_at }]);
  });

  it("the export of a site goes on at its place when sessions were opened or deleted meanwhile", async () => {
    const world = await World.create({}, home);
    await seedCustomer(world, "many", 10);
    const { body } = await partOf(world, "?limit=8");
    const end = (body as Line[]).at(-1);
    const ids = linesOfKind(body as Line[], "session").map((line) => Number(line.chat_id));
    await databaseOf(home)
      .prepare("DELETE FROM messages WHERE site_id = ? AND session_id IN (1, 6)")
      .bind(world.siteId)
      .run();
    const newId = await world.chatId();
    const rest = (await partOf(world, `?limit=500&after=${String(end?.next)}`)).body as Line[];
    const all = [...ids, ...linesOfKind(rest, "session").map((line) => Number(line.chat_id))];
    expect(all).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, newId]);
  });
});

describe("a call for an export", () => {
  it("the export of a site is NDJSON: one JSON object a line", async () => {
    const world = await World.create();
    await world.chatId();
    const answer = await world.admin("GET", `${sitePath(world)}/export`);
    expect(answer.headers.get("content-type")).toBe("application/x-ndjson");
    const text = new TextDecoder().decode(await answer.arrayBuffer());
    expect(text.endsWith("\n")).toBe(true);
    for (const line of text.trimEnd().split("\n")) expect(JSON.parse(line)).toHaveProperty("kind");
  });

  it("the export of a site refuses a malformed `after` and one of another site", async () => {
    const world = await World.create();
    const other = await World.create();
    for (const each of [world, other]) await each.chatId();
    const cursor = ((await partOf(other, "?limit=1")).body as Line[]).at(-1)?.next as string;
    expect(cursor).toMatch(new RegExp(`^${other.siteId}\\.`));
    const bad = [cursor, "", "1", `${world.siteId}`, `${world.siteId}.sessions.x`, `${world.siteId}.customers.1`];
    for (const after of [...bad, `${world.siteId}.sessions.1.2`, `${world.siteId}.agents.-1`, "__proto__"]) {
      expect(await partOf(world, `?after=${after}`)).toMatchObject({
        status: 400,
        body: { errors: [{ field: "after", message: "is not an `after` of this site's export" }] },
      });
    }
  });

  it("the export of a site refuses a limit that is not an integer from 1 to 500", async () => {
    const world = await World.create();
    for (const limit of ["0", "501", "1.5", "-1", "x", ""]) {
      const { status, body } = await partOf(world, `?limit=${limit}`);
      expect([limit, status, body]).toMatchObject([limit, 400, { errors: [{ field: "limit" }] }]);
    }
  });

  it("the export of a site needs an owner, and leaves one audit row per operator and hour", async () => {
    const world = await World.create();
    const { token } = await newToken({ role: "operator" });
    const answer = await useToken(world, token, "GET", `${sitePath(world)}/export`);
    expect(answer.status).toBe(403);
    const count = async () => (await world.operated()).audit.filter(({ action }) => action === "site.exported").length;
    expect(await count()).toBe(0);
    for (let i = 0; i < 3; i++) await partOf(world);
    expect(await count()).toBe(1);
    world.clock.now += 3_600;
    await partOf(world);
    expect(await count()).toBe(2);
  });
});
