import { expect, it } from "vitest";
import { createBatchText } from "../../bench/batch-text.ts";

it("the floor of the benchmark gets each statement of a create without events, with the names of its values", () => {
  const batch = createBatchText();
  const tables = batch.map(({ sql }) => /INSERT INTO (\w+)/.exec(sql)?.[1] ?? "");
  expect(tables).toEqual(["nonces", "customers", "sessions", "participants", "messages", ""]);
  for (const { sql, names } of batch) {
    const numbers = [...sql.matchAll(/\?(\d+)/g)].map(([, number]) => Number(number));
    expect([Math.max(...numbers), new Set(names).size]).toEqual([names.length, names.length]);
  }
});
