import { expect, test } from "vitest";
import { type Carry, SimulatedD1 } from "./d1.ts";
import { Database } from "./database.ts";

/** test/simulation/conformance compares D1's answers. These tests are about the stand-in's own features. */

const TABLE = "CREATE TABLE t (a TEXT UNIQUE)";

test.each([
  ["PRAGMA", "PRAGMA table_info(t)", []],
  ["several statements in one text", "SELECT 1; SELECT 2", []],
  ["named parameters", "SELECT :a", ["x"]],
])("refuses what it does not simulate: %s", async (what, sql, values) => {
  const statement = new SimulatedD1(new Database()).prepare(sql).bind(...values);
  await expect(statement.all()).rejects.toThrow(`D1_ERROR: not simulated: ${what}`);
});

test("refuses text that is not well-formed, of which D1 makes other bytes than node:sqlite", () => {
  const statement = new SimulatedD1(new Database()).prepare("SELECT ?");
  expect(() => statement.bind("a\ud800")).toThrow("not simulated: text that is not well-formed");
  expect(() => statement.bind("🙂")).not.toThrow();
});

test("its carrier decides when the work is done, and what comes back", async () => {
  const database = new Database();
  database.execute(TABLE);
  let arrive = () => {};
  const carry: Carry = (_, work) =>
    new Promise((_resolve, reject) => {
      arrive = () => {
        work();
        reject(new Error("the answer was lost"));
      };
    });
  const answer = new SimulatedD1(database, carry).prepare("INSERT INTO t VALUES ('x')").run();
  expect(database.rows("t")).toEqual([]);
  arrive();
  await expect(answer).rejects.toThrow("the answer was lost");
  expect(database.rows("t")).toEqual([{ a: "x" }]);
});
