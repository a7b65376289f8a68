import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { countingDb } from "../../support/counting-db.ts";
import { erase, seedCustomer } from "../../support/customers.ts";
import { databaseOf } from "../../support/homes.ts";
import { eventsOn, newWebhook } from "../../support/new-webhook.ts";
import { World } from "../../support/world.ts";

/** D1 charges for rows and runs one statement at a time, so an erasure must not read a whole site. */

const ERASED = 100;

/**
 * Counts the rows that erasing a customer with 100 sessions reads, and the statements of the call.
 *
 * @param added how many agents were added to one old session of another customer, between the sessions of this one
 */
async function costAmong(others: number, added = 0): Promise<{ read: number; statements: number }> {
  const world = await World.create({}, "apac");
  const db = databaseOf("apac");
  const webhook = await newWebhook(world);
  await eventsOn(world);
  await seedCustomer(world, "x", ERASED / 2);
  for (let i = 0; i < others; i += 500) await seedCustomer(world, `other ${i}`, 500, ERASED + i);
  if (added > 0) await tellOfAdded(world, ERASED, ERASED + others, added);
  await seedCustomer(world, "x", ERASED / 2, ERASED + others + added + 1);
  await db
    .prepare(
      `INSERT INTO deliveries (site_id, webhook_id, seq, status, attempts, last_status, last_error, created_at)
       SELECT site_id, ?2, seq, 'failed', 8, 500, 'HTTP 500', created_at FROM events WHERE site_id = ?1`,
    )
    .bind(world.siteId, webhook.id)
    .run();
  let [read, statements] = [0, 0];
  const before = (count: number) => {
    statements += count;
  };
  const after = ({ meta }: D1Result) => {
    read += meta.rows_read;
  };
  const counting = { DB: countingDb(env.DB, { before }).db, HOME_APAC: countingDb(db, { before, after }).db };
  const { status, body } = await erase(world.anotherIsolate(counting), { sbs: "x" });
  const erased = { sessions: ERASED, events: ERASED, deliveries: ERASED };
  expect([status, body]).toMatchObject([200, { erased, remaining: 0 }]);
  return { read, statements };
}

/** Writes events of agents added to a session, as a program that works through old sessions leaves them. */
async function tellOfAdded({ siteId }: World, session: number, from: number, count: number): Promise<void> {
  const n = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)";
  await databaseOf("apac")
    .prepare(
      `${n} INSERT INTO events SELECT ?2, ?3 + i, 'evt_' || ?2 || '_' || i, 'session.agents_added', ?4, 1000 + (?3 + i) * 120,
       '{"agent_ids":[2]}' FROM n`,
    )
    .bind(count, siteId, from, session)
    .run();
}

it("a call about a customer does not read more rows on a site with a thousand erasures", async () => {
  const world = await World.create({}, "apac");
  const db = databaseOf("apac");
  const reads = async (sbs: string) => {
    let read = 0;
    const after = ({ meta }: D1Result) => {
      read += meta.rows_read;
    };
    const isolate = world.anotherIsolate({ HOME_APAC: countingDb(db, { after }).db });
    await world.chatId({ sbs });
    for (let i = 0; i < 2; i++) expect(await erase(isolate, { sbs })).toMatchObject({ body: { remaining: 0 } });
    return read;
  };
  const few = await reads("first");
  await db
    .prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
       INSERT INTO erasures SELECT ?, 'hash ' || i, 'erasure ' || i, NULL, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 0, '{}', 0, 0 FROM n`,
    )
    .bind(world.siteId)
    .run();
  expect(await reads("second")).toBeLessThan(few + 20);
});

describe("erasing 100 sessions", () => {
  it("erasing 100 sessions reads less than 200 rows each, and hardly more on a site with six times the sessions", async () => {
    const [few, many] = [await costAmong(500), await costAmong(3_000)];
    expect(few.read).toBeLessThan(200 * ERASED);
    expect(many.read).toBeLessThan(1.5 * few.read);
    // Workers Free allows 50 queries in an invocation.
    expect(many.statements).toBeLessThanOrEqual(45);
  });

  it("erasing 100 sessions reads hardly more when agents were added to old sessions 20,000 times", async () => {
    const [few, many] = [await costAmong(500), await costAmong(500, 20_000)];
    expect(many.read).toBeLessThan(2 * few.read);
  });
});
