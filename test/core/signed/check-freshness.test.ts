import { describe, expect, it } from "vitest";
import { checkFreshness } from "../../../src/core/signed/check-freshness.ts";

const NOW = 1_800_000_000;

const check = (timestamp: number, tolerance: number) =>
  checkFreshness({ timestamp, ranstr: "r", other: 1 }, NOW, tolerance);
const fresh = (timestamp: number) => ({ ok: true, value: { timestamp, ranstr: "r" } });

describe("checkFreshness", () => {
  it.each([0, 299, 300, -299, -300])("a timestamp %i seconds old is accepted", (age) => {
    expect(check(NOW - age, 300)).toEqual(fresh(NOW - age));
  });

  it.each([
    [301, "timestamp_stale"],
    [NOW, "timestamp_stale"],
    [2 * NOW, "timestamp_stale"],
    [-301, "timestamp_ahead"],
    // This timestamp is in milliseconds in place of seconds.
    [NOW - NOW * 1000, "timestamp_ahead"],
  ])("a timestamp %i seconds old is refused as %s", (age, reason) => {
    expect(check(NOW - age, 300)).toMatchObject({ ok: false, code: "token_invalid", reason });
  });

  it("with a tolerance of 0 only a timestamp of the same second is accepted", () => {
    expect(check(NOW, 0)).toEqual(fresh(NOW));
    expect(check(NOW - 1, 0)).toMatchObject({ ok: false, reason: "timestamp_stale" });
    expect(check(NOW + 1, 0)).toMatchObject({ ok: false, reason: "timestamp_ahead" });
  });
});
