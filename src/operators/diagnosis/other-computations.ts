import { type Bytes, encode, toHex } from "./encodings.ts";
import type { Finding } from "./words.ts";

/** All HMACs and hashes are computed here. A test counts them, because one body must not cost too many. */

const HASHES = { 40: "SHA-1", 64: "SHA-256", 96: "SHA-384", 128: "SHA-512" } as const;
type Hash = (typeof HASHES)[keyof typeof HASHES];

/** @param key may be empty. WebCrypto accepts no empty key, so it gets one zero byte: an HMAC pads its key with zeros anyway */
export const importHmac = (key: Bytes, hash: Hash = "SHA-256"): Promise<CryptoKey> => {
  const bytes = key.length === 0 ? new Uint8Array(1) : key;
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash }, false, ["sign", "verify"]);
};

export const macHex = async (key: CryptoKey, message: Bytes): Promise<string> =>
  toHex(new Uint8Array(await crypto.subtle.sign("HMAC", key, message)));

export const hashHex = async (hash: Hash, message: Bytes): Promise<string> =>
  toHex(new Uint8Array(await crypto.subtle.digest(hash, message)));

interface ComputationInput {
  hash: Hash;
  body: string;
  secret: string;
}

interface ComputationRow {
  name: string;
  words: string;
  /** The hex digits that a caller gets this way. */
  make: (input: ComputationInput) => Promise<string>;
}

const PLAIN_HASH_WORDS = "It is a plain {0} hash. Sign with HMAC-SHA256: the secret is its key, the body its message.";
const plainHash = (text: (input: ComputationInput) => string): ComputationRow => ({
  name: "plain_hash",
  words: PLAIN_HASH_WORDS,
  make: (inputs) => hashHex(inputs.hash, encode(text(inputs))),
});

/** What callers compute in place of the HMAC. */
const ROWS: readonly ComputationRow[] = [
  plainHash(({ body }) => body),
  plainHash(({ body, secret }) => body + secret),
  plainHash(({ body, secret }) => secret + body),
  plainHash(({ body, secret }) => `${body}&key=${secret}`),
  plainHash(({ body, secret }) => secret + body + secret),
  {
    name: "swapped",
    words: "Key and message are swapped: the secret is the key of the HMAC, the body its message.",
    make: async ({ hash, body, secret }) => macHex(await importHmac(encode(body), hash), encode(secret)),
  },
  {
    name: "hash_signed",
    words: "The HMAC is over the hash of the body. Sign the body itself.",
    make: async ({ hash, body, secret }) =>
      macHex(await importHmac(encode(secret), hash), encode(await hashHex("SHA-256", encode(body)))),
  },
  {
    name: "hash_signed",
    words: "The HMAC is over the hash of the body. Sign the body itself.",
    make: async ({ hash, body, secret }) =>
      macHex(
        await importHmac(encode(secret), hash),
        new Uint8Array(await crypto.subtle.digest("SHA-256", encode(body))),
      ),
  },
  {
    name: "key_hashed",
    words: "The key is the hash of the secret. The secret itself is the key, as it is.",
    make: async ({ hash, body, secret }) =>
      macHex(await importHmac(encode(await hashHex("SHA-256", encode(secret))), hash), encode(body)),
  },
];

const OTHER_HASH = "It is the HMAC with {0} in place of SHA-256. The body and the secret are right.";

/** With fewer digits the check does not say whether they are right: otherwise a signature could be guessed digit by digit. */
const LEAST_DIGITS = 16;

/** The wrong ways in which programs write the right hex digits. */
const WRITINGS: readonly { name: string; words: string; is: (sentDigits: string, rightDigits: string) => boolean }[] = [
  {
    name: "truncated",
    words: "It is the beginning of the right signature: the rest is missing. Send all 64 hex digits.",
    is: (sentDigits, rightDigits) => sentDigits.length >= LEAST_DIGITS && rightDigits.startsWith(sentDigits),
  },
  {
    name: "truncated",
    words: "It is the end of the right signature: the beginning is missing. Send all 64 hex digits.",
    is: (sentDigits, rightDigits) =>
      sentDigits.length >= LEAST_DIGITS &&
      rightDigits.endsWith(sentDigits) &&
      rightDigits.replace(/^0+/, "") !== sentDigits,
  },
  {
    name: "zeros_lost",
    words:
      "It is the right signature without its leading zeros, as BigInteger.toString(16) writes it. Fill it up to 64 digits.",
    is: (sentDigits, rightDigits) => rightDigits.replace(/^0+/, "") === sentDigits,
  },
  {
    name: "zeros_lost",
    words: "It is the right signature with the zeros of its bytes lost: write each byte as two hex digits.",
    is: (sentDigits, rightDigits) =>
      rightDigits.replace(/0(.)/g, "$1").length <= sentDigits.length &&
      rightDigits
        .match(/../g)
        ?.map((byte) => byte.replace(/^0/, ""))
        .join("") === sentDigits,
  },
  {
    name: "sign_extended",
    words:
      "It is the right signature with bytes written as negative numbers, ffffff80 and on. Mask each byte with 0xff first.",
    is: (sentDigits, rightDigits) =>
      rightDigits
        .match(/../g)
        ?.map((byte) => (byte >= "80" ? `ffffff${byte}` : byte.replace(/^0/, "")))
        .join("") === sentDigits,
  },
];

export const OTHER_TEXTS: readonly string[] = [...ROWS, ...WRITINGS].map(({ words }) => words).concat(OTHER_HASH);

/** Finds what the caller computed instead, when it is one of the table. `digits` is the hex that he sent, in lower case. */
export async function findOther(
  digits: string,
  body: string,
  secrets: readonly { secret: string }[],
): Promise<Finding | undefined> {
  const hash = HASHES[digits.length as keyof typeof HASHES];
  for (const { secret } of secrets) {
    if (digits.length !== 64) {
      const rightDigits = await macHex(await importHmac(encode(secret)), encode(body));
      const written = WRITINGS.find(({ is }) => is(digits, rightDigits));
      if (written !== undefined) return { name: written.name, words: written.words };
    }
    if (hash === undefined) continue;
    if (hash !== "SHA-256" && (await macHex(await importHmac(encode(secret), hash), encode(body))) === digits) {
      return { name: "other_hash", words: OTHER_HASH, values: [hash] };
    }
    for (const { name, words, make } of ROWS) {
      if ((await make({ hash, body, secret })) === digits) return { name, words, values: [hash] };
    }
  }
  return undefined;
}
