import { describe, expect, it } from "vitest";
import { LastLines } from "./last-lines.ts";
import { inColumns } from "./report.ts";
import { countedFrom, derivedFrom, MOST_SEED } from "./seeds.ts";
import { Totals } from "./totals.ts";

describe("seeds that a text gives", () => {
  it("are the first 31 bits of SHA-256 of the text, a slash and their number", () => {
    // From: printf 'abc/1' | sha256sum
    expect([...derivedFrom("abc", 2)]).toEqual([1589492657, 803797833]);
  });

  it("are others for another text", () => {
    const seeds = ["a", "b"].flatMap((text) => [...derivedFrom(text, 1000)]);
    expect(new Set(seeds).size).toBe(2000);
    expect(Math.max(...seeds)).toBeLessThanOrEqual(MOST_SEED);
  });

  it("have no end unless it is given", () => {
    const seeds = countedFrom(5);
    expect([seeds.next().value, seeds.next().value, seeds.next().done]).toEqual([5, 6, false]);
  });
});

describe("Totals", () => {
  const result = (elapsed: number, seen: Record<string, number>) => ({
    seed: 1,
    steps: 10,
    elapsed,
    seen,
    violation: undefined,
  });

  it("are the same in any order, and count what was answered or cut off as requests", () => {
    const results = [
      result(0.1, { "honest 200": 3, "isolate killed": 9 }),
      result(3_600_000.4, { "attacker cut off": 2, "honest 200": 1, "D1 slow for 200 ms": 4 }),
      result(7_200_000.3, {}),
    ];
    for (const order of [results, results.toReversed()]) {
      const totals = new Totals();
      for (const each of order) totals.add(each);
      expect(totals).toMatchObject({ seeds: 3, steps: 30, hours: 3, requests: 6 });
      expect(totals.seen).toEqual([
        ["isolate killed", 9],
        ["D1 slow for 200 ms", 4],
        ["honest 200", 4],
        ["attacker cut off", 2],
      ]);
    }
  });
});

describe("inColumns", () => {
  it("goes down each column, in lines that fit", () => {
    const counts = Array.from({ length: 10 }, (_, i) => [`kind number ${i}`, 1000 - i] as const);
    const lines = inColumns(counts).split("\n");
    expect(lines.map((line) => line.trim().split(/ {2,}/)[1])).toEqual(["kind number 0", "kind number 1"]);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(118);
    expect(inColumns([[`a very long kind ${"x".repeat(200)}`, 1]])).toMatch(/^ {2}1 {2}a very/);
    expect(inColumns([])).toBe("  nothing");
  });
});

describe("LastLines", () => {
  const kept = (about: string[], lines: string[]) => {
    const last = new LastLines(about, 3);
    for (const line of lines) last.add(line);
    return [last.count, last.lines];
  };

  it("keeps the last lines that mention a name, whole", () => {
    const lines = [
      "a call-1",
      "b call-12",
      "c xcall-1",
      "d call-12, call-1",
      "e (call-1): 200",
      "f site-2",
      "g call-1",
    ];
    expect(kept(["call-1", "site-2"], lines)).toEqual([5, ["e (call-1): 200", "f site-2", "g call-1"]]);
  });

  it("keeps all when nothing is named", () => {
    expect(kept([], ["a", "b", "c", "d"])).toEqual([4, ["b", "c", "d"]]);
  });
});
