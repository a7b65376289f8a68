import { ServiceError, STATUS_OF } from "../../../errors.ts";
import { MAIN_HOME } from "../../../homes.ts";
import { beginForm, endForm, forgetForm } from "../../../services/console-forms.ts";
import { sha256 } from "../../../services/console-sessions.ts";
import type { ServiceContext } from "../../../services/service-context.ts";
import type { PageContext } from "../env.ts";
import { doneLocation } from "./messages.ts";
import { isFormToken } from "./tickets.ts";

/**
 * Whether a form is only shown again with its values and not carried out: after a change of language, after signing in again, and when
 * it was made for another session.
 */
export async function isDraft(c: PageContext, form: Record<string, string>): Promise<boolean> {
  const { session } = c.var.view;
  return session === undefined || c.req.query("draft") !== undefined || !(await isFormToken(session, form.form ?? ""));
}

/**
 * Carries out a form once, even when it is sent several times: by a double click, after Back, in a second tab. The same form sent again
 * redirects to the result of the first; a form with edited fields is another form.
 *
 * @param list path of the page to redirect to when the result of the first is not known
 * @param work returns the path to redirect to, or a page that tells why nothing was changed: then the form may be sent again
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
  const claim = await beginForm(ctx, { id, sessionId: view.session.id }).catch((error) => {
    // Forms are in the directory: the site's home is not at fault.
    c.var.trace.home = MAIN_HOME;
    throw error;
  });
  if (!claim.isFirst) return c.redirect(claim.location ?? (await doneLocation(c, list, "not_known")), 303);
  const working = finish(ctx, id, work);
  // After a double click the browser aborts the first request; its work must still be finished.
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
    // The work is done even if storing this fails. Then a second submit tells that the result is not known.
    await (typeof result === "string" ? endForm(ctx, { id, location: result }) : forgetForm(ctx, { id })).catch(
      () => {},
    );
    return result;
  } catch (error) {
    const changedNothing = error instanceof ServiceError && STATUS_OF[error.code] < 500;
    if (changedNothing) await forgetForm(ctx, { id }).catch(() => {});
    throw error;
  }
}
