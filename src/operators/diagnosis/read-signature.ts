import { asHeader, asLatin1, type Bytes, fromBase64, fromHex } from "./encodings.ts";
import type { Finding } from "./words.ts";

export interface ReadSignature {
  /** What is wrong with the form. Empty when the server accepts it. */
  mistakes: SignatureMistake[];
  /** The mistakes in words, in the same order. */
  findings: Finding[];
  /** The 32 bytes that the sender meant; undefined when they cannot be read. */
  bytes?: Bytes;
  /** The hex digits in lower case, when only their number is wrong. */
  digits?: string;
}

/** A prefix, a wrapping or an encoding that is taken off, so that the digits in it can be read. */
interface SignatureRow {
  name: string;
  words: string;
  /** Undefined or the same text when the signature does not have this form. */
  strip: (text: string) => string | undefined;
}

const removing = (pattern: RegExp) => (text: string) => text.replace(pattern, "");
const unseparated = (separator: string) => (text: string) =>
  /^[0-9a-f]{2}(?:[-: ][0-9a-f]{2}){31}$/i.test(text) && text[2] === separator
    ? text.replaceAll(separator, "")
    : undefined;

/** No signature in any form is longer. The patterns below take quadratic time, so a body in the wrong field must not reach them. */
const LONGEST = 1_000;

const ROWS: readonly SignatureRow[] = [
  {
    name: "header_name",
    words: "It begins with the name of the header. Its value is the 64 hex digits alone.",
    strip: removing(/^x-chat-signature\s*[:=]\s*/i),
  },
  {
    name: "twice",
    words: "It was sent twice, with a comma between: two headers of this name, or two values. Send it once.",
    strip: removing(/,\s*(\S+)$(?<=^\1,\s*\1)/),
  },
  {
    name: "openssl",
    words:
      "It is a whole line of openssl, as “(stdin)= …”. Send the hex digits alone: take what stands after the last blank.",
    strip: removing(/^(?:hmac-)?(?:sha(?:2-)?256)?\([^()]*\)\s*=\s*/i),
  },
  {
    name: "file_name",
    words: "A file name stands after it, as sha256sum and openssl -r print it. Send the hex digits alone.",
    strip: (text) => /^([0-9a-f]{64})\s+[-*]\S*$/i.exec(text)?.[1],
  },
  {
    name: "bearer",
    words: "A word such as Bearer stands before it. Send the hex digits alone.",
    strip: removing(/^(?:bearer|basic|hmac|token|signature)[ =:]\s*/i),
  },
  {
    name: "version",
    words: "A version such as v1= stands before it. Send the hex digits alone.",
    strip: removing(/^v\d[=,:]\s*/i),
  },
  {
    name: "quoted",
    words: "Send it without the quotation marks.",
    strip: removing(/^(["'`])(?=.*\1$)|(?<=^(["'`]).*)\2$/g),
  },
  {
    name: "python_bytes",
    words: "It is the text of Python bytes, as b'…'. Use hexdigest(), or decode the bytes.",
    strip: (text) => /^b(['"])(.*)\1$/.exec(text)?.[2],
  },
  {
    name: "prefix",
    words: "Send the hex digits alone, without a prefix like “sha256=”.",
    strip: removing(/^(?:hmac[-_ ]?)?sha-?256[=: ]\s*/i),
  },
  {
    name: "zero_x",
    words: "Send the hex digits alone, without 0x before them.",
    strip: removing(/^(?:0x|\\x)(?=[0-9a-f:\- ]+$)/i),
  },
  {
    name: "dashes",
    words: "Dashes stand between its bytes, as BitConverter.ToString writes them. Send the hex digits alone.",
    strip: unseparated("-"),
  },
  { name: "colons", words: "Colons stand between its bytes. Send the hex digits alone.", strip: unseparated(":") },
  {
    name: "blanks_inside",
    words: "Blanks stand between its bytes. Send the hex digits alone.",
    strip: unseparated(" "),
  },
  {
    name: "percent_encoded",
    words: "It is percent-encoded, as for an address. Send it as it is.",
    strip: (text) =>
      /%(?:2[bf]|3d)/i.test(text) ? text.replace(/%2b/gi, "+").replace(/%2f/gi, "/").replace(/%3d/gi, "=") : undefined,
  },
  {
    name: "invisible",
    words: "It holds a character that cannot be seen, such as a zero-width space. Type it anew, or trim it.",
    strip: removing(/[\u00a0\u00ad\u200b-\u200f\u2060\ufeff]/g),
  },
];

/** What is wrong with the digits themselves. */
const DIGIT_WORDS = {
  missing: "There is no signature: send it in the header x-chat-signature.",
  base64: "It is base64. Send hex: 64 digits.",
  base64_of_hex: "It is base64 of the hex digits. Send the hex digits themselves.",
  hex_of_hex: "It is hex of the hex digits: encoded twice. Send the hex digits themselves.",
  length: "It has {0} hex digits; HMAC-SHA256 has 64.",
  md5: "It has {0} hex digits; HMAC-SHA256 has 64. That many is MD5.",
  sha1: "It has {0} hex digits; HMAC-SHA256 has 64. That many is SHA-1.",
  sha384: "It has {0} hex digits; HMAC-SHA256 has 64. That many is SHA-384.",
  sha512: "It has {0} hex digits; HMAC-SHA256 has 64. That many is SHA-512.",
  jwt: "It is a JSON Web Token. Send the HMAC-SHA256 of the body, in hex.",
  unreadable: "It is neither hex nor base64 of 32 bytes.",
} as const;

const HASH_OF_LENGTH: Record<number, keyof typeof DIGIT_WORDS> = { 32: "md5", 40: "sha1", 96: "sha384", 128: "sha512" };

/** What is wrong with the form of a pasted signature. The right form is 64 hex digits. */
export type SignatureMistake = string;

export const SIGNATURE_TEXTS: readonly string[] = [...ROWS.map(({ words }) => words), ...Object.values(DIGIT_WORDS)];

/** Reads a signature as its sender may have meant it. Blanks around it are no mistake, because HTTP removes them from headers. */
export function readSignature(pasted: string): ReadSignature {
  const findings: Finding[] = [];
  let text = asHeader(pasted).slice(0, LONGEST);
  for (const { name, words, strip } of ROWS) {
    const stripped = strip(text) ?? text;
    if (stripped !== text) findings.push({ name, words });
    text = stripped;
  }
  const { mistake, ...bytesAndDigits } = readDigits(text);
  if (mistake !== undefined) findings.push({ name: mistake, words: DIGIT_WORDS[mistake], values: [text.length] });
  return { mistakes: findings.map(({ name }) => name), findings, ...bytesAndDigits };
}

type ReadDigits = Pick<ReadSignature, "bytes" | "digits"> & { mistake?: keyof typeof DIGIT_WORDS };

function readDigits(text: string): ReadDigits {
  if (text === "") return { mistake: "missing" };
  if (isHex(text)) return { bytes: fromHex(text) };
  if (/^[0-9a-f]+$/i.test(text)) {
    const inner = text.length === 128 ? asLatin1(fromHex(text)) : "";
    if (isHex(inner)) return { mistake: "hex_of_hex", bytes: fromHex(inner) };
    return { mistake: HASH_OF_LENGTH[text.length] ?? "length", digits: text.toLowerCase() };
  }
  const decoded = fromBase64(text);
  if (decoded?.length === 32) return { mistake: "base64", bytes: decoded };
  const hex = decoded === undefined ? "" : asLatin1(decoded).trim();
  if (isHex(hex)) return { mistake: "base64_of_hex", bytes: fromHex(hex) };
  return { mistake: /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text) ? "jwt" : "unreadable" };
}

const isHex = (text: string) => /^[0-9a-f]{64}$/i.test(text);
