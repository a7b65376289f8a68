import type { Runtime } from "../runtime.ts";

/**
 * The console's sign-in: a random value in a cookie with a MAC by a key derived from ADMIN_TOKEN, and a row in D1. Another
 * ADMIN_TOKEN ends every session; signing out ends the one, in whatever browser a copy of its cookie is.
 */
export interface ConsoleSession {
  /** Of its row. */
  id: string;
  key: CryptoKey;
  /** What the forms of one page carry, so that each is taken once. */
  formToken: string;
}

/** 12 hours. */
export const SIGNED_IN_SECONDS = 43_200;

const LABEL = "agent-session console v2";
const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;
const encoder = new TextEncoder();

export const randomText = (runtime: Runtime): string => runtime.bytes(32).toBase64(BASE64URL);

/** In hex. */
export async function sha256(text: string): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text))).toHex();
}

/** A MAC of these parts. The first one says what the MAC is for, so that none passes for another kind. */
export async function macOf(key: CryptoKey, parts: string[]): Promise<string> {
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, bytesOf(parts))).toBase64(BASE64URL);
}

/** Whether it is the MAC of these parts, in constant time. */
export async function isMac(key: CryptoKey, parts: string[], mac: string): Promise<boolean> {
  if (!/^[\w-]{43}$/.test(mac)) return false;
  return crypto.subtle.verify("HMAC", key, Uint8Array.fromBase64(mac, BASE64URL), bytesOf(parts));
}

const bytesOf = (parts: string[]) => encoder.encode(JSON.stringify(parts));

/** A key of its own, so that nothing the cookie shows helps with the token, and another token means another key. */
export async function consoleKey(adminToken: string): Promise<CryptoKey> {
  const token = await crypto.subtle.importKey("raw", encoder.encode(adminToken), "HKDF", false, ["deriveKey"]);
  const derivation = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: encoder.encode(LABEL) };
  const purpose = { name: "HMAC", hash: "SHA-256", length: 256 };
  return crypto.subtle.deriveKey(derivation, token, purpose, false, ["sign", "verify"]);
}
