import { describe, expect, it } from "vitest";
import { inColumns, LastLines, Totals } from "./report.ts";
import { countedFrom, derivedFrom } from "./seeds.ts";

describe("seeds", () => {
  it("a seed from a text is the first 31 bits of the SHA-256 of `text/number`", () => {
    // From: printf 'abc/1' | sha256sum
    expect([...derivedFrom("abc", 2)]).toEqual([1589492657, 803797833]);
  });

  it("seeds counted from a first one have no end when no count is given", () => {
    const seeds = countedFrom(5);
    expect([seeds.next().value, seeds.next().value, seeds.next().done]).toEqual([5, 6, false]);
  });
});

describe("the report", () => {
  it("the report's sums do not depend on the order of seeds, and answered and cut-off calls count as requests", () => {
    const results = [
      { elapsed: 0.1, seen: { "honest 200": 3, "isolate killed": 9 } },
      { elapsed: 3_600_000.4, seen: { "attacker cut off": 2, "honest 200": 1, "D1 slow for 200 ms": 4 } },
      { elapsed: 7_200_000.3, seen: {} },
    ];
    for (const order of [results, results.toReversed()]) {
      const totals = new Totals();
      for (const each of order) totals.add({ seed: 1, steps: 10, violation: undefined, ...each });
      expect(totals.amounts(1, 2).match(/[\d.]+/g)).toEqual(["30", "3", "6", "1.0", "30", "2"]);
      const seen = totals.seen.map(([kind, count]) => `${count} ${kind}`);
      expect(seen).toEqual(["9 isolate killed", "4 D1 slow for 200 ms", "4 honest 200", "2 attacker cut off"]);
    }
  });

  it("the report lists its counts down each column, in lines of at most 118 characters", () => {
    const counts = Array.from({ length: 10 }, (_, i) => [`kind number ${i}`, 1000 - i] as const);
    const lines = inColumns(counts).split("\n");
    expect(lines.map((line) => line.trim().split(/ {2,}/)[1])).toEqual(["kind number 0", "kind number 1"]);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(118);
    expect(inColumns([[`a very long kind ${"x".repeat(200)}`, 1]])).toMatch(/^ {2}1 {2}a very/);
    expect(inColumns([])).toBe("  nothing");
  });

  it("the report shows the last lines of the trace that mention one of the given names, or all lines without a name", () => {
    const keptLines = (about: string[]) => {
      const last = new LastLines(about, 3);
      for (const line of ["a call-1", "b call-12", "c xcall-1", "d call-12, call-1", "e (call-1)", "f site-2"])
        last.add(line);
      return `${last}`.split("\n  ");
    };
    const some = "The last 3 of 4 lines of its trace that mention call-1 or site-2:";
    expect(keptLines(["call-1", "site-2"])).toEqual([some, "d call-12, call-1", "e (call-1)", "f site-2"]);
    expect(keptLines([])[0]).toBe("The last 3 of 6 lines of its trace:");
  });
});
