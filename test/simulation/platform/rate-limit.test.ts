import { expect, test } from "vitest";
import { SimulatedRateLimit } from "./rate-limit.ts";

/**
 * These tests move the clock. test/simulation/conformance compares the same rules with workerd, whose clock cannot be
 * moved.
 */
function limited(limit: number, period: 10 | 60) {
  const clock = { now: 1_800_000_000_000 };
  const limiter = new SimulatedRateLimit({ limit, period }, () => clock.now);
  const call = async (key = "a") => (await limiter.limit({ key })).success;
  return { clock, call };
}

test.each([10, 60] as const)("a window of %i s ends at the next multiple of it", async (period) => {
  const { clock, call } = limited(2, period);
  clock.now += period * 1000 - 1;
  expect([await call(), await call(), await call()]).toEqual([true, true, false]);
  clock.now += 1;
  expect([await call(), await call(), await call()]).toEqual([true, true, false]);
  clock.now += period * 1000 - 1;
  expect(await call()).toBe(false);
  clock.now += 1;
  expect(await call()).toBe(true);
});
