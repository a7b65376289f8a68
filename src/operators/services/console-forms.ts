import { sleep } from "../../core/runtime.ts";
import { deleteForm, insertForm, updateForm } from "../store/directory/console-sessions.ts";
import type { ServiceContext } from "./service-context.ts";

/** A second submit asks ten times, every 200 ms, whether the first is done. */
const POLLS = 10;
const POLL_MS = 200;

/** `location` is the page that the first submit led to; undefined when the first submit is not done, or its page was not stored. */
type BegunForm = { isFirst: true } | { isFirst: false; location: string | undefined };

/**
 * Reserves a form of the console for its first submit, so that it is carried out once. A second submit waits up to two seconds for it.
 *
 * @param input `id` as the table consoleForms describes it
 * @throws ServiceError `unavailable`; the form may be reserved all the same
 */
export async function beginForm(
  { runtime, config }: ServiceContext,
  form: { id: string; sessionId: string; expiresAt: number },
): Promise<BegunForm> {
  let insertedOrLocation = await insertForm(runtime, config.directory, form);
  for (let poll = 0; poll < POLLS && insertedOrLocation === undefined; poll++) {
    await sleep(runtime, POLL_MS);
    insertedOrLocation = await insertForm(runtime, config.directory, form);
  }
  return insertedOrLocation === true ? { isFirst: true } : { isFirst: false, location: insertedOrLocation };
}

/** Stores the page that a form led to, so that the same form sent again leads there too. */
export function endForm(
  { runtime, config }: ServiceContext,
  { id, location }: { id: string; location: string },
): Promise<void> {
  return updateForm(runtime, config.directory, id, location);
}

/** Frees a form that changed nothing, so that it may be sent again. */
export function forgetForm({ runtime, config }: ServiceContext, { id }: { id: string }): Promise<void> {
  return deleteForm(runtime, config.directory, id);
}
