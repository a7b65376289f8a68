import { describe, expect, it } from "vitest";
import { risenReasons } from "../../../../src/http/console/sites/risen-reasons.ts";

const calls = (outcome: string, ...counts: number[]) => counts.map((count) => ({ outcome, count }));

describe("a reason of refused calls", () => {
  it.each([
    ["with 9 in 24 hours and none before", 9, 0, false],
    ["with 10 in 24 hours and none before", 10, 0, true],
    ["with exactly twice the daily mean", 20, 70, true],
    ["with less than twice the daily mean", 20, 71, false],
    ["with many, as on every day", 1_000, 7_000, false],
  ])("%s: risen is %s, %s, %s", (_, count, before, isRisen) => {
    const found = risenReasons(calls("timestamp_stale", count), calls("timestamp_stale", before));
    expect(found).toEqual(isRisen ? [{ reason: "timestamp_stale", count, daily: before / 7 }] : []);
  });

  it("is judged by the sum over hours, days, apps and operations", () => {
    const lastDay = calls("fields_invalid", 4, 5, 3);
    expect(risenReasons(lastDay, calls("fields_invalid", 20, 1))).toEqual([
      { reason: "fields_invalid", count: 12, daily: 3 },
    ]);
    expect(risenReasons(lastDay, calls("fields_invalid", 20, 23))).toEqual([]);
  });

  it("is judged by itself: another reason's week does not hide it", () => {
    expect(risenReasons(calls("app_limit", 12), calls("fields_invalid", 700)).map(({ reason }) => reason)).toEqual([
      "app_limit",
    ]);
  });

  it("stands before less frequent ones; of two as frequent ones the first by name", () => {
    const lastDay = [...calls("app_limit", 12), ...calls("site_limit", 30), ...calls("agents_invalid", 12)];
    expect(risenReasons(lastDay, []).map(({ reason }) => reason)).toEqual([
      "site_limit",
      "agents_invalid",
      "app_limit",
    ]);
  });
});
