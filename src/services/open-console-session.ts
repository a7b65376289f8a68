import { insertConsoleSession } from "../store/directory/console-sessions.ts";
import { checkAdminToken, type GivenToken } from "./check-admin-token.ts";
import { consoleKey, macOf, randomText, SIGNED_IN_SECONDS, sha256 } from "./console-session.ts";
import type { ServiceContext } from "./service-context.ts";

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
