import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { systemRuntime } from "../../../src/core/runtime.ts";
import { answerWithin, isKnownToKv, nonceKey, rememberNonce } from "../../../src/core/signed/kv-nonces.ts";
import { TELEMETRY } from "../../support/console-telemetry.ts";
import { replacing } from "../../support/replacing.ts";

const never = new Promise<never>(() => {});
const throwFault = () => {
  throw new Error("KV is down");
};

describe("nonceKey", () => {
  it("nonceKey differs for pairs that plain concatenation would make equal", async () => {
    const keys = await Promise.all([
      nonceKey("a", "bc"),
      nonceKey("ab", "c"),
      nonceKey("abc", ""),
      nonceKey("a", "BC"),
    ]);
    expect(new Set(keys).size).toBe(4);
    expect(keys[0]).toBe(await nonceKey("a", "bc"));
  });

  it.each([
    ["a dot", "."],
    ["two dots", ".."],
    ["128 ideographs", "漢".repeat(128)],
    ["a lone surrogate", "\ud800"],
    ["60,000 letters", "x".repeat(60_000)],
  ])("nonceKey is a key that KV accepts, whatever the ranstr: %s", async (_, ranstr) => {
    const key = nonceKey("app", ranstr);
    await rememberNonce(env.NONCES, key, TELEMETRY);
    expect(await isKnownToKv(env.NONCES, key)).toBe(true);
  });
});

describe("isKnownToKv", () => {
  it("isKnownToKv finds remembered nonces only", async () => {
    await rememberNonce(env.NONCES, nonceKey("app", "used"), TELEMETRY);
    expect(await isKnownToKv(env.NONCES, nonceKey("app", "used"))).toBe(true);
    expect(await isKnownToKv(env.NONCES, nonceKey("app", "new"))).toBe(false);
    expect(await isKnownToKv(env.NONCES, nonceKey("another app", "used"))).toBe(false);
  });

  it.each([
    ["is not bound", undefined],
    ["throws", replacing(env.NONCES, { get: throwFault })],
    ["rejects", replacing(env.NONCES, { get: async () => throwFault() })],
  ])("isKnownToKv finds nothing when KV %s", async (_, kv) => {
    await rememberNonce(env.NONCES, nonceKey("app", "used"), TELEMETRY);
    expect(await isKnownToKv(kv, nonceKey("app", "used"))).toBe(false);
  });
});

describe("answerWithin", () => {
  it("answerWithin returns KV's answer when it comes in time, and false otherwise", async () => {
    expect(await answerWithin(systemRuntime, Promise.resolve(true), 10_000)).toBe(true);
    expect(await answerWithin(systemRuntime, Promise.resolve(false), 10_000)).toBe(false);
    expect(await answerWithin(systemRuntime, never, 1)).toBe(false);
  });

  it("answerWithin without time left returns only an answer that is already there", async () => {
    const noTimers = { ...systemRuntime, after: () => expect.unreachable("a timer was set") };
    for (const msLeft of [0, -3]) {
      expect(await answerWithin(noTimers, Promise.resolve(true), msLeft)).toBe(true);
      expect(await answerWithin(noTimers, never, msLeft)).toBe(false);
    }
  });
});

describe("rememberNonce", () => {
  it("rememberNonce writes nothing for a request without a ranstr", async () => {
    const puts: unknown[] = [];
    const kv = replacing(env.NONCES, { put: async (...args: unknown[]) => void puts.push(args) });
    await rememberNonce(kv, undefined, TELEMETRY);
    expect([puts, await isKnownToKv(kv, undefined)]).toEqual([[], false]);
  });

  it("KV forgets a remembered nonce when it has expired", async () => {
    const puts: unknown[][] = [];
    await rememberNonce(
      replacing(env.NONCES, { put: async (...args: unknown[]) => void puts.push(args) }),
      nonceKey("app", "ranstr"),
      TELEMETRY,
    );
    expect(puts).toEqual([[await nonceKey("app", "ranstr"), expect.any(String), { expirationTtl: 1_860 }]]);
  });

  it.each([
    ["is not bound", undefined],
    ["throws", replacing(env.NONCES, { put: throwFault })],
    ["rejects", replacing(env.NONCES, { put: async () => throwFault() })],
  ])("rememberNonce does not fail when KV %s", async (_, kv) => {
    await expect(rememberNonce(kv, nonceKey("app", "ranstr"), TELEMETRY)).resolves.toBeUndefined();
  });
});
