import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { replacing } from "../../../support/replacing.ts";
import { DAY, pruneAt } from "../../../support/site-end.ts";
import { NOW, World } from "../../../support/world.ts";

/** The latest time at which an event is too old, with a retention of 30 days. */
const OLD = NOW - 30 * DAY;

// Most tests use apac, because a run has more to do in main, which also has the tables of the console.
const sql = (text: string, ...values: (string | number | null)[]) => env.HOME_APAC.prepare(text).bind(...values);

// This file has storage of its own, and each test clears it, so that no test prunes rows of another one.
beforeEach(async () => {
  await env.HOME_APAC.batch(["events", "deliveries"].map((table) => sql(`DELETE FROM ${table}`)));
});

async function runOnce(now = NOW, days = 30, chunkRows = 10_000, db = env.HOME_APAC): Promise<Record<string, number>> {
  const settings = { eventRetentionDays: days };
  const { removed, faults } = await pruneAt(now, { chunkRows }, new Map([["apac", db]]), settings);
  expect(faults).toEqual({});
  return removed.apac ?? {};
}

/** Writes events of a site with the seqs 1 to count. The first `old` are too old. */
const putEvents = ({ siteId }: World, count: number, old: number) =>
  sql(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO events SELECT ?, i, 'evt_' || i, 'session.created', 1, iif(i <= ?, ?, ?), '{}' FROM n`,
    count,
    siteId,
    old,
    OLD,
    OLD + 1,
  ).run();

const seqsOf = async ({ siteId }: World) =>
  (await sql("SELECT seq FROM events WHERE site_id = ? ORDER BY seq", siteId).all()).results.map(({ seq }) => seq);

async function putWebhook({ siteId }: World, id: string): Promise<void> {
  await sql(
    `INSERT INTO webhooks (site_id, id, url, events, status, version, secret, created_at)
     VALUES (?, ?, 'https://hooks.example.com/', '[]', 'enabled', ?, 'sealed', 1)`,
    siteId,
    id,
    id,
  ).run();
}

const putDelivery = ({ siteId }: World, webhook: string, seq: number, status: string, createdAt: number) =>
  sql(
    "INSERT INTO deliveries (site_id, webhook_id, seq, status, attempts, created_at) VALUES (?, ?, ?, ?, 1, ?)",
    siteId,
    webhook,
    seq,
    status,
    createdAt,
  ).run();

async function deliveriesOf({ siteId }: World): Promise<string[]> {
  const query = "SELECT webhook_id, seq FROM deliveries WHERE site_id = ? ORDER BY webhook_id, seq";
  return (await sql(query, siteId).all()).results.map(({ webhook_id, seq }) => `${webhook_id} ${seq}`);
}

describe("pruning events", () => {
  it("pruning events works in main as in another home", async () => {
    const { siteId } = await World.create();
    const row = "SELECT ?, value, 'evt_' || value, 'session.created', 1, ?, '{}' FROM json_each('[1, 2, 3]')";
    await env.DB.prepare(`INSERT INTO events ${row}`).bind(siteId, OLD).run();
    const { removed } = await pruneAt(NOW, {}, new Map([["main", env.DB]]), { eventRetentionDays: 30 });
    // The newest event stays.
    expect(removed.main?.events).toBe(2);
  });

  it("pruning removes exactly the events that have reached the age limit", async () => {
    const world = await World.create({}, "apac");
    await putEvents(world, 5, 3);
    expect((await runOnce()).events).toBe(3);
    expect(await seqsOf(world)).toEqual([4, 5]);
    expect((await runOnce(NOW, 31)).events).toBe(0);
    expect((await runOnce(NOW + 1)).events).toBe(1);
  });

  it("pruning never removes the newest event of a site, so that no seq is given twice", async () => {
    const [one, many] = [await World.create({}, "apac"), await World.create({}, "apac")];
    await putEvents(one, 1, 1);
    await putEvents(many, 4, 4);
    await runOnce();
    expect([await seqsOf(one), await seqsOf(many)]).toEqual([[1], [4]]);
    expect((await runOnce(NOW + 365 * DAY)).events).toBe(0);
    await sql("UPDATE home_sites SET events = 1 WHERE site_id = ?", many.siteId).run();
    await many.chatId();
    expect(await seqsOf(many)).toEqual([4, 5]);
  });

  it.each([
    [7, 40],
    [700, 2_500],
    [10_000, 2_500],
  ])("pruning events goes on until no old one is left, in chunks of %d", async (chunkRows, count) => {
    const [some, more] = [await World.create({}, "apac"), await World.create({}, "apac")];
    await putEvents(some, 40, 33);
    await putEvents(more, count, count);
    expect((await runOnce(NOW, 30, chunkRows)).events).toBe(33 + count - 1);
    expect([(await seqsOf(some))[0], await seqsOf(more)]).toEqual([34, [count]]);
  });

  it("pruning events goes on after the seqs that a restore skipped", async () => {
    const world = await World.create({}, "apac");
    await putEvents(world, 3, 3);
    await sql("UPDATE events SET seq = seq + 1000000 WHERE site_id = ? AND seq > 1", world.siteId).run();
    expect((await runOnce()).events).toBe(2);
    expect(await seqsOf(world)).toEqual([1_000_003]);
  });

  it("pruning an event removes the receiver's answers to it and skips its pending deliveries, running ones too", async () => {
    const world = await World.create({}, "apac");
    await putEvents(world, 4, 3);
    await putWebhook(world, "wh_a");
    for (const seq of [1, 2, 4]) await putDelivery(world, "wh_a", seq, "pending", NOW);
    await putDelivery(world, "wh_a", 3, "delivered", NOW);
    await sql("UPDATE deliveries SET last_error = 'HTTP 500: Ada', claim = 'lease', next_attempt_at = 9").run();
    expect((await runOnce()).events).toBe(3);
    const { results } = await sql(
      "SELECT status, last_error, claim, next_attempt_at FROM deliveries ORDER BY seq",
    ).all();
    const empty = { last_error: null, claim: null, next_attempt_at: null };
    expect(results).toEqual([
      { status: "skipped", ...empty },
      { status: "skipped", ...empty },
      { status: "delivered", ...empty },
      { status: "pending", last_error: "HTTP 500: Ada", claim: "lease", next_attempt_at: 9 },
    ]);
  });

  it("pruning reads few of the events that stay", async () => {
    const world = await World.create({}, "apac");
    await putEvents(world, 500, 0);
    let read = 0;
    const ofPruning = new Set<D1PreparedStatement>();
    const prepare = (text: string) => ({
      bind: (...values: unknown[]) => {
        const bound = env.HOME_APAC.prepare(text).bind(...values);
        if (!/^(SELECT EXISTS .*|delete from )"events"/.test(text)) return bound;
        ofPruning.add(bound);
        return Object.assign(bound, { all: async () => (await batch([bound]))[0] });
      },
    });
    const batch = async (list: D1PreparedStatement[]) => {
      const results = await env.HOME_APAC.batch(list);
      for (const [i, { meta }] of results.entries()) if (ofPruning.has(list[i] as never)) read += meta.rows_read;
      return results;
    };
    await runOnce(NOW, 30, 10_000, replacing(env.HOME_APAC, { prepare, batch } as never));
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThan(100);
  });
});

describe("what an older release wrote about webhooks", () => {
  it("pruning removes the errors that an older release stored in webhooks, and keeps what the current one writes", async () => {
    const world = await World.create({}, "apac");
    for (const id of ["a", "b", "c"]) await putWebhook(world, `wh_${id}`);
    const set = (id: string, values: string) => sql(`UPDATE webhooks SET ${values} WHERE id = ?`, `wh_${id}`).run();
    const now = "last_cause = 'no_answer', last_failed_at = 7, last_seq = 1";
    await set("a", `${now}, failing_since = 5, last_status = 500, last_error = 'HTTP 500: Ada'`);
    await set("b", now);
    await set("c", `${now}, failing_since = 5`);
    await runOnce();
    const columns = "last_error, last_cause, last_failed_at, last_seq";
    const { results } = await sql(`SELECT ${columns} FROM webhooks WHERE site_id = ? ORDER BY id`, world.siteId).all();
    expect(results.map((row) => Object.values(row))).toEqual([
      [null, "status", null, null],
      [null, null, null, null],
      [null, "no_answer", 7, 1],
    ]);
  });
});

describe("pruning deliveries", () => {
  it("pruning removes deliveries of old events, except pending ones", async () => {
    const world = await World.create({}, "apac");
    await putWebhook(world, "wh_a");
    await putWebhook(world, "wh_b");
    await putDelivery(world, "wh_a", 1, "delivered", OLD);
    await putDelivery(world, "wh_a", 2, "pending", OLD);
    await putDelivery(world, "wh_a", 3, "failed", OLD);
    await putDelivery(world, "wh_a", 4, "delivered", OLD + 1);
    await putDelivery(world, "wh_b", 1, "pending", OLD);
    await putDelivery(world, "wh_b", 2, "skipped", OLD);
    expect((await runOnce()).deliveries).toBe(3);
    expect(await deliveriesOf(world)).toEqual(["wh_a 2", "wh_a 4", "wh_b 1"]);
  });

  it("pruning removes all deliveries of deleted webhooks, however young, and none of other webhooks", async () => {
    const [world, other] = [await World.create({}, "apac"), await World.create({}, "apac")];
    await putWebhook(world, "wh_b");
    await putWebhook(other, "wh_a");
    for (const webhook of ["wh_a", "wh_b", "wh_c"]) {
      for (const [i, status] of ["delivered", "failed", "pending"].entries()) {
        await putDelivery(world, webhook, i + 1, status, NOW);
        if (webhook === "wh_a") await putDelivery(other, webhook, i + 1, status, NOW);
      }
    }
    expect((await runOnce(NOW, 30, 2)).deliveries).toBe(6);
    expect(await deliveriesOf(world)).toEqual(["wh_b 1", "wh_b 2", "wh_b 3"]);
    expect(await deliveriesOf(other)).toEqual(["wh_a 1", "wh_a 2", "wh_a 3"]);
  });

  it("pruning deliveries reads two rows for each webhook when nothing is to be removed", async () => {
    const world = await World.create({}, "apac");
    await putWebhook(world, "wh_a");
    for (let seq = 1; seq <= 50; seq++) await putDelivery(world, "wh_a", seq, "delivered", NOW);
    let read = 0;
    const prepare = (text: string) => ({
      bind: (...values: unknown[]) => {
        const bound = env.HOME_APAC.prepare(text).bind(...values);
        const run = async () => {
          const [result] = await env.HOME_APAC.batch([bound]);
          if (text.includes("RECURSIVE")) read += result?.meta.rows_read ?? 0;
          return result;
        };
        return replacing(bound, { run });
      },
    });
    await runOnce(NOW, 30, 10_000, replacing(env.HOME_APAC, { prepare }));
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThan(30);
  });
});
