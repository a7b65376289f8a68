import { sleep } from "../runtime.ts";
import * as forms from "../store/directory/console-sessions.ts";
import { SIGNED_IN_SECONDS } from "./console-session.ts";
import type { ServiceContext } from "./service-context.ts";

/** A second submit checks this often, with this pause, whether the first is done. */
const POLLS = 10;
const POLL_MS = 200;

/** `location` is where the first submit led to; undefined when that is not known. */
export type FormClaim = { isFirst: true } | { isFirst: false; location: string | undefined };

/**
 * Claims a form of the console, so that it is carried out once. A second submit waits up to two seconds for the first.
 *
 * @param input `id` as the table consoleForms describes it
 * @throws ServiceError `unavailable`; the form may have been claimed
 */
export async function claimForm(
  { runtime, config, now }: ServiceContext,
  { id, sessionId }: { id: string; sessionId: string },
): Promise<FormClaim> {
  const claim = { id, sessionId, expiresAt: now + SIGNED_IN_SECONDS };
  let first = await forms.insertForm(runtime, config.directory, claim);
  for (let poll = 0; poll < POLLS && first === undefined; poll++) {
    await sleep(runtime, POLL_MS);
    first = await forms.insertForm(runtime, config.directory, claim);
  }
  return first === true ? { isFirst: true } : { isFirst: false, location: first };
}
