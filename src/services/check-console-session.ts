import { isConsoleSession } from "../store/directory/console-sessions.ts";
import { type ConsoleSession, consoleKey, isMac, macOf, randomText, sha256 } from "./console-session.ts";
import type { ServiceContext } from "./service-context.ts";

/**
 * The session that a cookie belongs to; undefined when nobody is signed in. Reads D1 at each request, so that signing out takes
 * effect everywhere at once.
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
  // Checked first, so that an invented cookie costs no read of D1.
  if (!(await isMac(key, ["cookie", value], mac))) return undefined;
  const id = await sha256(value);
  if (!(await isConsoleSession(runtime, config.directory, id, now))) return undefined;
  const nonce = randomText(runtime);
  return { id, key, formToken: `${nonce}.${await macOf(key, ["form", id, nonce])}` };
}
