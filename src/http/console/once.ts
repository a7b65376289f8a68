import { ServiceError, STATUS_OF } from "../../errors.ts";
import { claimForm } from "../../services/claim-form.ts";
import { sha256 } from "../../services/console-session.ts";
import type { ServiceContext } from "../../services/context.ts";
import { releaseForm } from "../../services/release-form.ts";
import { settleForm } from "../../services/settle-form.ts";
import type { PageContext } from "./env.ts";
import { doneLocation } from "./messages.ts";
import { isFormToken } from "./tickets.ts";

/**
 * Whether a form is only to be shown again with what was typed: after a change of language, after signing in anew, and when it
 * was made for another session. Then it does nothing.
 */
export async function isDraft(c: PageContext, form: Record<string, string>): Promise<boolean> {
  const { session } = c.var.view;
  return session === undefined || c.req.query("draft") !== undefined || !(await isFormToken(session, form.form ?? ""));
}

/**
 * Does what a form asks for once, however often it is sent: by a double click, by the button after Back, in a second tab. A form that
 * was edited since is another one. Whoever sends the same again is led to where the first led.
 *
 * @param list where to look when it is not known what came of the first
 * @param work gives where to lead, or, when it changed nothing, a page that says why: then the form may be sent again
 */
export async function once(
  c: PageContext,
  form: Record<string, string>,
  list: string,
  work: () => Promise<string | Response>,
): Promise<Response> {
  const { ctx, view } = c.var;
  if (view.session === undefined) throw new ServiceError("unauthorized", { reason: "not_signed_in" });
  const fields = Object.entries(form).sort(([a], [b]) => (a < b ? -1 : 1));
  const id = await sha256(JSON.stringify([c.req.path, fields]));
  const claim = await claimForm(ctx, { id, sessionId: view.session.id });
  if (!claim.isFirst) return c.redirect(claim.location ?? (await doneLocation(c, list, "not_known")), 303);
  const working = finish(ctx, id, work);
  // A browser that sends a form twice hangs up on the first request; what it began is finished all the same.
  c.executionCtx.waitUntil(working.catch(() => {}));
  const result = await working;
  return typeof result === "string" ? c.redirect(result, 303) : result;
}

async function finish(
  ctx: ServiceContext,
  id: string,
  work: () => Promise<string | Response>,
): Promise<string | Response> {
  try {
    const result = await work();
    // It is done, whether or not this can be noted: a second submit would say that it does not know.
    await (typeof result === "string" ? settleForm(ctx, { id, location: result }) : releaseForm(ctx, { id })).catch(
      () => {},
    );
    return result;
  } catch (error) {
    const changedNothing = error instanceof ServiceError && STATUS_OF[error.code] < 500;
    if (changedNothing) await releaseForm(ctx, { id }).catch(() => {});
    throw error;
  }
}
