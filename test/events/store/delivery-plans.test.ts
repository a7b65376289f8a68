import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import numbers from "../../../docs/numbers.json";
import { selectDeliveries } from "../../../src/operators/store/home/events.ts";
import { selectWebhook } from "../../../src/operators/store/home/read-webhooks.ts";
import { selectRecents } from "../../../src/operators/store/home/recent-deliveries.ts";
import {
  type RedeliveredStatus,
  type RedeliveryFilter,
  renewDeliveries,
} from "../../../src/operators/store/home/redeliver-many.ts";
import { DeliveringWorker, fillDeliveries, setDeliveries } from "../../support/deliveries.ts";
import { newWebhook, type TestWebhook } from "../../support/new-webhook.ts";
import { replacing } from "../../support/replacing.ts";
import { runtimeAt } from "../../support/test-runtime.ts";
import { NOW, World } from "../../support/world.ts";

afterEach(() => vi.unstubAllGlobals());

interface RanStatement {
  sql: string;
  plan: string[];
  rowsRead: number;
  rowsWritten: number;
}

/** A database that records the written rows and the query plan of each statement. */
function watch(): { db: D1Database; statements: RanStatement[] } {
  const statements: RanStatement[] = [];
  const sources = new WeakMap<object, { sql: string; values: unknown[] }>();
  const note = async (statement: D1PreparedStatement, { meta }: D1Result) => {
    const { sql, values } = sources.get(statement) ?? { sql: "", values: [] };
    const planQuery = env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`).bind(...values);
    const plan = (await planQuery.all<{ detail: string }>()).results.map(({ detail }) => detail);
    statements.push({ sql, plan, rowsRead: meta.rows_read, rowsWritten: meta.rows_written });
  };
  const prepare = (sql: string) =>
    replacing(env.DB.prepare(sql), {
      bind: (...values: unknown[]) => {
        const statement = env.DB.prepare(sql).bind(...values);
        sources.set(statement, { sql, values });
        const { all, raw } = statement;
        const allAndNote = async () => {
          const result = await all.apply(statement);
          await note(statement, result);
          return result;
        };
        return Object.assign(statement, { all: allAndNote, raw: () => allAndNote().then(() => raw.apply(statement)) });
      },
    });
  const batch = async (statements: D1PreparedStatement[]) => {
    const results = await env.DB.batch(statements);
    for (const [i, statement] of statements.entries()) await note(statement, results[i] as D1Result);
    return results;
  };
  return { db: replacing(env.DB, { prepare, batch }), statements };
}

const NOT_STORED =
  /^SCAN ((asked|each) VIRTUAL TABLE INDEX 1:|health|in_flight|longest|never_tried|waiting|webhook|search|step|looked|begin|newest|\(subquery-\d+\)|json_each VIRTUAL TABLE INDEX 1:|wanted VIRTUAL TABLE INDEX 1:|CONSTANT ROW)( LEFT-JOIN)?$/;

const scansOf = (statements: RanStatement[]) =>
  statements.flatMap(({ plan }) => plan).filter((step) => step.startsWith("SCAN") && !NOT_STORED.test(step));

/** A webhook with three due deliveries, beside a thousand that wait for their next attempt and a thousand that have ended. */
async function busyWebhook() {
  const webhook = await newWebhook(await World.create());
  await fillDeliveries(webhook, 2_003);
  await setDeliveries(
    webhook,
    `status = CASE WHEN seq > 1003 THEN 'delivered' ELSE 'pending' END,
     next_attempt_at = CASE WHEN seq <= 3 THEN ${NOW - 9} WHEN seq <= 1003 THEN ${NOW} + seq * 60 END`,
  );
  return webhook;
}

describe("the statements of the delivery", () => {
  it("a lease finds due deliveries by index and writes two rows, a success writes one, and a batch of results one", async () => {
    const webhook = await busyWebhook();
    const { db, statements } = watch();
    const worker = new DeliveringWorker({ DB: db });
    await worker.deliver(webhook);
    expect(worker.posted).toHaveLength(3);
    expect(scansOf(statements)).toEqual([]);
    const [lease, selection] = statements;
    expect(lease?.plan).toContainEqual(
      expect.stringMatching(
        /^SEARCH due USING COVERING INDEX deliveries_due \(site_id=\? AND webhook_id=\? AND next_attempt_at</,
      ),
    );
    expect(selection?.plan).toContainEqual(
      expect.stringMatching(/^SEARCH held USING INDEX deliveries_due .*next_attempt_at=\?/),
    );
    for (const { sql, rowsRead } of statements) expect.soft(rowsRead, sql).toBeLessThan(40);
    expect(statements.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0)).toBe(3 * (2 + 1) + 1);
    expect(numbers.results["rows.delivery"].value).toBe(2 + 1 + 1);
  });

  it("a lease writes two rows, a failure two, and a batch of failures two, one of them at the webhook", async () => {
    const webhook = await busyWebhook();
    const { db, statements } = watch();
    const worker = new DeliveringWorker({ DB: db });
    worker.receiver = () => new Response("", { status: 500 });
    await worker.deliver(webhook);
    expect(statements.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0)).toBe(3 * (2 + 2) + 2 * 2);
  });
});

it("failed deliveries are listed and counted by their own index", async () => {
  const webhook = await busyWebhook();
  await setDeliveries(webhook, "status = CASE WHEN seq IN (5, 9) THEN 'failed' ELSE status END");
  const { db, statements } = watch();
  expect(await selectDeliveries(db, webhook, "failed", { before: 2_000 }, 10)).toMatchObject([{ seq: 9 }, { seq: 5 }]);
  expect(await selectWebhook(db, webhook)).toMatchObject({ failed: 2, pending: 1_001 });
  const plans = statements.filter(({ sql }) => sql.includes("'failed'")).map(({ plan }) => plan);
  expect(plans).toHaveLength(2);
  for (const plan of plans) expect.soft(plan.join()).toContain("USING COVERING INDEX deliveries_failed");
});

it("the recent results of a webhook are read from its 1,000 newest deliveries, and from their copy", async () => {
  const webhook = await busyWebhook();
  const { db, statements } = watch();
  const [recent] = await selectRecents(db, webhook.siteId, [{ ...webhook, healthSince: null }], NOW);
  expect(recent).toMatchObject({ delivered: 1_000, tried: 1_000, isCut: true });
  expect(statements).toHaveLength(1);
  expect(statements[0]?.rowsRead).toBeLessThan(3_010);
});

it("the counts of a webhook read at most 10,000 deliveries of each status, twice for the oldest one", async () => {
  const webhook = await newWebhook(await World.create());
  await fillDeliveries(webhook, 20_100);
  await setDeliveries(webhook, "status = iif(seq > 10050, 'failed', 'pending')");
  const { db, statements } = watch();
  expect(await selectWebhook(db, webhook)).toMatchObject({ pending: 10_000, failed: 10_000 });
  expect(statements[0]?.rowsRead).toBeLessThan(30_010);
  expect(scansOf(statements)).toEqual([]);
});

describe("a step of sending again", () => {
  /** A webhook with 30,000 events, 10 in each of 3,000 seconds. Two of them failed, two are pending, and all others are delivered. */
  let webhook: TestWebhook;
  beforeAll(async () => {
    webhook = await newWebhook(await World.create());
    await fillDeliveries(webhook, 30_000);
    await setDeliveries(
      webhook,
      `created_at = ${NOW} - 3000 + seq / 10, next_attempt_at = iif(seq IN (8000, 29000), ${NOW} + seq, NULL),
       status = CASE WHEN seq IN (9000, 28000) THEN 'failed' WHEN seq IN (8000, 29000) THEN 'pending' ELSE 'delivered' END`,
    );
    await env.DB.prepare("UPDATE events SET created_at = ? - 3000 + seq / 10 WHERE site_id = ?")
      .bind(NOW, webhook.siteId)
      .run();
  });
  const step = (status: RedeliveredStatus[], more: Partial<RedeliveryFilter> = {}) => ({
    status,
    since: undefined,
    until: NOW,
    afterSeq: undefined,
    keptUntil: 0,
    ...more,
  });
  const author = { actor: "admin-api", now: NOW, requestId: "a call", who: null, address: null } as const;
  const runtime = runtimeAt(() => NOW * 1000);
  const ofStep = async (filter: RedeliveryFilter, isDry = true, of = webhook) => {
    const { db, statements } = watch();
    const done = await renewDeliveries(runtime, db, of, filter, author, isDry);
    return { done, statements, rowsRead: statements.reduce((sum, { rowsRead }) => sum + rowsRead, 0) };
  };

  it("sending again starts at the first delivery that failed or is pending", async () => {
    const { done, statements, rowsRead } = await ofStep(step(["failed", "pending"]));
    expect(done).toMatchObject({ matched: 2, nextAfterSeq: 12_999 });
    expect(scansOf(statements)).toEqual([]);
    expect(statements[0]?.plan.join()).toContain("SEARCH deliveries USING COVERING INDEX deliveries_due");
    expect(rowsRead).toBeLessThan(4 * 5_000 + 400);
  });

  it("sending again continues at the next delivery that failed or is pending", async () => {
    const { done, rowsRead } = await ofStep(step(["failed", "pending"], { afterSeq: 12_999 }));
    expect(done).toMatchObject({ matched: 2, nextAfterSeq: null });
    expect(rowsRead).toBeLessThan(4 * 2_001 + 400);
  });

  it.each<[RedeliveredStatus[], number]>([
    [["delivered"], 100],
    [["missed"], 0],
    [["missed", "delivered", "failed", "pending"], 100],
  ])("sending again finds a time by a binary search over seq: %s", async (status, matched) => {
    const { done, statements, rowsRead } = await ofStep(step(status, { since: NOW - 1_000, until: NOW - 991 }));
    expect(done).toMatchObject({ matched, nextAfterSeq: null });
    expect(scansOf(statements)).toEqual([]);
    expect(rowsRead).toBeLessThan(4 * 5_000 + 400);
  });

  it("sending again reads no more rows when very many deliveries are pending", async () => {
    const busy = await newWebhook(webhook);
    await fillDeliveries(busy, 12_000);
    const { done, rowsRead } = await ofStep(step(["pending"]), true, busy);
    expect(done).toMatchObject({ matched: 5_000, nextAfterSeq: 5_000 });
    expect(rowsRead).toBeLessThan(10_001 + 4 * 5_000 + 400);
  });

  // This test is the last one, because it changes the failed deliveries.
  it("sending again finds failed deliveries by their index, wherever they are", async () => {
    const { done, statements, rowsRead } = await ofStep(step(["failed"]), false);
    expect(done).toMatchObject({ queued: 2, nextAfterSeq: null });
    expect(scansOf(statements)).toEqual([]);
    expect(statements[0]?.plan.join()).toContain("SEARCH deliveries USING INDEX deliveries_failed");
    expect(rowsRead).toBeLessThan(400);
  });
});

it("the sweep's statement goes from webhook to webhook by the index of due deliveries", async () => {
  await env.DB.prepare("DELETE FROM deliveries").run();
  await busyWebhook();
  const { db, statements } = watch();
  await new DeliveringWorker({ DB: db }).scheduled("* * * * *");
  expect(statements).toHaveLength(1);
  // Only the search for the first webhook scans the index.
  expect(scansOf(statements)).toEqual(["SCAN next USING COVERING INDEX deliveries_due"]);
  for (const step of statements.flatMap(({ plan }) => plan).filter((text) => text.startsWith("SEARCH next"))) {
    expect(step).toContain("USING COVERING INDEX deliveries_due");
  }
  expect(statements[0]?.rowsRead).toBeLessThan(15);
});
