import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { subtle } from "./subtle.ts";

/**
 * test/simulation/conformance compares the stand-in with workerd's subtle for fixed calls. These tests compare it with
 * node's, for random bytes.
 */

const real = crypto.subtle;
const HMAC = { name: "HMAC", hash: "SHA-256" };

const bytes = (constraints: fc.IntArrayConstraints) => fc.uint8Array(constraints).map((array) => new Uint8Array(array));
const text = bytes({ maxLength: 300 });
const hmacKey = bytes({ minLength: 1, maxLength: 150 });
const aesKey = fc.constantFrom(16, 32).chain((length) => bytes({ minLength: length, maxLength: length }));
const gcm = fc
  .record({ iv: bytes({ minLength: 12, maxLength: 16 }), additionalData: fc.option(text, { nil: undefined }) })
  .map(({ iv, additionalData }) => ({ name: "AES-GCM", iv, ...(additionalData !== undefined && { additionalData }) }));

describe("for any bytes it gives what node's WebCrypto gives:", () => {
  test("SHA-256", () =>
    fc.assert(
      fc.asyncProperty(text, async (data) => {
        expect(await subtle.digest("SHA-256", data)).toEqual(await real.digest("SHA-256", data));
      }),
    ));

  test("HMAC, signed by either and verified by the other", () =>
    fc.assert(
      fc.asyncProperty(hmacKey, text, text, async (raw, data, other) => {
        const mine = await subtle.importKey("raw", raw, HMAC, false, ["sign", "verify"]);
        const theirs = await real.importKey("raw", raw, HMAC, false, ["sign", "verify"]);
        const signature = await subtle.sign("HMAC", mine, data);
        expect(signature).toEqual(await real.sign("HMAC", theirs, data));
        expect(await subtle.verify("HMAC", mine, signature, other)).toBe(
          await real.verify("HMAC", theirs, signature, other),
        );
        expect(await subtle.verify("HMAC", mine, signature, data)).toBe(true);
      }),
    ));

  test("AES-GCM, sealed by either and opened by the other", () =>
    fc.assert(
      fc.asyncProperty(aesKey, gcm, text, async (raw, algorithm, data) => {
        const mine = await subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]);
        const theirs = await real.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]);
        const sealed = await subtle.encrypt(algorithm, mine, data);
        expect(sealed).toEqual(await real.encrypt(algorithm, theirs, data));
        expect(await subtle.decrypt(algorithm, mine, sealed)).toEqual(await real.decrypt(algorithm, theirs, sealed));
      }),
    ));

  test("a sealed text with any one bit changed does not open", () =>
    fc.assert(
      fc.asyncProperty(aesKey, gcm, text, fc.nat(), async (raw, algorithm, data, at) => {
        const key = await subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]);
        const sealed = new Uint8Array(await subtle.encrypt(algorithm, key, data));
        const bit = at % (sealed.length * 8);
        sealed[bit >> 3] = (sealed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        await expect(subtle.decrypt(algorithm, key, sealed)).rejects.toThrow(
          expect.objectContaining({ name: "OperationError" }),
        );
      }),
    ));
});

test("it answers at once: before anything that waits for the event loop", async () => {
  let answered = false;
  void subtle.digest("SHA-256", new Uint8Array()).then(() => {
    answered = true;
  });
  for (let i = 0; i < 3; i++) await Promise.resolve();
  expect(answered).toBe(true);
});

test.each(["HKDF", "AES-CBC", "RSASSA-PKCS1-v1_5"])("refuses what it does not simulate: %s", async (name) => {
  await expect(subtle.importKey("raw", new Uint8Array(32), name, false, ["sign"])).rejects.toThrow("not simulated");
});
