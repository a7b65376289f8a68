import { createCipheriv, createDecipheriv, createHash, createHmac, timingSafeEqual } from "node:crypto";
import { notSimulated, refuseIf } from "../not-simulated.ts";

/**
 * The part of WebCrypto that the signed path, the admin API and the client use. It answers at once, while the real one
 * works on threads, whose order differs in each run. It refuses all other calls. test/simulation/conformance runs one
 * list of calls on it and on workerd's.
 */

type Bytes = ArrayBuffer | ArrayBufferView;
type Algorithm = string | { name: string; hash?: string };
interface GcmAlgorithm {
  name: string;
  iv: Bytes;
  additionalData: Bytes;
}

/** A key: nothing of it can be read. */
type SecretKey = object;

/** The usages that a key may have, by algorithm. */
const USAGES: Record<string, readonly string[]> = { HMAC: ["sign", "verify"], "AES-GCM": ["encrypt", "decrypt"] };
const AES_KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

const keys = new WeakMap<SecretKey, { name: string; usages: readonly string[]; bytes: Buffer }>();

function bufferOf(bytes: Bytes): Buffer {
  return ArrayBuffer.isView(bytes) ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) : Buffer.from(bytes);
}

/** A copy, because a Buffer may be a view of a larger ArrayBuffer. */
function arrayBufferOf(buffer: Buffer): ArrayBuffer {
  return new Uint8Array(buffer).buffer;
}

function nameOf(algorithm: Algorithm, knownNames: readonly string[]): string {
  const name = typeof algorithm === "string" ? algorithm : algorithm.name;
  refuseIf(!knownNames.includes(name), `WebCrypto with ${name}`);
  return name;
}

/** The bytes of a key that was imported for a usage. */
function bytesFor(usage: string, key: SecretKey, algorithm: Algorithm): Buffer {
  const knownKey = keys.get(key);
  if (
    knownKey === undefined ||
    nameOf(algorithm, Object.keys(USAGES)) !== knownKey.name ||
    !knownKey.usages.includes(usage)
  ) {
    throw notSimulated(`${usage}() with a key for something else`);
  }
  return knownKey.bytes;
}

const hmac = (key: Buffer, data: Bytes): Buffer => createHmac("sha256", key).update(bufferOf(data)).digest();

export const subtle = {
  async importKey(format: string, data: Bytes, algorithm: Algorithm, extractable: boolean, usages: readonly string[]) {
    const name = nameOf(algorithm, Object.keys(USAGES));
    const bytes = Buffer.from(bufferOf(data));
    refuseIf(format !== "raw" || extractable, `a key in the format ${format}, or one that can be exported`);
    refuseIf(usages.length === 0 || !usages.every((usage) => USAGES[name]?.includes(usage)), `${name} for ${usages}`);
    const hash = typeof algorithm === "string" ? undefined : algorithm.hash;
    const fits = name === "HMAC" ? hash === "SHA-256" && bytes.length > 0 : bytes.length === AES_KEY_BYTES;
    refuseIf(!fits, `${name} with ${hash} and a key of ${bytes.length} bytes`);
    const key: SecretKey = {};
    keys.set(key, { name, usages: [...usages], bytes });
    return key;
  },

  async digest(algorithm: Algorithm, data: Bytes) {
    nameOf(algorithm, ["SHA-256"]);
    return arrayBufferOf(createHash("sha256").update(bufferOf(data)).digest());
  },

  async sign(algorithm: Algorithm, key: SecretKey, data: Bytes) {
    return arrayBufferOf(hmac(bytesFor("sign", key, algorithm), data));
  },

  async verify(algorithm: Algorithm, key: SecretKey, signature: Bytes, data: Bytes) {
    const expected = hmac(bytesFor("verify", key, algorithm), data);
    const mac = bufferOf(signature);
    return mac.length === expected.length && timingSafeEqual(mac, expected);
  },

  async encrypt(algorithm: GcmAlgorithm, key: SecretKey, data: Bytes) {
    const iv = bufferOf(algorithm.iv);
    refuseIf(iv.length !== IV_BYTES, `an iv of ${iv.length} bytes`);
    const cipher = createCipheriv("aes-256-gcm", bytesFor("encrypt", key, algorithm), iv);
    cipher.setAAD(bufferOf(algorithm.additionalData));
    return arrayBufferOf(Buffer.concat([cipher.update(bufferOf(data)), cipher.final(), cipher.getAuthTag()]));
  },

  async decrypt(algorithm: GcmAlgorithm, key: SecretKey, data: Bytes) {
    const bytes = bytesFor("decrypt", key, algorithm);
    const ciphertext = bufferOf(data);
    refuseIf(ciphertext.length < TAG_BYTES, "to open what is shorter than a tag");
    try {
      const decipher = createDecipheriv("aes-256-gcm", bytes, bufferOf(algorithm.iv));
      decipher.setAAD(bufferOf(algorithm.additionalData)).setAuthTag(ciphertext.subarray(-TAG_BYTES));
      return arrayBufferOf(Buffer.concat([decipher.update(ciphertext.subarray(0, -TAG_BYTES)), decipher.final()]));
    } catch {
      throw new DOMException("The operation failed.", "OperationError");
    }
  },

  timingSafeEqual(a: Bytes, b: Bytes) {
    refuseIf(a.byteLength !== b.byteLength, "to compare values of unequal lengths");
    return timingSafeEqual(bufferOf(a), bufferOf(b));
  },
};
