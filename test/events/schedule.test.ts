import { describe, expect, it } from "vitest";
import { nextAttemptAt, readRetryAfter } from "../../src/events/schedule.ts";

const NOW = 1_800_000_000;

describe("the next attempt", () => {
  it("the next attempt comes within a tenth of its backoff, with any random number", () => {
    for (const chance of [0, 0.1, 0.5, 0.9, 1 - Number.EPSILON]) {
      for (const [i, pause] of [5, 300, 1_800, 7_200, 18_000, 36_000, 43_200].entries()) {
        const waits = (nextAttemptAt({ random: () => chance }, i + 1, NOW) ?? 0) - NOW;
        expect(waits).toBeGreaterThanOrEqual(Math.floor(pause * 0.9));
        expect(waits).toBeLessThanOrEqual(Math.ceil(pause * 1.1));
        expect(Number.isInteger(waits)).toBe(true);
      }
    }
  });

  it.each([8, 9, 100])("no attempt comes after %i attempts, whatever the receiver asks for", (attempts) => {
    expect(nextAttemptAt({ random: () => 0.5 }, attempts, NOW, 60)).toBeNull();
  });
});

describe("a Retry-After header", () => {
  it.each<[string | null, number | undefined]>([
    [null, undefined],
    ["", undefined],
    ["0", 0],
    ["120", 120],
    ["Fri, 15 Jan 2027 08:02:00 GMT", 120],
    ["Friday, 15-Jan-27 08:02:00 GMT", 120],
    ["Fri Jan 15 08:02:00 2027", 120],
    ["Mon Feb  1 08:00:00 2027", 17 * 86_400],
    ["Fri, 15 Jan 2027 07:59:00 GMT", -60],
    ["Fri, 15 Jan 2027 08:99:00 GMT", undefined],
    ["Jan 2030 GMT", undefined],
    ["99999999999999999999", 1e20],
    ["-1", undefined],
    ["1e3", undefined],
    ["2027", 2_027],
    ["2027-01-15T08:02:00Z", undefined],
    ["never GMT", undefined],
  ])("the Retry-After header %j asks for %s seconds", (header, seconds) => {
    expect(readRetryAfter(header, NOW)).toBe(seconds);
  });
});
