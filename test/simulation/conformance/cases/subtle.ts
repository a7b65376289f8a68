import { Chance } from "../../machine/chance.ts";
import { type Cases, errorOf } from "../case.ts";

const HMAC = { name: "HMAC", hash: "SHA-256" };
const gcm = (iv: Uint8Array<ArrayBuffer>, additionalData: Uint8Array<ArrayBuffer>) => ({
  name: "AES-GCM",
  iv,
  additionalData,
});

const hmacKey = (subtle: SubtleCrypto, raw: Uint8Array<ArrayBuffer>) =>
  subtle.importKey("raw", raw, HMAC, false, ["sign", "verify"]);
const aesKey = (subtle: SubtleCrypto, raw: Uint8Array<ArrayBuffer>) =>
  subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]);

/** Bytes with one bit changed. */
function withChangedByte(chance: Chance, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const bit = chance.integer(0, bytes.length * 8 - 1);
  return Uint8Array.from(bytes, (byte, i) => (i === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
}

/** Runs a function a hundred times with random bytes from a seed, so that both sides get the same bytes. */
const often =
  (run: (subtle: SubtleCrypto, chance: Chance, some: (least?: number) => Uint8Array<ArrayBuffer>) => unknown) =>
  async (subtle: SubtleCrypto) => {
    const chance = new Chance(1);
    const answers: unknown[] = [];
    for (let i = 0; i < 100; i++) {
      answers.push(await run(subtle, chance, (least = 0) => chance.bytes(chance.integer(least, 150))));
    }
    return answers;
  };

export const subtleCases: Cases<SubtleCrypto> = {
  "digest() returns the same SHA-256 for the same bytes": often((subtle, _, some) => subtle.digest("SHA-256", some())),
  "verify() accepts a right signature, and refuses a changed message, signature, key or length": often(
    async (subtle, chance, some) => {
      const [raw, data] = [some(1), some(1)];
      const [key, other] = [await hmacKey(subtle, raw), await hmacKey(subtle, withChangedByte(chance, raw))];
      const signature = new Uint8Array(await subtle.sign("HMAC", key, data));
      const verify = (mac: BufferSource, message = data, by = key) => subtle.verify("HMAC", by, mac, message);
      const rights = [signature, signature.buffer].map((each) => verify(each));
      const wrongs = [
        withChangedByte(chance, signature),
        signature.subarray(1),
        new Uint8Array(),
        Uint8Array.of(...signature, 0),
      ];
      return [
        signature,
        await Promise.all([...rights, ...wrongs.map((each) => verify(each))]),
        await verify(signature, withChangedByte(chance, data)),
        await verify(signature, data, other),
      ];
    },
  ),
  "decrypt() opens a ciphertext, but not a changed one, or with another key, iv or associated data": often(
    async (subtle, chance, some) => {
      const [raw, iv, associated, data] = [chance.bytes(32), chance.bytes(12), some(1), some()];
      const [key, other] = [await aesKey(subtle, raw), await aesKey(subtle, withChangedByte(chance, raw))];
      const right = gcm(iv, associated);
      const ciphertext = new Uint8Array(await subtle.encrypt(right, key, data));
      const refusalOf = async (bytes: BufferSource, algorithm = right, by = key) =>
        (await errorOf(() => subtle.decrypt(algorithm, by, bytes))).name;
      return [
        ciphertext,
        await subtle.decrypt(right, key, ciphertext),
        await refusalOf(withChangedByte(chance, ciphertext)),
        data.length === 0 || (await refusalOf(ciphertext.subarray(-16))),
        await refusalOf(ciphertext, gcm(withChangedByte(chance, iv), associated)),
        await refusalOf(ciphertext, gcm(iv, withChangedByte(chance, associated))),
        await refusalOf(ciphertext, right, other),
      ];
    },
  ),
  "an imported key is a copy of its bytes": async (subtle) => {
    const raw = Uint8Array.of(1, 2, 3);
    const key = await hmacKey(subtle, raw);
    raw.fill(0);
    return subtle.sign("HMAC", key, raw);
  },
  "timingSafeEqual compares bytes": (subtle) => [
    subtle.timingSafeEqual(Uint8Array.of(1, 2), Uint8Array.of(1, 2).buffer),
    subtle.timingSafeEqual(Uint8Array.of(1, 2), Uint8Array.of(1, 3)),
  ],
};
