import { sleep } from "../runtime.ts";
import * as forms from "../store/directory/console-sessions.ts";
import { SIGNED_IN_SECONDS } from "./console-session.ts";
import type { ServiceContext } from "./context.ts";

/** How often, and after how many milliseconds, a second submit looks whether the first is done. */
const LOOKS = 10;
const PAUSE_MS = 200;

/** `location` is where the first submit led; undefined when that is not known. */
export type FormClaim = { isFirst: true } | { isFirst: false; location: string | undefined };

/**
 * Claims a form of the console, so that what it asks for is done once. A second submit waits up to two seconds for the first.
 *
 * @param input `id` of what was sent: form, path and fields
 * @throws ServiceError `unavailable`; the form may be claimed all the same
 */
export async function claimForm(
  { runtime, config, now }: ServiceContext,
  { id, sessionId }: { id: string; sessionId: string },
): Promise<FormClaim> {
  const claim = { id, sessionId, expiresAt: now + SIGNED_IN_SECONDS };
  let first = await forms.claimForm(runtime, config.directory, claim);
  for (let look = 0; look < LOOKS && first === undefined; look++) {
    await sleep(runtime, PAUSE_MS);
    first = await forms.claimForm(runtime, config.directory, claim);
  }
  return first === true ? { isFirst: true } : { isFirst: false, location: first };
}
