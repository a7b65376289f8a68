import { beforeEach, describe, expect, it } from "vitest";
import { SESSION_EVENT_TYPES } from "../../../../src/core/operations/index.ts";
import { findOldSessions, SESSIONS_PER_BATCH } from "../../../../src/operators/store/home/old-sessions.ts";
import { databaseOf } from "../../../support/homes.ts";
import { NOW, World } from "../../../support/world.ts";

/** How much one batch deletes while signed calls wait for it. See docs/decisions.md, "Age, and the end of a site". */

let world: World;

beforeEach(async () => {
  world = await World.create({}, "apac");
});

/** Writes 250 sessions of one participant, each with its event and one delivery per webhook. */
async function seed(webhooks: number): Promise<void> {
  const { siteId, appid } = world;
  const n = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250)";
  const inserts = [
    `INSERT INTO customers VALUES (${siteId}, 'x', 'x', '::1', 0, 0)`,
    `${n} INSERT INTO sessions (site_id, id, appid, kind, customer_external_id, responsible_agent_id, status, auto_title, created_at)
      SELECT ${siteId}, i, '${appid}', 'ticket', 'x', 1, 'waiting', 'T', ${NOW} + i FROM n`,
    `${n} INSERT INTO participants SELECT ${siteId}, i, 1, 1, ${NOW} + i FROM n`,
    `${n} INSERT INTO events SELECT ${siteId}, i, 'evt_${siteId}_' || i, 'session.created', i, ${NOW} + i, '{"participants":[{}]}' FROM n`,
    ...Array.from(
      { length: webhooks },
      (_, at) => `${n} INSERT INTO deliveries (site_id, webhook_id, seq, status, attempts, created_at)
        SELECT ${siteId}, 'whk_${siteId}_${at}', i, 'delivered', 1, ${NOW} + i FROM n`,
    ),
  ];
  await databaseOf(world.home).batch(inserts.map((insert) => databaseOf(world.home).prepare(insert)));
}

async function find() {
  const old = { siteId: world.siteId, home: world.home, retentionDays: 30, createdUntil: NOW + 1_000 };
  const { foundSessions, ...rest } = await findOldSessions(databaseOf(world.home), old, SESSION_EVENT_TYPES);
  const lengths = [foundSessions?.chatIds, foundSessions?.seqs].map((list) => JSON.parse(list ?? "[]").length);
  return { sessions: lengths[0], events: lengths[1], hasMore: rest.hasMore };
}

describe("a batch of old sessions", () => {
  it.each([0, 1, 4])(
    `a batch of old sessions has ${SESSIONS_PER_BATCH} sessions on a site with %d webhooks`,
    async (webhooks) => {
      await seed(webhooks);
      expect(await find()).toEqual({ sessions: SESSIONS_PER_BATCH, events: SESSIONS_PER_BATCH, hasMore: true });
    },
  );

  it("a batch of old sessions has at most 1,000 participants and deliveries, including those of deleted webhooks", async () => {
    await seed(10);
    expect(await find()).toEqual({ sessions: 90, events: 90, hasMore: true });
  });

  it("a batch of old sessions counts no deliveries of pruned events", async () => {
    await seed(10);
    await databaseOf(world.home).prepare("DELETE FROM events WHERE site_id = ?").bind(world.siteId).run();
    expect(await find()).toEqual({ sessions: SESSIONS_PER_BATCH, events: 0, hasMore: true });
  });

  it("a batch of old sessions has one session even when that session alone is over the limit", async () => {
    await seed(0);
    const crowd = `WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 1001)
      INSERT INTO participants SELECT ${world.siteId}, 1, i, 1, ${NOW} + 1 FROM n`;
    await databaseOf(world.home).prepare(crowd).run();
    expect(await find()).toEqual({ sessions: 1, events: 1, hasMore: true });
  });
});
