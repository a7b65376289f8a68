import { roleOfEmail } from "../access/person-role.ts";
import { type AssertionReason, verifyAssertion } from "../access/verify-assertion.ts";
import {
  type ConsoleSessionRow,
  insertConsoleSession,
  selectConsoleSession,
} from "../store/directory/console-sessions.ts";
import { type ConsoleSession, consoleKey, newSession, sessionOf } from "./console-sessions.ts";
import { sha256 } from "./digests.ts";
import type { Identity } from "./identity.ts";
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
 * same time. The role is read from the lists each time. A session that was ended stays ended for this assertion: the person has to sign in
 * at Access again. Undefined when nobody can sign in by Access, or the deployment has no usable ADMIN_TOKEN.
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
  const role = roleOfEmail(config.access.roles, email);
  if (role === undefined) {
    noteRefused(ctx, "access_no_role", email);
    return { refused: "access_no_role", email };
  }
  const identity: Identity = { who: { kind: "person", id: email, name: email }, role, onlySite: undefined };
  // The signature is left out: the same bytes can be written with other letters, and with these an ended session would open again.
  const id = await sha256(assertion.slice(0, assertion.lastIndexOf(".")));
  const row =
    (await selectConsoleSession(runtime, config.directory, id, ctx.now)) ??
    (await openSession(ctx, newSession(ctx, id, identity, expiresAt, browser), identity));
  if (row.endedAt !== null) {
    noteRefused(ctx, "access_session_ended", email);
    return { refused: "access_session_ended", email };
  }
  return { session: await sessionOf(ctx, row, await consoleKey(config.adminToken), identity) };
}

async function openSession(
  ctx: ServiceContext,
  row: ConsoleSessionRow,
  identity: Identity,
): Promise<ConsoleSessionRow> {
  const { runtime, config, now } = ctx;
  await insertConsoleSession(runtime, config.directory, row, authorOf({ ...ctx, identity }));
  // The row is read again: another request may have opened the session and ended it meanwhile.
  return (await selectConsoleSession(runtime, config.directory, row.id, now)) ?? row;
}
