/** These functions are written here, because plain node and older browsers have no Uint8Array.fromHex, toHex and fromBase64. */

export type Bytes = Uint8Array<ArrayBuffer>;

export const encode = (text: string): Bytes => Uint8Array.from(new TextEncoder().encode(text));

export const toHex = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** @param hex an even number of hex digits */
export const fromHex = (hex: string): Bytes =>
  Uint8Array.from({ length: hex.length / 2 }, (_, index) => Number.parseInt(hex.slice(2 * index, 2 * index + 2), 16));

/** Base64 or base64url, with or without padding; undefined when it is neither. */
export function fromBase64(text: string): Bytes | undefined {
  try {
    const characters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(characters, (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

/** Decodes UTF-8 and keeps a byte order mark. Wrong bytes become U+FFFD. */
export const decode = (bytes: Uint8Array): string => utf8.decode(bytes);

/** A header's value as it arrives: HTTP removes the blanks around it. */
export const asHeader = (text: string): string => text.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");

/** @param text characters up to U+00FF, each for one byte */
export const latin1 = (text: string): Bytes => Uint8Array.from(text, (character) => character.charCodeAt(0));

/** One character for each byte. */
export function asLatin1(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

export const toBase64 = (bytes: Uint8Array): string => btoa(asLatin1(bytes));

/** Decodes strictly; undefined when the bytes are not in this encoding, or the platform does not know it. */
export function decodeStrictly(bytes: Uint8Array, encoding: string): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

let gbkCodes: Map<string, number> | undefined;

/** GBK, the default encoding of older programs on Chinese Windows; undefined when GBK lacks one of the characters. */
export function encodeGbk(text: string): Bytes | undefined {
  gbkCodes ??= readGbk();
  const bytes: number[] = [];
  for (const character of text) {
    const code = character < "\x80" ? character.charCodeAt(0) : gbkCodes.get(character);
    if (code === undefined) return undefined;
    if (code > 0xff) bytes.push(code >> 8);
    bytes.push(code & 0xff);
  }
  return Uint8Array.from(bytes);
}

/** The codes of all characters of GBK. Platforms decode GBK, but none encodes it. */
function readGbk(): Map<string, number> {
  const codes = new Map<string, number>();
  for (let lead = 0x81; lead <= 0xfe; lead++) {
    for (let trail = 0x40; trail <= 0xfe; trail++) {
      const character = decodeStrictly(Uint8Array.of(lead, trail), "gbk");
      if (character !== undefined && [...character].length === 1) codes.set(character, lead * 256 + trail);
    }
  }
  return codes;
}
