import { type Cases, errorOf } from "../case.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const HMAC = { name: "HMAC", hash: "SHA-256" };
const KEY_32 = new Uint8Array(Array.from({ length: 32 }, (_, i) => i));
const IV = Uint8Array.from({ length: 12 }, (_, i) => 255 - i);

const hmacKey = (subtle: SubtleCrypto, usages: string[] = ["sign", "verify"], secret = "YOUR_APP_SECRET") =>
  subtle.importKey("raw", bytes(secret), HMAC, false, usages);
const aesKey = (subtle: SubtleCrypto, usages: string[] = ["encrypt", "decrypt"], raw = KEY_32) =>
  subtle.importKey("raw", raw, "AES-GCM", false, usages);
const gcm = (additionalData?: string, iv: Uint8Array<ArrayBuffer> = IV) => ({
  name: "AES-GCM",
  iv,
  ...(additionalData !== undefined && { additionalData: bytes(additionalData) }),
});

/** Only the name of an error: the messages differ, and no code reads them. */
const refused = async (call: () => unknown) => (await errorOf(call)).name;

const described = ({ type, algorithm, extractable, usages }: CryptoKey) => ({ type, algorithm, extractable, usages });
const flipped = (bytes: Uint8Array<ArrayBuffer>, at: number) => bytes.map((byte, i) => (i === at ? byte ^ 1 : byte));

/** What it refuses. test/simulation/machine/subtle.test.ts compares what it computes, for random bytes. */
export const subtleCases: Cases<SubtleCrypto> = {
  "a signature verifies, but no changed message, signature or key, nor another length": async (subtle) => {
    const key = await hmacKey(subtle);
    const signature = new Uint8Array(await subtle.sign("HMAC", key, bytes("message")));
    const longer = Uint8Array.of(...signature, 0);
    const verify = (given: BufferSource, message = "message", by = key) =>
      subtle.verify("HMAC", by, given, bytes(message));
    return [
      await Promise.all([verify(signature), verify(signature.buffer), verify(signature, "massage")]),
      await Promise.all(
        [flipped(signature, 31), signature.subarray(0, 31), new Uint8Array(), longer].map((each) => verify(each)),
      ),
      await verify(signature, "message", await hmacKey(subtle, ["verify"], "other")),
    ];
  },
  "an imported key says what it is, and is a copy of its bytes": async (subtle) => {
    const raw = bytes("secret");
    const key = await subtle.importKey("raw", raw, HMAC, true, ["sign"]);
    const before = await subtle.sign("HMAC", key, bytes("m"));
    raw.fill(0);
    const after = await subtle.sign("HMAC", key, bytes("m"));
    return [before, after, described(key), described(await hmacKey(subtle)), described(await aesKey(subtle))];
  },
  "a key of another length, without a hash or for another use is refused": (subtle) =>
    Promise.all([
      refused(() => hmacKey(subtle, ["sign"], "")),
      refused(() => hmacKey(subtle, ["encrypt"])),
      refused(() => hmacKey(subtle, [])),
      refused(() => subtle.importKey("raw", KEY_32, "HMAC", false, ["sign"])),
      refused(() => aesKey(subtle, ["sign"])),
      refused(() => aesKey(subtle, [])),
      ...[0, 15, 31, 33].map((length) => refused(() => aesKey(subtle, ["encrypt"], new Uint8Array(length)))),
    ]),
  "a key does only what it was imported for": async (subtle) => {
    const [verifier, signer] = [await hmacKey(subtle, ["verify"]), await hmacKey(subtle, ["sign"])];
    const [sealer, opener] = [await aesKey(subtle, ["encrypt"]), await aesKey(subtle, ["decrypt"])];
    return Promise.all([
      refused(() => subtle.sign("HMAC", verifier, bytes("m"))),
      refused(() => subtle.verify("HMAC", signer, new Uint8Array(32), bytes("m"))),
      refused(() => subtle.encrypt(gcm(), opener, bytes("m"))),
      refused(() => subtle.decrypt(gcm(), sealer, new Uint8Array(32))),
      refused(() => subtle.encrypt(gcm(), signer, bytes("m"))),
      refused(() => subtle.sign("HMAC", sealer, bytes("m"))),
    ]);
  },
  "what was changed does not open, nor with another key, iv or data": async (subtle) => {
    const key = await aesKey(subtle);
    const sealed = new Uint8Array(await subtle.encrypt(gcm("site 1"), key, bytes("secret")));
    const open = (given: BufferSource, algorithm = gcm("site 1"), by = key) =>
      refused(() => subtle.decrypt(algorithm, by, given));
    const others = [gcm("site 2"), gcm(), gcm("site 1", flipped(IV, 3))];
    return [
      await Promise.all([flipped(sealed, 0), flipped(sealed, sealed.length - 1)].map((each) => open(each))),
      await Promise.all([0, 1, 15, 16].map((length) => open(new Uint8Array(length)))),
      await Promise.all(others.map((each) => open(sealed, each))),
      await open(sealed, undefined, await aesKey(subtle, ["decrypt"], new Uint8Array(32))),
      await refused(() => subtle.encrypt(gcm("a", new Uint8Array()), key, bytes("m"))),
    ];
  },
  "timingSafeEqual compares bytes, and refuses unequal lengths": async (subtle) => [
    subtle.timingSafeEqual(KEY_32, KEY_32.slice()),
    subtle.timingSafeEqual(KEY_32.slice().buffer, new Uint8Array(32)),
    await refused(() => subtle.timingSafeEqual(KEY_32, IV)),
  ],
};
