import { type Runtime, sleep } from "../../runtime.ts";
import { claimForm, releaseForm, settleForm } from "../../store/directory/console-sessions.ts";
import { Problem } from "../admin/problem.ts";
import type { RequestContext } from "../context.ts";
import { configOf } from "../context.ts";
import { doneLocation } from "./messages.ts";
import { isFormToken, SIGNED_IN_SECONDS, sha256 } from "./session-cookie.ts";

/** How often, and after how many milliseconds, a second submit looks whether the first is done. */
const LOOKS = 10;
const PAUSE_MS = 200;

/**
 * Whether a form is only to be shown again with what was typed: after a change of language, after signing in anew, and when it
 * was made for another session. Then it does nothing.
 */
export async function isDraft(c: RequestContext, form: Record<string, string>): Promise<boolean> {
  const { session } = c.var.view;
  return session === undefined || c.req.query("draft") !== undefined || !(await isFormToken(session, form.form ?? ""));
}

/**
 * Does what a form asks for once, however often it is sent: a double click, the button after Back, a second tab. A form that was
 * edited since is another one. Whoever sends the same again is led to where the first led.
 *
 * @param list where to look when it is not known what came of the first
 * @param work gives where to lead, or, when it changed nothing, a page that says why: then the form may be sent again
 */
export async function once(
  c: RequestContext,
  form: Record<string, string>,
  list: string,
  work: () => Promise<string | Response>,
): Promise<Response> {
  const { session, now } = c.var.view;
  if (session === undefined) throw new Problem(401, "Unauthorized", "Sign in first.");
  const { runtime } = c.var.isolate;
  const db = configOf(c).directory;
  const fields = Object.entries(form).sort(([a], [b]) => (a < b ? -1 : 1));
  const id = await sha256(JSON.stringify([c.req.path, fields]));
  const claim = { id, sessionId: session.id, expiresAt: now + SIGNED_IN_SECONDS };
  let first = await claimForm(runtime, db, claim);
  for (let look = 0; look < LOOKS && first === undefined; look++) {
    await sleep(runtime, PAUSE_MS);
    first = await claimForm(runtime, db, claim);
  }
  if (first !== true) return c.redirect(first ?? (await doneLocation(c, list, "not_known")), 303);
  const working = finish(runtime, db, id, work);
  // A browser that sends a form twice hangs up on the first request; what it began is finished all the same.
  c.executionCtx.waitUntil(working.catch(() => {}));
  const result = await working;
  return typeof result === "string" ? c.redirect(result, 303) : result;
}

async function finish(
  runtime: Runtime,
  db: D1Database,
  id: string,
  work: () => Promise<string | Response>,
): Promise<string | Response> {
  try {
    const result = await work();
    // It is done, whether or not this can be noted: a second submit would say that it does not know.
    await (typeof result === "string" ? settleForm(runtime, db, id, result) : releaseForm(runtime, db, id)).catch(
      () => {},
    );
    return result;
  } catch (error) {
    if (error instanceof Problem) await releaseForm(runtime, db, id).catch(() => {});
    throw error;
  }
}
