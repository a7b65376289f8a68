import { describe, expect, it } from "vitest";
import { NonceMemory } from "../../../src/core/signed/nonce-memory.ts";
import { NOW } from "../../support/test-runtime.ts";

function memory() {
  const clock = { now: NOW, elapsed: 0 };
  return { clock, nonces: new NonceMemory({ now: () => clock.now * 1000, elapsed: () => clock.elapsed }) };
}

describe("the memory of used ranstr", () => {
  it("the memory of nonces knows exactly the remembered ranstr, by appid and by their exact characters", () => {
    const { nonces } = memory();
    nonces.add("app", "abc", NOW + 60);
    expect(nonces.has("app", "abc")).toBe(true);
    expect([nonces.has("app", "ABC"), nonces.has("other", "abc"), nonces.has("ap", "pabc")]).toEqual(
      Array(3).fill(false),
    );
  });

  it("the memory of nonces forgets each ranstr in the second in which it expires", () => {
    const { clock, nonces } = memory();
    nonces.add("app", "abc", NOW + 60);
    clock.now += 59;
    expect(nonces.has("app", "abc")).toBe(true);
    clock.now += 1;
    expect(nonces.has("app", "abc")).toBe(false);
  });

  it("the memory of nonces keeps at least the last five thousand ranstr and at most ten thousand", () => {
    const { nonces } = memory();
    for (let i = 1; i <= 10_000; i++) nonces.add("app", String(i), NOW + 60);
    const known = () => [1, 5_000, 5_001, 10_000, 10_001].map((i) => nonces.has("app", String(i)));
    expect(known()).toEqual([true, true, true, true, false]);
    nonces.add("app", "10001", NOW + 60);
    expect(known()).toEqual([false, false, true, true, true]);
  });

  it("a request is marked as in flight until it ends, or until five thousand later requests never end", () => {
    const { nonces } = memory();
    const end = nonces.begin("app", "abc", 8_000);
    expect([nonces.isInFlight("app", "abc"), nonces.isInFlight("other", "abc")]).toEqual([true, false]);
    expect(nonces.has("app", "abc")).toBe(false);
    end();
    expect(nonces.isInFlight("app", "abc")).toBe(false);
    for (let i = 0; i < 5_000; i++) nonces.begin("app", String(i), 8_000);
    expect([nonces.isInFlight("app", "0"), nonces.isInFlight("app", "4999")]).toEqual([true, true]);
    nonces.begin("app", "last", 8_000);
    expect([nonces.isInFlight("app", "0"), nonces.isInFlight("app", "last")]).toEqual([false, true]);
  });

  it("a request that never ends is in flight until it gives up, and no longer", () => {
    const { clock, nonces } = memory();
    nonces.begin("app", "abc", 8_000);
    clock.elapsed = 7_999;
    expect(nonces.isInFlight("app", "abc")).toBe(true);
    clock.elapsed = 8_000;
    expect(nonces.isInFlight("app", "abc")).toBe(false);
  });

  it("a request that ends after its time is over does not remove the mark of the next request", () => {
    const { clock, nonces } = memory();
    const first = nonces.begin("app", "abc", 8_000);
    clock.elapsed = 8_000;
    nonces.begin("app", "abc", 16_000);
    first();
    expect(nonces.isInFlight("app", "abc")).toBe(true);
  });

  it("the mark of another request stays when a waiting request gives up", () => {
    const { nonces } = memory();
    const end = nonces.begin("app", "abc", 8_000);
    nonces.begin("app", "abc", 9_000)();
    expect(nonces.isInFlight("app", "abc")).toBe(true);
    end();
    expect(nonces.isInFlight("app", "abc")).toBe(false);
  });
});
