import { CLIENT_LIMIT_PERIOD, failureKey } from "../../core/signed/rate-limit.ts";
import { roleOfEmail } from "../access/person-role.ts";
import { type AssertionReason, verifyAssertion } from "../access/verify-assertion.ts";
import {
  type ConsoleSessionRow,
  insertConsoleSession,
  selectConsoleSession,
} from "../store/directory/console-sessions.ts";
import { insertPersonSession, selectSessionAndEmail } from "../store/directory/visits.ts";
import { type ConsoleSession, consoleKey, newSession, sessionOf } from "./console-sessions.ts";
import { sha256 } from "./digests.ts";
import type { Identity } from "./identity.ts";
import { higherAccess, notePersonUse, type Person } from "./people.ts";
import { authorOf, type ServiceContext } from "./service-context.ts";
import { noteRefused } from "./sign-in-log.ts";

/** Why an assertion of Cloudflare Access opens no session. */
export type AccessRefusal = AssertionReason | "access_no_role" | "access_session_ended";

/** A visit with an assertion: a session, or why there is none. */
export type AccessVisit =
  | { session: ConsoleSession; refused?: undefined }
  | { session?: undefined; refused: AccessRefusal; email?: string | undefined };

/**
 * The console session of an assertion of Cloudflare Access. The first request with the assertion opens the session, and both end at the
 * same time. The role is read from the settings and from the person's row each time. A session that was ended stays ended for this
 * assertion: the person has to sign in at Access again. Undefined when nobody can sign in by Access, or the deployment has no usable ADMIN_TOKEN.
 *
 * @param given `browser` is the person's, in a few words
 */
export async function visitWithAssertion(
  ctx: ServiceContext,
  { assertion, browser }: { assertion: string; browser: string | null },
): Promise<AccessVisit | undefined> {
  const { runtime, config, memory, waitUntil } = ctx;
  if (config.access === undefined || config.adminToken === undefined) return undefined;
  const verified = await verifyAssertion({ runtime, keys: memory.accessKeys, waitUntil }, config.access, assertion);
  if (!verified.ok) {
    noteRefused(ctx, verified.reason);
    return { refused: verified.reason };
  }
  const { email, expiresAt } = verified.person;
  const roleOfSettings = roleOfEmail(config.access.roles, email);
  const failures = failureKey("operator", email);
  // Otherwise everybody whom Access knows could keep the directory busy.
  if (roleOfSettings === undefined && memory.limits.isExceeded(failures)) return { refused: "access_no_role", email };
  // The signature is left out: the same bytes can be written with other letters, and with these an ended session would open again.
  const id = await sha256(assertion.slice(0, assertion.lastIndexOf(".")));
  const { session, person } = await selectSessionAndEmail(runtime, config.directory, { id, email }, ctx.now);
  const identity = higherAccess(email, roleOfSettings, person);
  if (identity === undefined) {
    noteRefused(ctx, "access_no_role", email);
    waitUntil(memory.limits.countLater(config.clientLimit, failures, CLIENT_LIMIT_PERIOD));
    return { refused: "access_no_role", email };
  }
  const newRow = newSession(ctx, id, identity, expiresAt, browser);
  const row = session ?? (await openSession(ctx, newRow, identity, roleOfSettings === undefined ? person : undefined));
  if (row === undefined) return { refused: "access_no_role", email };
  if (row.endedAt !== null) {
    noteRefused(ctx, "access_session_ended", email);
    return { refused: "access_session_ended", email };
  }
  if (person !== undefined) notePersonUse(ctx, person);
  return { session: await sessionOf(ctx, row, await consoleKey(config.adminToken), identity) };
}

/**
 * Opens a session, and reads it again: another request may have opened it and ended it meanwhile.
 *
 * @param person without whose row the visitor has no role
 * @returns undefined when that row has just ended
 */
async function openSession(
  ctx: ServiceContext,
  row: ConsoleSessionRow,
  identity: Identity,
  person: Person | undefined,
): Promise<ConsoleSessionRow | undefined> {
  const { runtime, config, now } = ctx;
  const author = authorOf({ ...ctx, identity });
  if (person === undefined) await insertConsoleSession(runtime, config.directory, row, author);
  else await insertPersonSession(runtime, config.directory, row, person, author);
  const stored = await selectConsoleSession(runtime, config.directory, row.id, now);
  return stored ?? (person === undefined ? row : undefined);
}
