import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { systemRuntime } from "../../../src/core/runtime.ts";
import { pruneDeletedSites } from "../../../src/operators/store/pruning/prune-deleted-sites.ts";
import { pruneSessions } from "../../../src/operators/store/pruning/prune-sessions.ts";
import { CALL_RULES } from "../../../src/operators/usage/call-rules.ts";
import { countingDb } from "../../support/counting-db.ts";
import { seedCustomer } from "../../support/customers.ts";
import { databaseOf } from "../../support/homes.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import { DAY, endSite, patchSite, readSite } from "../../support/site-end.ts";
import { NOW, World } from "../../support/world.ts";

/** D1 charges for rows and runs one statement at a time, so deleting old sessions must not read a whole site. */

const HOME = "apac";
const DELETED_SESSIONS = 400;

/** When the n-th session of `seedCustomer` was created. */
const createdAt = (n: number) => 1_000 + n * 120;

/** A site with this many sessions, each with an event and a delivery. */
async function siteWith(sessions: number): Promise<World> {
  const world = await World.create({}, HOME);
  const webhook = await newWebhook(world);
  for (let i = 0; i < sessions; i += 200) await seedCustomer(world, `customer ${i}`, 200, 1 + i);
  await deliver(world, webhook.id);
  return world;
}

const deliver = ({ siteId }: World, webhookId: string) =>
  databaseOf(HOME)
    .prepare(
      `INSERT INTO deliveries (site_id, webhook_id, seq, status, attempts, created_at)
       SELECT site_id, ?2, seq, 'delivered', 1, created_at FROM events WHERE site_id = ?1`,
    )
    .bind(siteId, webhookId)
    .run();

/** What one run costs when the first `amount` sessions of this site are older than a day, and none of other sites. */
async function costOf(world: World, amount: number) {
  let [removed, read, written, statements] = [0, 0, 0, 0];
  const { db } = countingDb(databaseOf(HOME), {
    before: (count) => {
      statements += count;
    },
    after: ({ meta }) => {
      read += meta.rows_read;
      written += meta.rows_written;
    },
  });
  await patchSite(world, { retention_days: 1 });
  const now = createdAt(amount) + DAY;
  const limits = { chunkRows: 1_000, statementsLeft: 900, sessionEventTypes: [], callRules: CALL_RULES };
  const run = { runtime: systemRuntime, now, keptUntil: 0, journalKeptUntil: 0, auditKeptUntil: 0, ...limits };
  for await (const count of pruneSessions(run, db, { home: HOME })) removed += count;
  expect(900 - run.statementsLeft).toBe(statements);
  await patchSite(world, { retention_days: null });
  return { removed, read, written, statements };
}

describe("deleting 400 old sessions", () => {
  let few: Awaited<ReturnType<typeof costOf>>;
  beforeAll(async () => {
    few = await costOf(await siteWith(600), DELETED_SESSIONS);
  });

  it("deleting 400 old sessions reads at most 60 rows each and writes at most 6, also on a site with six times as many", async () => {
    const many = await costOf(await siteWith(3_600), DELETED_SESSIONS);
    expect([few.removed, many.removed]).toEqual([DELETED_SESSIONS, DELETED_SESSIONS]);
    expect(few.read).toBeLessThan(60 * DELETED_SESSIONS);
    expect(few.written).toBeLessThan(6 * DELETED_SESSIONS);
    expect(many.written).toBe(few.written);
    expect(many.read).toBeLessThan(1.05 * few.read);
  });

  it("deleting 200 old sessions takes at most 13 statements, so that 40 sessions a second can go", () => {
    const { statements } = few;
    // Two batches, one search that finds no more, and two searches for sites with old sessions.
    expect(statements).toBeLessThanOrEqual((DELETED_SESSIONS / 200) * 13 + 2 + 2);
    expect((900 / statements) * DELETED_SESSIONS).toBeGreaterThanOrEqual(40 * 300);
  });

  it("deleting old sessions does not read the first hour of events when their own events were pruned before", async () => {
    const world = await siteWith(600);
    const db = databaseOf(HOME);
    const border = createdAt(DELETED_SESSIONS);
    await db.prepare("DELETE FROM events WHERE site_id = ?").bind(world.siteId).run();
    await db
      .prepare(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
         INSERT INTO events SELECT ?1, 1000 + i, 'evt_hour_' || ?1 || '_' || i, 'session.agents_added', 599, ?2 + 1 + i * 3600 / 20000,
         '{"agent_ids":[2]}' FROM n`,
      )
      .bind(world.siteId, border)
      .run();
    const { removed, read } = await costOf(world, DELETED_SESSIONS);
    expect(removed).toBe(DELETED_SESSIONS);
    expect(read).toBeLessThan(60 * DELETED_SESSIONS);
  });

  it("deleting old sessions reads less than 250 rows each when agents were added to another session 40,000 times", async () => {
    const world = await siteWith(600);
    const run = (sql: string) => databaseOf(HOME).prepare(sql).bind(world.siteId).run();
    // Everything after the first hundred sessions is moved to a later time, behind these events.
    const later = 120 * 1_000;
    await run(
      `UPDATE events SET seq = seq + 100000, created_at = created_at + ${later} WHERE site_id = ? AND seq > 100`,
    );
    await run(`UPDATE sessions SET created_at = created_at + ${later} WHERE site_id = ? AND id > 100`);
    await run(`UPDATE participants SET added_at = added_at + ${later} WHERE site_id = ? AND session_id > 100`);
    await run(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
       INSERT INTO events SELECT ?1, 1000 + i, 'evt_added_' || ?1 || '_' || i, 'session.agents_added', 600, ${createdAt(101)} + i * 2,
       '{"agent_ids":[2]}' FROM n`,
    );
    const { removed, read } = await costOf(world, DELETED_SESSIONS + 1_000);
    expect(removed).toBe(DELETED_SESSIONS);
    expect(read).toBeLessThan(250 * DELETED_SESSIONS);
  });
});

it("a run that deletes a site counts each of its statements, so that Workers Free does not cut it off", async () => {
  const world = await World.create({}, HOME);
  await world.chatId();
  await endSite(world);
  let statements = 0;
  const before = (count: number) => {
    statements += count;
  };
  const counted = (db: D1Database) => countingDb(db, { before }).db;
  const limits = { chunkRows: 1_000, statementsLeft: 900, sessionEventTypes: [], callRules: CALL_RULES };
  const run = { runtime: systemRuntime, now: NOW, keptUntil: 0, journalKeptUntil: 0, auditKeptUntil: 0, ...limits };
  const where = { home: HOME, directory: counted(env.DB) };
  for await (const _ of pruneDeletedSites(run, counted(databaseOf(HOME)), where));
  expect((await readSite(world)).status).toBe("deleted");
  expect(900 - run.statementsLeft).toBe(statements);
});

it("a site without old sessions costs a few rows, however many sessions it has", async () => {
  const world = await siteWith(600);
  const { removed, read, statements } = await costOf(world, -1);
  expect([removed, statements]).toEqual([0, 1]);
  expect(read).toBeLessThan(10);
});
