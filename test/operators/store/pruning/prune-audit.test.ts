import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { AUDIT_ACTIONS, RECEIPTS } from "../../../../src/operators/store/operator-schema.ts";
import { replacing } from "../../../support/replacing.ts";
import { DAY, pruneAt } from "../../../support/site-end.ts";
import { NOW } from "../../../support/test-runtime.ts";

// The rows belong to no site, so this file has storage of its own.
beforeEach(async () => {
  await env.HOME_APAC.batch(["audit_log", "jobs"].map((table) => env.HOME_APAC.prepare(`DELETE FROM ${table}`)));
});

const put = (action: string, ...ages: number[]) =>
  env.HOME_APAC.batch(
    ages.map((age) =>
      env.HOME_APAC.prepare(
        "INSERT INTO audit_log (at, actor, action, subject, details) VALUES (?, 'console', ?, 's', '{}')",
      ).bind(NOW - age, action),
    ),
  );

/** Runs the pruner on the home apac. @returns the removed rows, and how many rows it read to find them */
async function run(auditDays = 730, chunkRows = 3) {
  let read = 0;
  const prepare = (sql: string) => {
    const statement = env.HOME_APAC.prepare(sql);
    if (!sql.includes("found.newest")) return statement;
    const bind = (...values: unknown[]) => {
      const bound = statement.bind(...values);
      const all = async () => {
        const result = await bound.all();
        read += result.meta.rows_read;
        return result;
      };
      return replacing(bound, { all });
    };
    return replacing(statement, { bind });
  };
  const homes = new Map([["apac", replacing(env.HOME_APAC, { prepare })]]);
  const { removed, faults } = await pruneAt(NOW, { chunkRows }, homes, { auditDays });
  expect(faults).toEqual({});
  return { removed: removed.apac?.audit_log, read };
}

const agesLeft = async () =>
  (
    await env.HOME_APAC.prepare("SELECT ? - at AS age FROM audit_log ORDER BY id").bind(NOW).all<{ age: number }>()
  ).results.map(({ age }) => age);

describe("pruning the audit log", () => {
  it("pruning removes an audit row after AUDIT_DAYS, to the second, in chunks", async () => {
    await put("agent.renamed", ...Array<number>(7).fill(731 * DAY), 730 * DAY, 730 * DAY - 1, 0);
    expect((await run()).removed).toBe(8);
    expect(await agesLeft()).toEqual([730 * DAY - 1, 0]);
    expect((await run()).removed).toBe(0);
    expect((await run(90)).removed).toBe(1);
    expect(await agesLeft()).toEqual([0]);
  });

  it("pruning never removes the audit rows about erasures and ends of sites", async () => {
    for (const action of AUDIT_ACTIONS) await put(action, 10_000 * DAY);
    await put("agent.renamed", 0);
    await run();
    const rows = await env.HOME_APAC.prepare("SELECT action FROM audit_log WHERE at < ? ORDER BY action")
      .bind(NOW)
      .all();
    expect(rows.results.map(({ action }) => action)).toEqual(RECEIPTS.toSorted());
    expect(RECEIPTS).toHaveLength(4);
  });

  it("pruning the audit log reads no receipt twice, and only the first of the rows that stay", async () => {
    await put("customer.erased", ...Array<number>(50).fill(800 * DAY));
    await put("agent.renamed", ...Array<number>(50).fill(0));
    expect(await run(730, 1_000)).toMatchObject({ removed: 0, read: expect.toSatisfy((read) => read > 50) });
    expect(await run(730, 1_000)).toMatchObject({
      removed: 0,
      read: expect.toSatisfy((read) => read > 0 && read <= 5),
    });
    expect(await agesLeft()).toHaveLength(100);
  });

  it("pruning never removes the newest audit row, so that no id is given twice", async () => {
    await put("agent.renamed", 800 * DAY, 800 * DAY);
    await run();
    await put("agent.renamed", 0);
    const ids = await env.HOME_APAC.prepare("SELECT id FROM audit_log ORDER BY id").all();
    expect(ids.results).toEqual([{ id: 2 }, { id: 3 }]);
  });

  it("pruning removes an audit row that is out of order when the row before it is old", async () => {
    await put("agent.renamed", 731 * DAY, 700 * DAY, 731 * DAY, 0);
    expect((await run()).removed).toBe(1);
    expect((await run(700)).removed).toBe(2);
    expect(await agesLeft()).toEqual([0]);
  });
});
