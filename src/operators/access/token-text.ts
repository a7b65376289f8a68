import type { Runtime } from "../../core/runtime.ts";

/** What the tokens that owners make are for, each kind with its prefix. */
export const TOKEN_PREFIXES = { program: "ast_", person: "asp_" } as const;

/** `program`: it opens the admin API. `person`: somebody signs in to the console with it. */
export type TokenKind = keyof typeof TOKEN_PREFIXES;

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** How many base62 digits 32 bytes take, and how many a CRC32 takes. */
const [RANDOM_DIGITS, CHECK_DIGITS] = [43, 6];

const FORM = new RegExp(`^.{4}[0-9A-Za-z]{${RANDOM_DIGITS + CHECK_DIGITS}}$`);

/**
 * A new token: the prefix of its kind, 32 random bytes in base62 (43 digits), and the CRC32 of all characters before it in base62 (6
 * digits). Scanners find leaked tokens by this form.
 */
export function newTokenText(runtime: Runtime, kind: TokenKind): string {
  const text = TOKEN_PREFIXES[kind] + base62(BigInt(`0x${runtime.bytes(32).toHex()}`), RANDOM_DIGITS);
  return text + checkOf(text);
}

/** The kind of a token's text; undefined for another text. In a `slip` a character is wrong, missing or added. */
export function readTokenText(text: string): { kind: TokenKind; isSlip: boolean } | undefined {
  const kind = text.startsWith(TOKEN_PREFIXES.program) ? "program" : "person";
  if (!text.startsWith(TOKEN_PREFIXES[kind])) return undefined;
  const [head, check] = [text.slice(0, -CHECK_DIGITS), text.slice(-CHECK_DIGITS)];
  return { kind, isSlip: !(FORM.test(text) && check === checkOf(head)) };
}

const checkOf = (text: string) => base62(BigInt(crc32(new TextEncoder().encode(text))), CHECK_DIGITS);

function base62(number: bigint, length: number): string {
  let digits = "";
  for (let rest = number; digits.length < length; rest /= 62n) digits = DIGITS.charAt(Number(rest % 62n)) + digits;
  return digits;
}

/** CRC32 as zip, gzip and PNG use it: reflected, polynomial 0xEDB88320. Neither WebCrypto nor the runtime without flags has one. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
