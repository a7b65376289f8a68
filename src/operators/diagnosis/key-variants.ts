import { type Bytes, encode, fromBase64, fromHex, toBase64, toHex } from "./encodings.ts";
import type { Finding } from "./words.ts";

/** A key that a caller may have used, and how he made it from the secret. */
export interface KeyVariant {
  bytes: Bytes;
  finding: Finding;
}

interface KeyRow {
  name: string;
  words: string;
  make: (secret: string, appid: string) => string | Bytes | undefined;
}

const TRIM = "Trim the secret when you read it.";

/** Each row: what was used in place of the secret, and the words for its sender. */
const ROWS: readonly KeyRow[] = [
  {
    name: "secret_lf",
    words: `The key ends with a line feed (LF) that is not part of the secret, as in a file. ${TRIM}`,
    make: (s) => `${s}\n`,
  },
  {
    name: "secret_crlf",
    words: `The key ends with a line end (CRLF) that is not part of the secret, as in a file from Windows. ${TRIM}`,
    make: (s) => `${s}\r\n`,
  },
  {
    name: "secret_cr",
    words: `The key ends with a carriage return (CR) that is not part of the secret, as in a file from Windows. ${TRIM}`,
    make: (s) => `${s}\r`,
  },
  { name: "secret_blank_after", words: `The key has a blank after the secret. ${TRIM}`, make: (s) => `${s} ` },
  { name: "secret_blank_before", words: `The key has a blank before the secret. ${TRIM}`, make: (s) => ` ${s}` },
  { name: "secret_blanks_around", words: `The key has blanks around the secret. ${TRIM}`, make: (s) => ` ${s} ` },
  {
    name: "secret_trimmed",
    words:
      "The secret has blanks or a line end around it, and the key has not: they are part of the secret, or came in while copying.",
    make: (s) => s.trim(),
  },
  {
    name: "secret_bom",
    words: "The key begins with a byte order mark (BOM): the file with the secret was saved as UTF-8 with BOM.",
    make: (s) => `\ufeff${s}`,
  },
  {
    name: "secret_double_quotes",
    words: 'The key has the quotes " around the secret, as in a settings file. They are not part of it.',
    make: (s) => `"${s}"`,
  },
  {
    name: "secret_single_quotes",
    words: "The key has the quotes ' around the secret, as in a settings file. They are not part of it.",
    make: (s) => `'${s}'`,
  },
  {
    name: "secret_unquoted",
    words: "The secret that was given has quotes around it, and the key has not.",
    make: (s) => s.replace(/^(["'])(.*)\1$/s, "$2"),
  },
  {
    name: "secret_upper_case",
    words: "The secret was put in upper case before use. Its characters are the key, as they are.",
    make: (s) => s.toUpperCase(),
  },
  {
    name: "secret_lower_case",
    words: "The secret was put in lower case before use. Its characters are the key, as they are.",
    make: (s) => s.toLowerCase(),
  },
  {
    name: "secret_hex_decoded",
    words: "The secret was decoded from hex before use. Its characters are the key, as they are.",
    make: (s) => (/^(?:[0-9a-f]{2})+$/i.test(s) ? fromHex(s) : undefined),
  },
  {
    name: "secret_base64_decoded",
    words: "The secret was decoded from base64 before use. Its characters are the key, as they are.",
    make: (s) => fromBase64(s),
  },
  {
    name: "secret_base64_encoded",
    words: "The secret was encoded in base64 before use. Its characters are the key, as they are.",
    make: (s) => toBase64(encode(s)),
  },
  {
    name: "secret_hex_encoded",
    words: "The secret was encoded in hex before use. Its characters are the key, as they are.",
    make: (s) => toHex(encode(s)),
  },
  {
    name: "secret_percent_encoded",
    words: "The secret was percent-encoded before use. Its characters are the key, as they are.",
    make: (s) => encodeURIComponent(s.toWellFormed()),
  },
  {
    name: "secret_ampersand",
    words: "The key has & after the secret, as some other APIs want it. The secret alone is the key.",
    make: (s) => `${s}&`,
  },
  {
    name: "secret_last_missing",
    words: "The last character of the secret is missing from the key. Copy the whole secret.",
    make: (s) => s.slice(0, -1),
  },
  {
    name: "secret_first_missing",
    words: "The first character of the secret is missing from the key. Copy the whole secret.",
    make: (s) => s.slice(1),
  },
  { name: "secret_empty", words: "The key is empty: the variable with the secret was not set.", make: () => "" },
  {
    name: "secret_undefined",
    words: "The key is the word undefined: the variable with the secret was not set.",
    make: () => "undefined",
  },
  {
    name: "secret_null",
    words: "The key is the word null: the variable with the secret was not set.",
    make: () => "null",
  },
  {
    name: "secret_none",
    words: "The key is the word None: the variable with the secret was not set.",
    make: () => "None",
  },
  {
    name: "secret_appid",
    words: "The key is the appid. The key is the secret that was shown with it.",
    make: (_, appid) => appid || undefined,
  },
  {
    name: "secret_example",
    words: "The key is the example of the documentation. The key is the secret of your app.",
    make: () => "YOUR_APP_SECRET",
  },
  {
    name: "secret_example",
    words: "The key is the example of the documentation. The key is the secret of your app.",
    make: () => "keep-this-on-your-server",
  },
];

export const KEY_TEXTS: readonly string[] = ROWS.map(({ words }) => words);

/** The keys that callers use in place of a secret. One of them is tried at a time. */
export function keyVariants(secret: string, appid: string): KeyVariant[] {
  const variants: KeyVariant[] = [];
  const seen = new Set([toHex(encode(secret))]);
  for (const { make, ...finding } of ROWS) {
    const made = make(secret, appid);
    if (made === undefined) continue;
    const bytes = typeof made === "string" ? encode(made) : made;
    const hex = toHex(bytes);
    if (!seen.has(hex)) variants.push({ bytes, finding });
    seen.add(hex);
  }
  return variants;
}
