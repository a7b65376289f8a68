import { isConsoleSession } from "../store/directory/console-sessions.ts";
import { type ConsoleSession, consoleKey, isMac, macOf, randomText, sha256 } from "./console-session.ts";
import type { ServiceContext } from "./context.ts";

/**
 * The session that a cookie belongs to; undefined while nobody is signed in. Asks D1 at each request, so that a session that was
 * signed out is gone at once, everywhere.
 *
 * @param input `cookie` is what `openConsoleSession` returned
 */
export async function checkConsoleSession(
  { runtime, config, now }: ServiceContext,
  { cookie }: { cookie: string },
): Promise<ConsoleSession | undefined> {
  const [value, mac] = cookie.split(".");
  if (config.adminToken === undefined || value === undefined || mac === undefined) return undefined;
  const key = await consoleKey(config.adminToken);
  // Before D1 is asked: a made-up cookie costs no read.
  if (!(await isMac(key, ["cookie", value], mac))) return undefined;
  const id = await sha256(value);
  if (!(await isConsoleSession(runtime, config.directory, id, now))) return undefined;
  const nonce = randomText(runtime);
  return { id, key, formToken: `${nonce}.${await macOf(key, ["form", id, nonce])}` };
}
