import { describe, expect, it } from "vitest";
import { erase, eventsOn, seedCustomer } from "../../support/customers.ts";
import { databaseOf } from "../../support/homes.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import { replacing } from "../../support/replacing.ts";
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
  const inner = new WeakMap<object, D1PreparedStatement>();
  const note = <Result extends { meta: { rows_read: number } }>(result: Result) => {
    read += result.meta.rows_read;
    statements++;
    return result;
  };
  const wrap = (statement: D1PreparedStatement): D1PreparedStatement => {
    const all = async () => note(await statement.all());
    const wrapped = {
      bind: (...values: unknown[]) => wrap(statement.bind(...values)),
      all,
      run: all,
      raw: async () => {
        statements++;
        return statement.raw();
      },
    } as unknown as D1PreparedStatement;
    inner.set(wrapped, statement);
    return wrapped;
  };
  const counting = replacing(db, {
    prepare: (sql: string) => wrap(db.prepare(sql)),
    batch: async (list: D1PreparedStatement[]) => {
      const results = await db.batch(list.map((each) => inner.get(each) ?? each));
      return results.map((result) => note(result));
    },
  });
  const { status, body } = await erase(world.anotherIsolate({ HOME_APAC: counting }), { sbs: "x" });
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
