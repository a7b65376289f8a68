import { CLIENT_LIMIT_PERIOD, failureKey } from "../../core/signed/rate-limit.ts";
import { readTokenText } from "../access/token-text.ts";
import type { Who } from "../store/audit.ts";
import {
  type ConsoleSessionRow,
  insertConsoleSession,
  selectConsoleSession,
  selectSessionOfName,
  sessionName,
  updateSessionEnded,
  updateSessionUsed,
} from "../store/directory/console-sessions.ts";
import { nameOfPerson, selectPersonById } from "../store/directory/people.ts";
import { insertPersonSession, selectConsoleSessions, selectSessionAndPerson } from "../store/directory/visits.ts";
import { checkAdminToken, type GivenToken, refuseToken, waitForTurn } from "./admin-token.ts";
import { isMac, macOf, randomText, sha256 } from "./digests.ts";
import { hasExpired } from "./grants.ts";
import { type Identity, ROOT } from "./identity.ts";
import { identityOfPerson, notePersonUse, type Person, personIdOf, roleInSettings } from "./people.ts";
import { consoleSessionUnknown } from "./refusals.ts";
import { authorOf, type ServiceContext } from "./service-context.ts";
import { writeLater } from "./sign-in-log.ts";
import { beginCall, countCall } from "./token-limits.ts";

/**
 * A sign-in to the console with the admin token or with a person's token: a cookie holds a random value and its MAC, and D1 holds a row.
 * The MAC's key is derived from ADMIN_TOKEN, so a new token ends every such session. Signing out ends the row: then every copy of the
 * cookie is refused. A sign-in by Cloudflare Access has a row too, and no cookie of ours: access-sessions.ts.
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

/**
 * The purposes of a cookie's MAC. A person's cookie has one of its own: the release before this one knows only cookies of the root, and
 * would take every row for one of the root's.
 */
const COOKIE_OF = { root: "cookie", person: "cookie of a person" } as const;

const HASH_LABEL = "agent-session console v2";
const encoder = new TextEncoder();

/** A key derived by HKDF: a cookie then tells nothing about the token, and a new token makes old cookies invalid. */
export async function consoleKey(adminToken: string): Promise<CryptoKey> {
  const token = await crypto.subtle.importKey("raw", encoder.encode(adminToken), "HKDF", false, ["deriveKey"]);
  const derivation = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: encoder.encode(HASH_LABEL) };
  const purpose = { name: "HMAC", hash: "SHA-256", length: 256 };
  return crypto.subtle.deriveKey(derivation, token, purpose, false, ["sign", "verify"]);
}

/** A token for the sign-in page. `browser` is the operator's, in a few words. */
type SignInToken = GivenToken & { token: string; browser: string | null };

/**
 * Opens a console session for an operator who gives the admin token, or a person's token.
 *
 * @returns the value of the cookie
 * @throws ServiceError as `refuseToken` does
 */
export async function openConsoleSession(ctx: ServiceContext, givenToken: SignInToken): Promise<string> {
  const form = readTokenText(givenToken.token);
  const whose = form?.kind === "person" && !form.isSlip ? "person" : "root";
  const value = randomText(ctx.runtime);
  const id = await sha256(value);
  await (whose === "person" ? openPersonSession(ctx, givenToken, id) : openRootSession(ctx, givenToken, id));
  return `${value}.${await macOf(await consoleKey(ctx.config.adminToken ?? ""), [COOKIE_OF[whose], value])}`;
}

async function openRootSession(ctx: ServiceContext, givenToken: SignInToken, id: string): Promise<void> {
  await checkAdminToken(ctx, givenToken);
  const row = newSession(ctx, id, ROOT, ctx.now + SIGNED_IN_SECONDS, givenToken.browser);
  await insertConsoleSession(ctx.runtime, ctx.config.directory, row, authorOf({ ...ctx, identity: ROOT }));
}

async function openPersonSession(ctx: ServiceContext, givenToken: SignInToken, id: string): Promise<void> {
  const { runtime, config, now } = ctx;
  const person = await personWithToken(ctx, givenToken);
  const identity = identityOfPerson(person);
  const endsAt = Math.min(now + SIGNED_IN_SECONDS, person.expiresAt ?? Number.POSITIVE_INFINITY);
  const row = newSession(ctx, id, identity, endsAt, givenToken.browser);
  await insertPersonSession(runtime, config.directory, row, person, authorOf({ ...ctx, identity }));
  // Their access may have ended since it was read. Then nothing was inserted.
  if ((await selectConsoleSession(runtime, config.directory, id, now)) === undefined)
    await refuseToken(ctx, givenToken, "person_token_ended");
}

/**
 * The person whose token it is. The sign-in counts as a change of theirs: each leaves a session and a row of the audit log.
 *
 * @throws ServiceError as `refuseToken`, `waitForTurn` and `beginCall` do
 */
async function personWithToken(ctx: ServiceContext, givenToken: SignInToken) {
  const { runtime, config, now } = ctx;
  if (config.adminToken === undefined) return refuseToken(ctx, givenToken, "admin_token_wrong");
  const hash = await sha256(givenToken.token);
  const caller = { kind: "person", id: personIdOf(hash) } as const;
  await beginCall(ctx, caller, false);
  await waitForTurn(ctx, givenToken, caller.id, () => undefined);
  const person = await selectPersonById(runtime, config.directory, caller.id, hash);
  if (person === undefined) return refuseToken(ctx, givenToken, "person_token_ended");
  if (hasExpired(person, now)) return refuseToken(ctx, givenToken, "token_expired");
  await countCall(ctx, caller, false);
  return person;
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
 * The session of a cookie; undefined when nobody is signed in. Each request reads D1, so that signing out works everywhere at once, and so
 * that a person's access ends, and has the role, as their row says now.
 *
 * @param input `cookie` as `openConsoleSession` returned it
 */
export async function checkConsoleSession(
  ctx: ServiceContext,
  { cookie }: { cookie: string },
): Promise<ConsoleSession | undefined> {
  const { runtime, config, memory, now, waitUntil } = ctx;
  const [value, mac] = cookie.split(".");
  if (config.adminToken === undefined || value === undefined || mac === undefined) return undefined;
  const key = await consoleKey(config.adminToken);
  // The MAC is checked first: otherwise every forged cookie would cost a read of D1.
  const isRoot = await isMac(key, [COOKIE_OF.root, value], mac);
  if (!isRoot && !(await isMac(key, [COOKIE_OF.person, value], mac))) return undefined;
  const id = await sha256(value);
  // Whose access was ended still has a cookie of the right MAC, and could keep the directory busy with it.
  const failures = failureKey("operator", sessionName(id));
  if (memory.limits.isExceeded(failures)) return undefined;
  const { session, person } = (await selectSessionAndPerson(runtime, config.directory, id, now)) ?? {};
  if (session?.endedAt === null && isRoot) return sessionOf(ctx, session, key, ROOT);
  if (session?.endedAt === null && person) {
    notePersonUse(ctx, person);
    return sessionOf(ctx, session, key, identityOfPerson(person));
  }
  waitUntil(memory.limits.countLater(config.clientLimit, failures, CLIENT_LIMIT_PERIOD));
  return undefined;
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
export const listConsoleSessions = async (ctx: ServiceContext): Promise<OpenSession[]> =>
  (await openSessions(ctx, onlyOwnPerson(ctx))).map((row) => {
    const { id, browser, address, createdAt, lastUsedAt } = row;
    return { name: sessionName(id), who: whoOf(row), browser, address, createdAt, lastUsedAt };
  });

/** How many open sessions end with a person's access, as far as a list would show them. */
export const countOpenSessions = async (ctx: ServiceContext, person: Person): Promise<number> =>
  (await openSessions(ctx, nameOfPerson(person))).length;

/** Open sessions. One whose person neither a row nor the settings let in any more opens nothing, and is left out. */
async function openSessions(ctx: ServiceContext, whoId: string | undefined) {
  const rows = await selectConsoleSessions(ctx.config.directory, ctx.now, whoId, MOST_LISTED_SESSIONS);
  return rows.filter((row) => row.hasPerson || row.whoKind !== "person" || roleInSettings(ctx, row.whoId));
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
