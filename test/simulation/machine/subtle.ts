import { createCipheriv, createDecipheriv, createHash, createHmac, timingSafeEqual } from "node:crypto";
import { notSimulated } from "../not-simulated.ts";

/**
 * The part of WebCrypto that the signed path, the admin API and the client use, answered at once. The real one works on
 * threads, whose order is different in each run. test/simulation/conformance runs one list of calls on it and on
 * workerd's; anything else is refused.
 */

type Bytes = ArrayBuffer | ArrayBufferView;
type Algorithm = string | { name: string };
type HmacAlgorithm = string | { name: string; hash?: Algorithm };
interface GcmAlgorithm {
  name: string;
  iv: Bytes;
  additionalData?: Bytes;
}

interface SecretKey {
  type: "secret";
  algorithm: { name: string; hash?: { name: string }; length: number };
  extractable: boolean;
  usages: string[];
}

/** The usages that a key may have, by algorithm. */
const USAGES: Record<string, readonly string[]> = { HMAC: ["sign", "verify"], "AES-GCM": ["encrypt", "decrypt"] };
const AES_KEY_BYTES = [16, 24, 32];
const TAG_BYTES = 16;

const material = new WeakMap<SecretKey, Buffer>();

function bufferOf(bytes: Bytes): Buffer {
  return ArrayBuffer.isView(bytes) ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) : Buffer.from(bytes);
}

/** A copy, because a Buffer may be a view of a larger ArrayBuffer. */
function arrayBufferOf(buffer: Buffer): ArrayBuffer {
  return new Uint8Array(buffer).buffer;
}

/** The name of an algorithm, in any case, as WebCrypto accepts it. @throws when it is none of `known` */
function nameOf(algorithm: Algorithm, ...known: string[]): string {
  const given = typeof algorithm === "string" ? algorithm : algorithm.name;
  const name = given.toUpperCase();
  if (!known.includes(name)) throw notSimulated(`WebCrypto with ${given}`);
  return name;
}

function bytesOf(key: SecretKey, name: string, usage: string): Buffer {
  const bytes = material.get(key);
  if (bytes === undefined || key.algorithm.name !== name || !key.usages.includes(usage)) {
    throw new DOMException(`The key cannot ${usage} with ${name}.`, "InvalidAccessError");
  }
  return bytes;
}

function checkUsages(name: string, usages: readonly string[]): void {
  if (usages.length > 0 && usages.every((usage) => USAGES[name]?.includes(usage))) return;
  throw new DOMException(`A key of ${name} cannot be for ${usages.join(", ") || "nothing"}.`, "SyntaxError");
}

/** The `algorithm` property of a key. */
function describe(algorithm: HmacAlgorithm, name: string, bytes: Buffer): SecretKey["algorithm"] {
  const length = bytes.length * 8;
  if (name === "AES-GCM") {
    if (!AES_KEY_BYTES.includes(bytes.length)) throw new DOMException(`A key of ${length} bits.`, "DataError");
    return { name, length };
  }
  const hash = typeof algorithm === "string" ? undefined : algorithm.hash;
  if (hash === undefined) throw new TypeError("An HMAC key needs a hash.");
  if (length === 0) throw new DOMException("A key of no bytes.", "DataError");
  return { name, hash: { name: nameOf(hash, "SHA-256") }, length };
}

const hmac = (key: Buffer, data: Bytes): Buffer => createHmac("sha256", key).update(bufferOf(data)).digest();

const associated = ({ additionalData }: GcmAlgorithm): Buffer =>
  additionalData === undefined ? Buffer.alloc(0) : bufferOf(additionalData);

const gcm = (key: Buffer) => `aes-${key.length * 8}-gcm` as "aes-256-gcm";

const failed = () => new DOMException("The operation failed.", "OperationError");

export const subtle = {
  async importKey(format: string, data: Bytes, algorithm: HmacAlgorithm, extractable: boolean, usages: string[]) {
    if (format !== "raw") throw notSimulated(`a key in the format ${format}`);
    const name = nameOf(algorithm, "HMAC", "AES-GCM");
    const bytes = Buffer.from(bufferOf(data));
    checkUsages(name, usages);
    const key: SecretKey = {
      type: "secret",
      algorithm: describe(algorithm, name, bytes),
      extractable,
      usages: [...usages],
    };
    material.set(key, bytes);
    return key;
  },

  async digest(algorithm: Algorithm, data: Bytes) {
    nameOf(algorithm, "SHA-256");
    return arrayBufferOf(createHash("sha256").update(bufferOf(data)).digest());
  },

  async sign(algorithm: Algorithm, key: SecretKey, data: Bytes) {
    return arrayBufferOf(hmac(bytesOf(key, nameOf(algorithm, "HMAC"), "sign"), data));
  },

  async verify(algorithm: Algorithm, key: SecretKey, signature: Bytes, data: Bytes) {
    const expected = hmac(bytesOf(key, nameOf(algorithm, "HMAC"), "verify"), data);
    const given = bufferOf(signature);
    return given.length === expected.length && timingSafeEqual(given, expected);
  },

  async encrypt(algorithm: GcmAlgorithm, key: SecretKey, data: Bytes) {
    const bytes = bytesOf(key, nameOf(algorithm, "AES-GCM"), "encrypt");
    const iv = bufferOf(algorithm.iv);
    if (iv.length === 0) throw failed();
    const cipher = createCipheriv(gcm(bytes), bytes, iv).setAAD(associated(algorithm));
    return arrayBufferOf(Buffer.concat([cipher.update(bufferOf(data)), cipher.final(), cipher.getAuthTag()]));
  },

  async decrypt(algorithm: GcmAlgorithm, key: SecretKey, data: Bytes) {
    const bytes = bytesOf(key, nameOf(algorithm, "AES-GCM"), "decrypt");
    const sealed = bufferOf(data);
    if (sealed.length < TAG_BYTES) throw failed();
    try {
      const decipher = createDecipheriv(gcm(bytes), bytes, bufferOf(algorithm.iv)).setAAD(associated(algorithm));
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
      return arrayBufferOf(Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]));
    } catch {
      throw failed();
    }
  },

  timingSafeEqual(a: Bytes, b: Bytes) {
    if (a.byteLength !== b.byteLength) throw new TypeError("Values of unequal lengths.");
    return timingSafeEqual(bufferOf(a), bufferOf(b));
  },
};
