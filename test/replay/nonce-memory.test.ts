import { describe, expect, it } from "vitest";
import { NonceMemory } from "../../src/replay/nonce-memory.ts";
import { NOW } from "../support/world.ts";

function memory() {
  const clock = { now: NOW };
  return { clock, nonces: new NonceMemory(() => clock.now * 1000) };
}

describe("the memory of used ranstr", () => {
  it("knows what it was told, by appid and exact characters, and nothing else", () => {
    const { nonces } = memory();
    nonces.add("app", "abc", NOW + 60);
    expect(nonces.has("app", "abc")).toBe(true);
    expect([nonces.has("app", "ABC"), nonces.has("other", "abc"), nonces.has("ap", "pabc")]).toEqual(
      Array(3).fill(false),
    );
  });

  it("forgets each at the second it expires", () => {
    const { clock, nonces } = memory();
    nonces.add("app", "abc", NOW + 60);
    clock.now += 59;
    expect(nonces.has("app", "abc")).toBe(true);
    clock.now += 1;
    expect(nonces.has("app", "abc")).toBe(false);
  });

  it("lets the oldest go when it holds ten thousand", () => {
    const { nonces } = memory();
    for (let i = 0; i <= 10_000; i++) nonces.add("app", String(i), NOW + 60);
    expect([nonces.has("app", "0"), nonces.has("app", "1"), nonces.has("app", "10000")]).toEqual([false, true, true]);
  });
});
