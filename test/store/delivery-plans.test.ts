import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { renewFailedDeliveries, selectDeliveries } from "../../src/store/home/events.ts";
import { DeliveringWorker, fillDeliveries, setDeliveries } from "../support/deliveries.ts";
import { newWebhook } from "../support/new-webhook.ts";
import { replacing } from "../support/replacing.ts";
import { NOW, World } from "../support/world.ts";

afterEach(() => vi.unstubAllGlobals());

interface Ran {
  sql: string;
  plan: string[];
  read: number;
  written: number;
}

/** A database that records each statement's written rows, and how SQLite finds the statement's rows. */
function watched(): { db: D1Database; ran: Ran[] } {
  const ran: Ran[] = [];
  const bound = new WeakMap<object, { sql: string; values: unknown[] }>();
  const note = async (statement: D1PreparedStatement, { meta }: D1Result) => {
    const { sql, values } = bound.get(statement) ?? { sql: "", values: [] };
    const explained = env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`).bind(...values);
    const plan = (await explained.all<{ detail: string }>()).results.map(({ detail }) => detail);
    ran.push({ sql, plan, read: meta.rows_read, written: meta.rows_written });
  };
  const prepare = (sql: string) =>
    replacing(env.DB.prepare(sql), {
      bind: (...values: unknown[]) => {
        const statement = env.DB.prepare(sql).bind(...values);
        bound.set(statement, { sql, values });
        const { all, raw } = statement;
        const noted = async () => {
          const result = await all.apply(statement);
          await note(statement, result);
          return result;
        };
        return Object.assign(statement, { all: noted, raw: () => noted().then(() => raw.apply(statement)) });
      },
    });
  const batch = async (statements: D1PreparedStatement[]) => {
    const results = await env.DB.batch(statements);
    for (const [i, statement] of statements.entries()) await note(statement, results[i] as D1Result);
    return results;
  };
  return { db: replacing(env.DB, { prepare, batch }), ran };
}

const NOT_STORED = /^SCAN ((asked|each) VIRTUAL TABLE INDEX 1:|in_flight|waiting|CONSTANT ROW)$/;

const scansOf = (ran: Ran[]) =>
  ran.flatMap(({ plan }) => plan).filter((step) => step.startsWith("SCAN") && !NOT_STORED.test(step));

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
  it("find due deliveries by their index, however many others there are", async () => {
    const webhook = await busyWebhook();
    const { db, ran } = watched();
    const worker = new DeliveringWorker({ DB: db });
    await worker.deliver(webhook);
    expect(worker.posted).toHaveLength(3);
    expect(scansOf(ran)).toEqual([]);
    const [lease, held] = ran;
    expect(lease?.plan).toContainEqual(
      expect.stringMatching(
        /^SEARCH due USING COVERING INDEX deliveries_due \(site_id=\? AND webhook_id=\? AND next_attempt_at</,
      ),
    );
    expect(held?.plan).toContainEqual(
      expect.stringMatching(/^SEARCH held USING INDEX deliveries_due .*next_attempt_at=\?/),
    );
    for (const { sql, read } of ran) expect.soft(read, sql).toBeLessThan(25);
  });

  it("write two rows for a lease and one for a success", async () => {
    const webhook = await busyWebhook();
    const { db, ran } = watched();
    await new DeliveringWorker({ DB: db }).deliver(webhook);
    expect(ran.reduce((sum, { written }) => sum + written, 0)).toBe(3 * (2 + 1));
  });

  it("write two rows for a lease and two for a failure, and one when the webhook begins to fail", async () => {
    const webhook = await busyWebhook();
    const { db, ran } = watched();
    const worker = new DeliveringWorker({ DB: db });
    worker.receiver = () => new Response("", { status: 500 });
    await worker.deliver(webhook);
    expect(ran.reduce((sum, { written }) => sum + written, 0)).toBe(3 * (2 + 2) + 1);
  });
});

describe("failed deliveries", () => {
  it("are listed, counted and sent again by their own index", async () => {
    const webhook = await busyWebhook();
    await setDeliveries(webhook, "status = CASE WHEN seq IN (5, 9) THEN 'failed' ELSE status END");
    const { db, ran } = watched();
    expect(await selectDeliveries(db, webhook, "failed", 2_000, 10)).toMatchObject([{ seq: 9 }, { seq: 5 }]);
    expect(await renewFailedDeliveries(db, webhook, NOW)).toEqual({ redelivered: 2, remaining: 0 });
    const plans = ran.filter(({ sql }) => sql.includes("'failed'")).map(({ plan }) => plan);
    expect(plans).toHaveLength(3);
    for (const plan of plans) expect.soft(plan.join()).toContain("USING COVERING INDEX deliveries_failed");
  });
});

describe("the statement of the sweep", () => {
  it("goes from webhook to webhook by the index of due deliveries", async () => {
    await env.DB.prepare("DELETE FROM deliveries").run();
    await busyWebhook();
    const { db, ran } = watched();
    await new DeliveringWorker({ DB: db }).scheduled("* * * * *");
    expect(ran).toHaveLength(1);
    // Only the first webhook of all.
    expect(scansOf(ran)).toEqual(["SCAN next USING COVERING INDEX deliveries_due"]);
    for (const step of ran.flatMap(({ plan }) => plan).filter((text) => text.startsWith("SEARCH next"))) {
      expect(step).toContain("USING COVERING INDEX deliveries_due");
    }
    expect(ran[0]?.read).toBeLessThan(15);
  });
});
