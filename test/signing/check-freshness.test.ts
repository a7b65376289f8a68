import { describe, expect, it } from "vitest";
import { checkFreshness } from "../../src/signing/check-freshness.ts";

const NOW = 1_800_000_000;

describe("checkFreshness", () => {
  it.each([0, 299, 300, -299, -300])("accepts a timestamp %i seconds old", (age) => {
    expect(checkFreshness(NOW - age, NOW, 300)).toEqual({ ok: true });
  });

  it.each([
    [301, "timestamp_stale"],
    [NOW, "timestamp_stale"],
    [2 * NOW, "timestamp_stale"],
    [-301, "timestamp_ahead"],
    // Milliseconds where seconds are meant.
    [NOW - NOW * 1000, "timestamp_ahead"],
  ])("refuses a timestamp %i seconds old as %s", (age, reason) => {
    expect(checkFreshness(NOW - age, NOW, 300)).toEqual({ ok: false, reason });
  });

  it("allows only the very second when nothing is tolerated", () => {
    expect(checkFreshness(NOW, NOW, 0)).toEqual({ ok: true });
    expect(checkFreshness(NOW - 1, NOW, 0)).toEqual({ ok: false, reason: "timestamp_stale" });
    expect(checkFreshness(NOW + 1, NOW, 0)).toEqual({ ok: false, reason: "timestamp_ahead" });
  });
});
