import { describe, expect, it } from "vitest";
import { call } from "../../support/admin-calls.ts";
import { seedCustomer } from "../../support/customers.ts";
import { databaseOf } from "../../support/homes.ts";
import { newToken, useToken } from "../../support/new-token.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import { DAY, patchSite, pruneAll, pruneAt, pruneOld, readSite } from "../../support/site-end.ts";
import { eventStore } from "../../support/webhook-store.ts";
import { NOW, World } from "../../support/world.ts";

/** How long a site stores its sessions: see docs/operating/data-and-restore.md, "How long sessions are kept". */

/** Makes a session that is this old, with its message, participants and events. */
async function aged(world: World, days: number, change = {}): Promise<number> {
  world.clock.now = NOW - days * DAY;
  const id = await world.chatId(change);
  world.clock.now = NOW;
  return id;
}

const idsOf = async (world: World) => (await world.stored()).sessions.map(({ id }) => id);

// The home is not the directory, so that a statement in the wrong database finds nothing.
describe("a site that keeps sessions for 30 days", () => {
  const home = "apac";

  it("a retention of 30 days deletes exactly the sessions that are 30 days old, with their data", async () => {
    const world = await World.create({}, home);
    await newWebhook(world);
    // Another site of the home has a customer of the same id.
    await (await World.create({}, home)).chatId({ sbs: "old" });
    const deletedIds = [await aged(world, 400, { sbs: "old" }), await aged(world, 30, { sbs: "both" })];
    const keptIds = [await aged(world, 29, { sbs: "both" }), await aged(world, 0, { sbs: "new" })];
    // Agents join an old session today, and that event is deleted too.
    await world.add(deletedIds[1] ?? 0);
    await patchSite(world, { retention_days: 30 });
    await pruneAll(NOW);
    const { sessions, customers, messages, participants } = await world.stored();
    expect(sessions.map(({ id }) => id)).toEqual(keptIds);
    expect(customers.map(({ external_id }) => external_id).sort()).toEqual(["both", "new"]);
    for (const rows of [messages, participants]) {
      expect(rows.length).toBeGreaterThan(0);
      expect(rows.filter(({ session_id }) => !keptIds.includes(Number(session_id)))).toEqual([]);
    }
    const { events, deliveries } = await eventStore(world);
    expect(events.map(({ session_id }) => session_id)).toEqual(keptIds);
    expect(deliveries.map(({ seq }) => seq).sort()).toEqual(events.map(({ seq }) => seq).sort());
    // Seqs and ids are not given again, although the newest event is deleted.
    const next = await world.chatId();
    expect(next).toBe(Math.max(...keptIds) + 1);
    expect((await eventStore(world)).events.map(({ seq }) => seq)).toEqual([3, 4, 6]);
  });

  it("a chat_id is not given again after retention deleted the newest session", async () => {
    const world = await World.create({}, home);
    const ids = [await aged(world, 40), await aged(world, 35)];
    await patchSite(world, { retention_days: 30 });
    await pruneOld(NOW);
    expect(await idsOf(world)).toEqual([]);
    expect(await world.chatId()).toBe(Math.max(...ids) + 1);
  });

  it("a site without retention, or whose retention was removed, keeps all sessions", async () => {
    const [never, once] = [await World.create({}, home), await World.create({}, home)];
    const ids = [await aged(never, 4_000), await aged(once, 4_000)];
    await patchSite(once, { retention_days: 1 });
    await patchSite(once, { retention_days: null });
    await pruneOld(NOW);
    expect([...(await idsOf(never)), ...(await idsOf(once))]).toEqual(ids);
  });

  it("retention deletes thousands of sessions over several runs, oldest first", async () => {
    const world = await World.create({}, home);
    await seedCustomer(world, "one of many", 1_000);
    await patchSite(world, { retention_days: 30 });
    const { removed } = await pruneAt(NOW, { statements: 60 });
    const first = await idsOf(world);
    expect(first.length).toBe(1_000 - (removed[home]?.sessions ?? 0));
    expect(first[0]).toBe(1_001 - first.length);
    await pruneOld(NOW);
    expect(await idsOf(world)).toEqual([]);
  });

  it("retention deletes sessions that have more participants than one batch takes", async () => {
    const world = await World.create({}, home);
    await seedCustomer(world, "crowd", 30);
    await databaseOf(home)
      .prepare(
        `WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 249)
         INSERT INTO participants SELECT ?, id, i, 1, created_at FROM n CROSS JOIN sessions WHERE site_id = ?`,
      )
      .bind(world.siteId, world.siteId)
      .run();
    await patchSite(world, { retention_days: 30 });
    await pruneOld(NOW);
    expect((await world.stored()).participants).toEqual([]);
    expect(await idsOf(world)).toEqual([]);
  });

  it("retention of one site goes on although another site's sessions cannot be deleted", async () => {
    const broken = await World.create({}, home);
    const world = await World.create({}, home);
    await aged(world, 50);
    await aged(broken, 60);
    for (const each of [world, broken]) await patchSite(each, { retention_days: 30 });
    await databaseOf(home).exec(
      `CREATE TRIGGER broken BEFORE DELETE ON sessions WHEN old.site_id = ${broken.siteId} BEGIN SELECT raise(ABORT, 'broken'); END`,
    );
    try {
      const { faults } = await pruneAt(NOW);
      expect(faults[home]?.sessions).toContain("broken");
    } finally {
      await databaseOf(home).exec("DROP TRIGGER broken");
    }
    expect([await idsOf(world), (await idsOf(broken)).length]).toEqual([[], 1]);
  });
});

describe("the retention of a site", () => {
  it("retention_days is refused unless it is an integer from 1 to 3650, or null", async () => {
    const world = await World.create();
    const message = "must be an integer from 1 to 3650, or null";
    for (const retention_days of [0, 1.5, -1, 3_651, "30", true]) {
      const { status, body } = await patchSite(world, { retention_days });
      expect([status, body]).toMatchObject([400, { errors: [{ field: "retention_days", message }] }]);
    }
    expect(await readSite(world)).toMatchObject({ retention_days: null });
  });

  it("only an owner may set retention_days; an operator's call with it changes nothing", async () => {
    const world = await World.create();
    const { token } = await newToken({ role: "operator" });
    const change = { name: "New", retention_days: 5 };
    const answer = await useToken(world, token, "PATCH", `/admin/sites/${world.siteId}`, change);
    expect(answer).toMatchObject({ status: 403, body: { reason: "role_too_low" } });
    const { name, retention_days } = await readSite(world);
    expect([name === "New", retention_days]).toEqual([false, null]);
  });

  it("GET /admin/sites/:site_id shows the retention, the oldest session and about how many sessions go; the audit log has the change", async () => {
    const world = await World.create();
    for (const days of [40, 35, 5]) await aged(world, days);
    expect(await readSite(world)).toMatchObject({ retention_days: null, sessions_to_go: null, deletion: null });
    expect((await patchSite(world, { retention_days: 30 })).body).toMatchObject({ retention_days: 30 });
    expect(await readSite(world)).toMatchObject({
      retention_days: 30,
      oldest_session_at: NOW - 40 * DAY,
      sessions_to_go: 2,
    });
    const { audit } = await world.operated();
    expect(audit.at(-1)).toMatchObject({ action: "site.retention_set", details: '{"from":null,"to":30}' });
    await pruneOld(NOW);
    expect(await readSite(world)).toMatchObject({ oldest_session_at: NOW - 5 * DAY, sessions_to_go: 0 });
  });

  it("a session deleted by retention is 404, like an unknown session", async () => {
    const world = await World.create();
    const id = await aged(world, 40);
    await patchSite(world, { retention_days: 30 });
    await pruneOld(NOW);
    const { envelope } = await world.add(id);
    expect(envelope).toEqual((await world.add(id + 1_000)).envelope);
    expect((await call(world, "GET", `/admin/sites/${world.siteId}/sessions/${id}`)).status).toBe(404);
  });
});
