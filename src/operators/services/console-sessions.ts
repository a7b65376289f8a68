import type { Who } from "../store/audit.ts";
import {
  type ConsoleSessionRow,
  insertConsoleSession,
  selectConsoleSession,
  selectConsoleSessions,
  selectSessionOfName,
  sessionName,
  updateSessionEnded,
  updateSessionUsed,
} from "../store/directory/console-sessions.ts";
import { checkAdminToken, type GivenToken } from "./admin-token.ts";
import { isMac, macOf, randomText, sha256 } from "./digests.ts";
import { type Identity, ROOT } from "./identity.ts";
import { consoleSessionUnknown } from "./refusals.ts";
import { authorOf, type ServiceContext } from "./service-context.ts";
import { writeLater } from "./sign-in-log.ts";

/**
 * A sign-in to the console with the admin token: a cookie holds a random value and its MAC, and D1 holds a row. The MAC's key is
 * derived from ADMIN_TOKEN, so a new token ends every such session. Signing out ends the row: then every copy of the cookie is
 * refused. A sign-in by Cloudflare Access has a row too, and no cookie of ours: access-sessions.ts.
 */
export interface ConsoleSession {
  /** The id of its row in D1. */
  id: string;
  key: CryptoKey;
  /** The forms of one page send it along, so that each is carried out once. */
  formToken: string;
  /** Unix seconds. */
  expiresAt: number;
  identity: Identity;
}

/** How long a sign-in is valid: 12 hours. */
export const SIGNED_IN_SECONDS = 43_200;

const HASH_LABEL = "agent-session console v2";
const encoder = new TextEncoder();

/** A key derived by HKDF: a cookie then tells nothing about the token, and a new token makes old cookies invalid. */
export async function consoleKey(adminToken: string): Promise<CryptoKey> {
  const token = await crypto.subtle.importKey("raw", encoder.encode(adminToken), "HKDF", false, ["deriveKey"]);
  const derivation = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: encoder.encode(HASH_LABEL) };
  const purpose = { name: "HMAC", hash: "SHA-256", length: 256 };
  return crypto.subtle.deriveKey(derivation, token, purpose, false, ["sign", "verify"]);
}

/**
 * Opens a console session for an operator who gives the admin token.
 *
 * @param givenToken `browser` is the operator's, in a few words
 * @returns the value of the cookie
 * @throws ServiceError as `checkAdminToken` does
 */
export async function openConsoleSession(
  ctx: ServiceContext,
  givenToken: GivenToken & { token: string; browser: string | null },
): Promise<string> {
  await checkAdminToken(ctx, givenToken);
  const value = randomText(ctx.runtime);
  const row = newSession(ctx, await sha256(value), ROOT, ctx.now + SIGNED_IN_SECONDS, givenToken.browser);
  await insertConsoleSession(ctx.runtime, ctx.config.directory, row, authorOf({ ...ctx, identity: ROOT }));
  return `${value}.${await macOf(await consoleKey(givenToken.token), ["cookie", value])}`;
}

/** The row of a session that begins now. @param expiresAt Unix seconds */
export const newSession = (
  { now, address }: ServiceContext,
  id: string,
  { who }: Identity,
  expiresAt: number,
  browser: string | null,
): ConsoleSessionRow => ({
  id,
  createdAt: now,
  expiresAt,
  browser,
  address,
  lastUsedAt: now,
  endedAt: null,
  whoKind: who.kind,
  whoId: who.id,
  whoName: who.name,
});

/**
 * The session of a cookie; undefined when nobody is signed in. Each request reads D1, so that signing out works everywhere at once.
 *
 * @param input `cookie` as `openConsoleSession` returned it
 */
export async function checkConsoleSession(
  ctx: ServiceContext,
  { cookie }: { cookie: string },
): Promise<ConsoleSession | undefined> {
  const { runtime, config, now } = ctx;
  const [value, mac] = cookie.split(".");
  if (config.adminToken === undefined || value === undefined || mac === undefined) return undefined;
  const key = await consoleKey(config.adminToken);
  // The MAC is checked first: otherwise every forged cookie would cost a read of D1.
  if (!(await isMac(key, ["cookie", value], mac))) return undefined;
  const row = await selectConsoleSession(runtime, config.directory, await sha256(value), now);
  if (row === undefined || row.endedAt !== null) return undefined;
  return sessionOf(ctx, row, key, ROOT);
}

/** How exactly the last use of a session is stored, in seconds: a write for each page would be too many. */
export const USE_SECONDS = 300;

/** The session of a row. Notes its use. */
export async function sessionOf(
  ctx: ServiceContext,
  { id, lastUsedAt, expiresAt }: ConsoleSessionRow,
  key: CryptoKey,
  identity: Identity,
): Promise<ConsoleSession> {
  const { runtime, config, now } = ctx;
  if (now - (lastUsedAt ?? 0) >= USE_SECONDS) writeLater(ctx, () => updateSessionUsed(config.directory, id, now));
  const nonce = randomText(runtime);
  return { id, key, formToken: `${nonce}.${await macOf(key, ["form", id, nonce])}`, expiresAt, identity };
}

/** Ends the operator's own console session for good. */
export async function closeConsoleSession(ctx: ServiceContext, { id }: { id: string }): Promise<void> {
  const { runtime, config, now } = ctx;
  const row = await selectConsoleSession(runtime, config.directory, id, now);
  if (row !== undefined) await updateSessionEnded(runtime, config.directory, row, "operator.signed_out", authorOf(ctx));
}

/** A console session as lists show it. Times are Unix seconds. */
export interface OpenSession extends Pick<ConsoleSessionRow, "browser" | "address" | "createdAt" | "lastUsedAt"> {
  /** What addresses and the audit log call it. */
  name: string;
  who: Who;
}

export const isSessionName = (name: string, { id }: Pick<ConsoleSession, "id">): boolean => name === sessionName(id);

export const MOST_LISTED_SESSIONS = 200;

/** Who opened a session. In rows from before this was stored, it is the ADMIN_TOKEN. */
const whoOf = ({ whoKind, whoId, whoName }: ConsoleSessionRow): Who =>
  whoKind === null || whoId === null ? ROOT.who : { kind: whoKind, id: whoId, name: whoName ?? whoId };

/** The id of the person whose sessions the operator sees and ends: undefined for everyone's. */
const onlyOwnPerson = ({ identity }: ServiceContext): string | undefined =>
  identity?.role === "owner" ? undefined : (identity?.who.id ?? "");

/** The open console sessions, the last used first. An owner's list has everyone's; other operators see only their own. */
export async function listConsoleSessions(ctx: ServiceContext): Promise<OpenSession[]> {
  const { config, now } = ctx;
  const rows = await selectConsoleSessions(config.directory, now, onlyOwnPerson(ctx), MOST_LISTED_SESSIONS);
  return rows.map((row) => {
    const { id, browser, address, createdAt, lastUsedAt } = row;
    return { name: sessionName(id), who: whoOf(row), browser, address, createdAt, lastUsedAt };
  });
}

/**
 * Ends a console session for good: from the next request on its cookie is refused.
 *
 * @param input `name` as lists have it
 * @returns false when it had ended before; then nothing is changed
 * @throws ServiceError `not_found`; for those who are no owner, also for a session of somebody else
 */
export async function endConsoleSession(ctx: ServiceContext, { name }: { name: string }): Promise<boolean> {
  const { runtime, config, now } = ctx;
  const isName = /^[0-9a-f]{16}$/.test(name);
  const row = isName ? await selectSessionOfName(runtime, config.directory, name) : undefined;
  if (row === undefined || ![undefined, whoOf(row).id].includes(onlyOwnPerson(ctx))) throw consoleSessionUnknown();
  if (row.endedAt !== null || row.expiresAt <= now) return false;
  await updateSessionEnded(runtime, config.directory, row, "operator.session_ended", authorOf(ctx));
  return true;
}
