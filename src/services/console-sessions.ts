import type { Runtime } from "../runtime.ts";
import { insertConsoleSession, isConsoleSession, updateSessionEnded } from "../store/directory/console-sessions.ts";
import { checkAdminToken, type GivenToken } from "./admin-token.ts";
import type { ServiceContext } from "./service-context.ts";

/**
 * A sign-in to the console: a cookie holds a random value and its MAC, and D1 holds a row. The MAC's key is derived from ADMIN_TOKEN,
 * so a new token ends every session. Signing out deletes the row: then every copy of the cookie is refused.
 */
export interface ConsoleSession {
  /** The id of its row in D1. */
  id: string;
  key: CryptoKey;
  /** The forms of one page send it along, so that each is carried out once. */
  formToken: string;
}

/** How long a sign-in is valid: 12 hours. */
export const SIGNED_IN_SECONDS = 43_200;

const LABEL = "agent-session console v2";
const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;
const encoder = new TextEncoder();

const randomText = (runtime: Runtime): string => runtime.bytes(32).toBase64(BASE64URL);

/** In hex. */
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

/** A key derived by HKDF: a cookie then tells nothing about the token, and a new token makes old cookies invalid. */
async function consoleKey(adminToken: string): Promise<CryptoKey> {
  const token = await crypto.subtle.importKey("raw", encoder.encode(adminToken), "HKDF", false, ["deriveKey"]);
  const derivation = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: encoder.encode(LABEL) };
  const purpose = { name: "HMAC", hash: "SHA-256", length: 256 };
  return crypto.subtle.deriveKey(derivation, token, purpose, false, ["sign", "verify"]);
}

/**
 * Opens a console session for an operator who gives the admin token.
 *
 * @returns the value of the cookie
 * @throws ServiceError as `checkAdminToken` does
 */
export async function openConsoleSession(ctx: ServiceContext, given: GivenToken & { token: string }): Promise<string> {
  await checkAdminToken(ctx, given);
  const value = randomText(ctx.runtime);
  const row = { id: await sha256(value), now: ctx.now, expiresAt: ctx.now + SIGNED_IN_SECONDS };
  await insertConsoleSession(ctx.runtime, ctx.config.directory, row);
  return `${value}.${await macOf(await consoleKey(given.token), ["cookie", value])}`;
}

/**
 * The session of a cookie; undefined when nobody is signed in. Each request reads D1, so that signing out works everywhere at once.
 *
 * @param input `cookie` as `openConsoleSession` returned it
 */
export async function checkConsoleSession(
  { runtime, config, now }: ServiceContext,
  { cookie }: { cookie: string },
): Promise<ConsoleSession | undefined> {
  const [value, mac] = cookie.split(".");
  if (config.adminToken === undefined || value === undefined || mac === undefined) return undefined;
  const key = await consoleKey(config.adminToken);
  // The MAC is checked first: otherwise every forged cookie would cost a read of D1.
  if (!(await isMac(key, ["cookie", value], mac))) return undefined;
  const id = await sha256(value);
  if (!(await isConsoleSession(runtime, config.directory, id, now))) return undefined;
  const nonce = randomText(runtime);
  return { id, key, formToken: `${nonce}.${await macOf(key, ["form", id, nonce])}` };
}

/** Ends a console session for good. */
export function closeConsoleSession({ runtime, config }: ServiceContext, { id }: { id: string }): Promise<void> {
  return updateSessionEnded(runtime, config.directory, id);
}
