import { type Cases, errorOf } from "../case.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const HMAC = { name: "HMAC", hash: "SHA-256" };
const KEY_32 = new Uint8Array(Array.from({ length: 32 }, (_, i) => i));
const IV = Uint8Array.from({ length: 12 }, (_, i) => 255 - i);

const hmacKey = (subtle: SubtleCrypto, usages: string[] = ["sign", "verify"], secret = "YOUR_APP_SECRET") =>
  subtle.importKey("raw", bytes(secret), HMAC, false, usages);
const aesKey = (subtle: SubtleCrypto, usages: string[] = ["encrypt", "decrypt"], raw = KEY_32) =>
  subtle.importKey("raw", raw, "AES-GCM", false, usages);
const gcm = (additionalData?: string, iv = IV) => ({
  name: "AES-GCM",
  iv,
  ...(additionalData !== undefined && { additionalData: bytes(additionalData) }),
});

/** Only the name of an error: the messages differ, and no code reads them. */
const refused = async (call: () => unknown) => (await errorOf(call)).name;

/** Encrypts a text and changes one byte of the result. */
async function tampered(subtle: SubtleCrypto, at: number) {
  const key = await aesKey(subtle);
  const sealed = new Uint8Array(await subtle.encrypt(gcm("site 1"), key, bytes("secret")));
  const place = at < 0 ? sealed.length + at : at;
  sealed[place] = (sealed[place] ?? 0) ^ 1;
  return refused(() => subtle.decrypt(gcm("site 1"), key, sealed));
}

const described = ({ type, algorithm, extractable, usages }: CryptoKey) => ({ type, algorithm, extractable, usages });

/** Rules of the part of WebCrypto that the signed path, the admin API and the client use. */
export const subtleCases: Cases<SubtleCrypto> = {
  "SHA-256 of text, of nothing and of a part of a buffer": async (subtle) => [
    await subtle.digest("SHA-256", bytes("王伟")),
    await subtle.digest({ name: "SHA-256" }, new ArrayBuffer(0)),
    await subtle.digest("SHA-256", KEY_32.subarray(3, 9)),
    await subtle.digest("sha-256", KEY_32.slice().buffer),
  ],
  "the signature vector of the contract": async (subtle) =>
    subtle.sign(
      "HMAC",
      await hmacKey(subtle),
      bytes(
        '{"appid":"1b621280becdb0fa3d3e041ff69e1e1f","sbs":"1001","timestamp":1767772879,"ranstr":"4ad0faec14a58112","kefu_id":"10078","ip":""}',
      ),
    ),
  "an HMAC with keys of many lengths": async (subtle) =>
    Promise.all(
      [1, 31, 63, 64, 65, 200].map(async (length) =>
        subtle.sign("HMAC", await hmacKey(subtle, ["sign"], "k".repeat(length)), bytes("message")),
      ),
    ),
  "an HMAC of an empty message": async (subtle) => subtle.sign("HMAC", await hmacKey(subtle), new Uint8Array()),
  "a signature verifies": async (subtle) => {
    const key = await hmacKey(subtle);
    const signature = await subtle.sign("HMAC", key, bytes("message"));
    return [
      await subtle.verify("HMAC", key, signature, bytes("message")),
      await subtle.verify(HMAC, key, new Uint8Array(signature), new Uint8Array(bytes("message")).buffer),
    ];
  },
  "a changed message, signature or key does not verify, nor does a signature of another length": async (subtle) => {
    const key = await hmacKey(subtle);
    const signature = new Uint8Array(await subtle.sign("HMAC", key, bytes("message")));
    const changed = signature.map((byte, i) => (i === 31 ? byte ^ 1 : byte));
    return [
      await subtle.verify("HMAC", key, signature, bytes("massage")),
      await subtle.verify("HMAC", key, changed, bytes("message")),
      await subtle.verify("HMAC", await hmacKey(subtle, ["verify"], "other"), signature, bytes("message")),
      await subtle.verify("HMAC", key, signature.subarray(0, 31), bytes("message")),
      await subtle.verify("HMAC", key, new Uint8Array(), bytes("message")),
      await subtle.verify("HMAC", key, Uint8Array.of(...signature, 0), bytes("message")),
    ];
  },
  "an imported key says what it is": async (subtle) => [
    described(await hmacKey(subtle, ["verify"])),
    described(await subtle.importKey("raw", KEY_32, HMAC, true, ["sign"])),
    described(await aesKey(subtle)),
  ],
  "a key is a copy of its bytes": async (subtle) => {
    const raw = bytes("secret");
    const key = await subtle.importKey("raw", raw, HMAC, false, ["sign"]);
    const before = await subtle.sign("HMAC", key, bytes("m"));
    raw.fill(0);
    return [before, await subtle.sign("HMAC", key, bytes("m"))];
  },
  "a key of no bytes is refused": (subtle) =>
    refused(() => subtle.importKey("raw", new Uint8Array(), HMAC, false, ["sign"])),
  "an HMAC key for another use is refused": (subtle) =>
    refused(() => subtle.importKey("raw", KEY_32, HMAC, false, ["encrypt"])),
  "an HMAC key needs a hash": (subtle) => refused(() => subtle.importKey("raw", KEY_32, "HMAC", false, ["sign"])),
  "a key without uses is refused": async (subtle) => [
    await refused(() => subtle.importKey("raw", KEY_32, HMAC, false, [])),
    await refused(() => subtle.importKey("raw", KEY_32, "AES-GCM", false, [])),
  ],
  "a key does only what it was imported for": async (subtle) => {
    const [verifier, signer] = [await hmacKey(subtle, ["verify"]), await hmacKey(subtle, ["sign"])];
    const [sealer, opener] = [await aesKey(subtle, ["encrypt"]), await aesKey(subtle, ["decrypt"])];
    return [
      await refused(() => subtle.sign("HMAC", verifier, bytes("m"))),
      await refused(() => subtle.verify("HMAC", signer, new Uint8Array(32), bytes("m"))),
      await refused(() => subtle.encrypt(gcm(), opener, bytes("m"))),
      await refused(() => subtle.decrypt(gcm(), sealer, new Uint8Array(32))),
      await refused(() => subtle.encrypt(gcm(), signer, bytes("m"))),
      await refused(() => subtle.sign("HMAC", sealer, bytes("m"))),
    ];
  },
  "what is sealed opens": async (subtle) => {
    const key = await aesKey(subtle);
    const sealed = await Promise.all(
      ["", "secret", "x".repeat(100)].map((text) => subtle.encrypt(gcm("site 1"), key, bytes(text))),
    );
    return [sealed, await Promise.all(sealed.map((each) => subtle.decrypt(gcm("site 1"), key, each)))];
  },
  "the seal depends on the additional data, and none is the same as empty": async (subtle) => {
    const key = await aesKey(subtle);
    return Promise.all([gcm(), gcm(""), gcm("a")].map((algorithm) => subtle.encrypt(algorithm, key, bytes("secret"))));
  },
  "keys of 16 and 32 bytes seal": async (subtle) =>
    Promise.all(
      [16, 32].map(async (length) =>
        subtle.encrypt(gcm(), await aesKey(subtle, ["encrypt"], KEY_32.slice(0, length)), bytes("m")),
      ),
    ),
  "an iv may have another length": async (subtle) => {
    const key = await aesKey(subtle);
    const algorithm = gcm("a", KEY_32.slice(0, 16));
    const sealed = await subtle.encrypt(algorithm, key, bytes("m"));
    return [sealed, await subtle.decrypt(algorithm, key, sealed)];
  },
  "an empty iv is refused": async (subtle) => {
    const key = await aesKey(subtle);
    return refused(() => subtle.encrypt(gcm("a", new Uint8Array()), key, bytes("m")));
  },
  "a key of another length is refused": async (subtle) =>
    Promise.all([0, 15, 31, 33].map((length) => refused(() => aesKey(subtle, ["encrypt"], new Uint8Array(length))))),
  "an AES key for another use is refused": (subtle) => refused(() => aesKey(subtle, ["sign"])),
  "a changed first byte does not open": (subtle) => tampered(subtle, 0),
  "a changed tag does not open": (subtle) => tampered(subtle, -1),
  "other additional data do not open": async (subtle) => {
    const key = await aesKey(subtle);
    const sealed = await subtle.encrypt(gcm("site 1"), key, bytes("secret"));
    return [
      await refused(() => subtle.decrypt(gcm("site 2"), key, sealed)),
      await refused(() => subtle.decrypt(gcm(), key, sealed)),
    ];
  },
  "another iv does not open": async (subtle) => {
    const key = await aesKey(subtle);
    const sealed = await subtle.encrypt(gcm(), key, bytes("secret"));
    return refused(() =>
      subtle.decrypt(
        gcm(
          undefined,
          IV.map((byte) => byte ^ 1),
        ),
        key,
        sealed,
      ),
    );
  },
  "another key does not open": async (subtle) => {
    const sealed = await subtle.encrypt(gcm(), await aesKey(subtle), bytes("secret"));
    const other = await aesKey(subtle, ["decrypt"], new Uint8Array(32));
    return refused(() => subtle.decrypt(gcm(), other, sealed));
  },
  "what is shorter than a tag does not open": async (subtle) => {
    const key = await aesKey(subtle);
    return Promise.all(
      [0, 1, 15, 16].map((length) => refused(() => subtle.decrypt(gcm(), key, new Uint8Array(length)))),
    );
  },
  "timingSafeEqual compares bytes": (subtle) => [
    subtle.timingSafeEqual(KEY_32, KEY_32.slice()),
    subtle.timingSafeEqual(KEY_32.slice().buffer, new Uint8Array(32)),
    subtle.timingSafeEqual(new Uint8Array(), new ArrayBuffer(0)),
  ],
  "timingSafeEqual refuses unequal lengths": (subtle) => refused(() => subtle.timingSafeEqual(KEY_32, IV)),
};
