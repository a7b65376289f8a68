import { describe, expect, it } from "vitest";
import { firstRequestIdAt, newRequestId, REQUEST_ID, timeOfRequest } from "../../src/core/request-id.ts";
import { systemRuntime } from "../../src/core/runtime.ts";

const at = (milliseconds: number) => newRequestId({ ...systemRuntime, now: () => milliseconds });

describe("a request id", () => {
  it("a request id is a UUIDv7 with the time of the call, to the millisecond", () => {
    // The example of RFC 9562, appendix A.6: 2022-02-22T14:22:22Z.
    const id = newRequestId({
      now: () => 0x017f22e279b0,
      uuid: () => "919108f7-52d1-4cc3-98c4-dc0c0c07398f",
    });
    expect(id).toBe("017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
    expect(timeOfRequest(id)).toBe(1_645_557_742);
    expect(at(0x0123456789ab)).toMatch(/^01234567-89ab-7/);
  });

  it("a request id has random bits, and REQUEST_ID matches its form", () => {
    const ids = Array.from({ length: 1_000 }, () => at(1_800_000_000_123));
    expect(new Set(ids).size).toBe(1_000);
    expect(ids.every((id) => REQUEST_ID.test(id) && timeOfRequest(id) === 1_800_000_000)).toBe(true);
  });

  it("request ids sort by time", () => {
    const times = [0, 1, 999, 1_000, 1_799_999_999_999, 1_800_000_000_000, 4_000_000_000_000];
    const ids = times.map(at);
    expect(ids.toSorted()).toEqual(ids);
  });

  it("a request id is above the first id of its second, and below the first id of the next second", () => {
    for (const milliseconds of [1_800_000_000_000, 1_800_000_000_999]) {
      const id = at(milliseconds);
      expect(firstRequestIdAt(1_800_000_000) < id).toBe(true);
      expect(id < firstRequestIdAt(1_800_000_001)).toBe(true);
    }
  });
});
