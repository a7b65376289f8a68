import type { Runtime } from "../../runtime.ts";
import {
  deleteConsoleSession,
  insertConsoleSession,
  isConsoleSession,
} from "../../store/directory/console-sessions.ts";

/**
 * The console's sign-in: a random value in a cookie, vouched for by this deployment's ADMIN_TOKEN, and a row in D1. Another token
 * ends every session, and signing out ends the one, in whatever browser a copy of its cookie is.
 */

/** 12 hours. */
export const SIGNED_IN_SECONDS = 43_200;

/** How long a ticket is good for: a secret is shown, or a thing just done is said, so long. */
export const TICKET_SECONDS = 600;

const NAME = "__Host-console";
const LABEL = "agent-session console v2";
const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;
const encoder = new TextEncoder();

export interface ConsoleSession {
  /** Of its row. */
  id: string;
  key: CryptoKey;
  /** What the forms of this page carry, so that each is taken once. */
  formToken: string;
}

/** Opens a session for whoever gave the right token. @returns `Set-Cookie` */
export async function openSession(runtime: Runtime, db: D1Database, adminToken: string, now: number): Promise<string> {
  const value = randomText(runtime);
  await insertConsoleSession(runtime, db, { id: await sha256(value), now, expiresAt: now + SIGNED_IN_SECONDS });
  return hostCookie(NAME, `${value}.${await macOf(await keyOf(adminToken), ["cookie", value])}`, SIGNED_IN_SECONDS);
}

/** The session of a request's cookie, looked up at each request: one that was signed out is gone at once, everywhere. */
export async function sessionOf(
  runtime: Runtime,
  request: Request,
  db: D1Database,
  adminToken: string | undefined,
  now: number,
): Promise<ConsoleSession | undefined> {
  const [value, mac] = (readCookie(request, NAME) ?? "").split(".");
  if (adminToken === undefined || value === undefined || mac === undefined) return undefined;
  const key = await keyOf(adminToken);
  // Before the database is asked: whoever makes cookies up costs no read.
  if (!(await isMac(key, ["cookie", value], mac))) return undefined;
  const id = await sha256(value);
  if (!(await isConsoleSession(runtime, db, id, now))) return undefined;
  const nonce = randomText(runtime);
  return { id, key, formToken: `${nonce}.${await macOf(key, ["form", id, nonce])}` };
}

/** Ends a session for good. @returns `Set-Cookie` */
export async function closeSession(
  runtime: Runtime,
  db: D1Database,
  session: ConsoleSession | undefined,
): Promise<string> {
  if (session !== undefined) await deleteConsoleSession(runtime, db, session.id);
  return hostCookie(NAME, "", 0);
}

/** Whether a form was made for this session. */
export async function isFormToken({ id, key }: ConsoleSession, token: string): Promise<boolean> {
  const [nonce, mac] = token.split(".");
  return nonce !== undefined && mac !== undefined && isMac(key, ["form", id, nonce], mac);
}

/** Proof for an address that this session was led there a moment ago, and for nothing else. It holds no secret. */
export async function ticketFor({ id, key }: ConsoleSession, purpose: string[], now: number): Promise<string> {
  const expiresAt = String(now + TICKET_SECONDS);
  return `${expiresAt}.${await macOf(key, ["ticket", id, expiresAt, ...purpose])}`;
}

/** Unix seconds until when a ticket holds; undefined when it does not. */
export async function ticketEnd(
  { id, key }: ConsoleSession,
  purpose: string[],
  ticket: string,
  now: number,
): Promise<number | undefined> {
  const [expiresAt = "", mac = ""] = ticket.split(".");
  if (!(Number(expiresAt) > now)) return undefined;
  return (await isMac(key, ["ticket", id, expiresAt, ...purpose], mac)) ? Number(expiresAt) : undefined;
}

/** A cookie that is this host's alone and out of scripts' reach. Lax: links from a mail find who is signed in; posts are checked by Origin. */
export function hostCookie(name: string, value: string, maxAgeSeconds: number): string {
  return `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; Secure; HttpOnly; SameSite=Lax`;
}

export function readCookie(request: Request, name: string): string | undefined {
  const pairs = (request.headers.get("cookie") ?? "").split(/; */);
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

export async function sha256(text: string): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text))).toHex();
}

const randomText = (runtime: Runtime) => runtime.bytes(32).toBase64(BASE64URL);

/** The first part says what it is for, so that a MAC of one kind is none of another. */
const partsOf = (parts: string[]) => encoder.encode(JSON.stringify(parts));

async function macOf(key: CryptoKey, parts: string[]): Promise<string> {
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, partsOf(parts))).toBase64(BASE64URL);
}

async function isMac(key: CryptoKey, parts: string[], mac: string): Promise<boolean> {
  if (!/^[\w-]{43}$/.test(mac)) return false;
  return crypto.subtle.verify("HMAC", key, Uint8Array.fromBase64(mac, BASE64URL), partsOf(parts));
}

/** A key of its own, so that nothing the cookie shows helps with the token, and another token means another key. */
async function keyOf(adminToken: string): Promise<CryptoKey> {
  const token = await crypto.subtle.importKey("raw", encoder.encode(adminToken), "HKDF", false, ["deriveKey"]);
  const derivation = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: encoder.encode(LABEL) };
  const purpose = { name: "HMAC", hash: "SHA-256", length: 256 };
  return crypto.subtle.deriveKey(derivation, token, purpose, false, ["sign", "verify"]);
}
