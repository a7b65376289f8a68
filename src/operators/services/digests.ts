import type { Runtime } from "../../core/runtime.ts";

const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;
const encoder = new TextEncoder();

/** 32 random bytes in base64url, for values that must be impossible to guess. */
export const randomText = (runtime: Runtime): string => runtime.bytes(32).toBase64(BASE64URL);

/** The SHA-256 of a text, in hex. */
export async function sha256(text: string): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text))).toHex();
}

/** A MAC over `parts`. The first part names the MAC's purpose, so that a MAC for one purpose is not accepted for another. */
export async function macOf(key: CryptoKey, parts: string[]): Promise<string> {
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, bytesOf(parts))).toBase64(BASE64URL);
}

/** Whether `mac` is the MAC over `parts`. Takes constant time. */
export async function isMac(key: CryptoKey, parts: string[], mac: string): Promise<boolean> {
  if (!/^[\w-]{43}$/.test(mac)) return false;
  return crypto.subtle.verify("HMAC", key, Uint8Array.fromBase64(mac, BASE64URL), bytesOf(parts));
}

const bytesOf = (parts: string[]) => encoder.encode(JSON.stringify(parts));
