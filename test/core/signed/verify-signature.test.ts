import { describe, expect, it } from "vitest";
import { importKey } from "../../../src/core/credentials/import-key.ts";
import { verifySignature } from "../../../src/core/signed/verify-signature.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text).buffer as ArrayBuffer;

/** Vectors that other implementations made. */
const KNOWN = [
  {
    name: "the contract's public documentation",
    key: "YOUR_APP_SECRET",
    body: '{"appid":"1b621280becdb0fa3d3e041ff69e1e1f","sbs":"1001","timestamp":1767772879,"ranstr":"4ad0faec14a58112","kefu_id":"10078","ip":""}',
    signature: "3fe1d90717d63866edb34f803e33d72bcee7aa197e380bf79f4fd674aedb6f0c",
  },
  {
    name: "RFC 4231, test case 1",
    key: "\x0b".repeat(20),
    body: "Hi There",
    signature: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
  },
  {
    name: "RFC 4231, test case 2",
    key: "Jefe",
    body: "what do ya want for nothing?",
    signature: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  },
];

const [{ key: secret, body: text, signature }] = KNOWN as [(typeof KNOWN)[0]];
const current = async (of: string = secret) => [{ version: "current", key: await importKey(of) }];

describe("verifySignature", () => {
  it.each(KNOWN)("verifySignature accepts the vector of $name", async ({ key, body, signature }) => {
    expect(await verifySignature(bytesOf(body), signature, await current(key))).toMatchObject({
      ok: true,
      key: { version: "current" },
    });
  });

  it.each(KNOWN)(
    "verifySignature refuses the vector of $name when one byte of the body differs",
    async ({ key, body, signature }) => {
      const result = await verifySignature(bytesOf(`${body} `), signature, await current(key));
      expect(result).toEqual({ ok: false, reason: "signature_mismatch" });
    },
  );

  it.each([
    ["upper-case", signature.toUpperCase()],
    ["mixed-case", signature.replace(/[a-f]/, (digit) => digit.toUpperCase())],
  ])("verifySignature accepts %s hex digits", async (_, digits) => {
    expect(digits).not.toBe(signature);
    expect(await verifySignature(bytesOf(text), digits, await current())).toMatchObject({
      ok: true,
      key: { version: "current" },
    });
  });

  it.each([
    ["nothing", undefined, "signature_missing"],
    ["an empty header", "", "signature_malformed"],
    ["63 digits", signature.slice(0, 63), "signature_malformed"],
    ["65 digits", `${signature}0`, "signature_malformed"],
    ["a letter past f", `g${signature.slice(1)}`, "signature_malformed"],
    ["a line break after it", `${signature}\n`, "signature_malformed"],
    ["blanks around it", ` ${signature} `, "signature_malformed"],
    ["a full-width digit", `３${signature.slice(1)}`, "signature_malformed"],
    ["base64", Uint8Array.fromHex(signature).toBase64(), "signature_malformed"],
    ["a prefix", `sha256=${signature}`, "signature_malformed"],
    ["one wrong digit at the end", `${signature.slice(0, 63)}d`, "signature_mismatch"],
    ["64 zeros", "0".repeat(64), "signature_mismatch"],
  ])("verifySignature refuses %s and gives the reason", async (_, header, reason) => {
    expect(await verifySignature(bytesOf(text), header, await current())).toEqual({ ok: false, reason });
  });

  it("verifySignature says which of several keys matched, and refuses when there is no key", async () => {
    const [right] = await current();
    const [wrong] = await current("another secret");
    if (!right || !wrong) throw new Error("unreachable");
    const keys = [
      { version: "current", key: wrong.key },
      { version: "previous", key: right.key },
    ];
    expect(await verifySignature(bytesOf(text), signature, keys)).toEqual({ ok: true, key: keys[1] });
    expect(await verifySignature(bytesOf(text), signature, [])).toEqual({ ok: false, reason: "signature_mismatch" });
  });

  it("verifySignature uses a secret's UTF-8 bytes and refuses an empty secret", async () => {
    const madeByOpenssl = "45a97934a4aabbff6f3602eff09433fffdc7a782fd5963ec33ae96fbace149bd";
    expect(await verifySignature(bytesOf("x"), madeByOpenssl, await current("密钥🔑"))).toMatchObject({ ok: true });
    await expect(importKey("")).rejects.toThrow();
  });
});
