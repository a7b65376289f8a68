import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";

/** The form of tokens for programs: docs/operating.md, "Tokens". */

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** What looks like a token, anywhere in a text. */
const TOKEN = /ast_[0-9A-Za-z]{40,}/;

export const tokenIn = (text: string): string | undefined => TOKEN.exec(text)?.[0];

/** Whether a text is `ast_`, 43 characters and the CRC32 of all before in six more. */
export function hasForm(text: string): boolean {
  if (!/^ast_[0-9A-Za-z]{49}$/.test(text)) return false;
  const told = [...text.slice(-6)].reduce((sum, digit) => sum * 62 + DIGITS.indexOf(digit), 0);
  return told === crc32(text.slice(0, -6));
}

export const hashOf = (token: string): string => createHash("sha256").update(token).digest("hex");
