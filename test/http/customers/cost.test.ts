import { describe, expect, it } from "vitest";
import { countingDb } from "../../support/counting-db.ts";
import { erase, eventsOn, seedCustomer } from "../../support/customers.ts";
import { databaseOf } from "../../support/homes.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import { World } from "../../support/world.ts";

/** D1 charges for rows, and runs one statement at a time: an erasure must not read a whole site. */

const ERASED = 100;

/** The rows that erasing a customer with 100 sessions reads, among so many sessions of others; and the statements of the call. */
async function costAmong(others: number): Promise<{ read: number; statements: number }> {
  const world = await World.create({}, "apac");
  const db = databaseOf("apac");
  await newWebhook(world);
  await eventsOn(world);
  await seedCustomer(world, "x", ERASED / 2);
  for (let i = 0; i < others; i += 500) await seedCustomer(world, `other ${i}`, 500, ERASED + i);
  await seedCustomer(world, "x", ERASED / 2, ERASED + others + 1);
  let [read, statements] = [0, 0];
  const counting = countingDb(db, {
    before: (count) => {
      statements += count;
    },
    after: ({ meta }) => {
      read += meta.rows_read;
    },
  });
  const { status, body } = await erase(world.anotherIsolate({ HOME_APAC: counting.db }), { sbs: "x" });
  expect([status, body]).toMatchObject([200, { erased: { sessions: ERASED, events: ERASED }, remaining: 0 }]);
  return { read, statements };
}

describe("erasing 100 sessions", () => {
  it("reads about a hundred rows for each, and hardly more on a site with six times the sessions", async () => {
    const [few, many] = [await costAmong(500), await costAmong(3_000)];
    expect(few.read).toBeLessThan(150 * ERASED);
    expect(many.read).toBeLessThan(1.5 * few.read);
    // Workers Free allows 50 queries in an invocation, and some of them go to the directory.
    expect(many.statements).toBeLessThan(40);
  });
});
