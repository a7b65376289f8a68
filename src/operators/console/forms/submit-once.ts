import { isRefusedFor, ServiceError, STATUS_OF } from "../../../core/errors.ts";
import { MAIN_HOME } from "../../../core/homes.ts";
import { beginForm, endForm, forgetForm } from "../../services/console-forms.ts";
import { sha256 } from "../../services/digests.ts";
import type { PageContext } from "../env.ts";
import { doneLocation, showAgain } from "./messages.ts";
import { isFormToken } from "./tickets.ts";

/**
 * Whether a form is a draft: it is shown again with its values and is not carried out. A form becomes a draft when the language
 * changes, when its reader signs in again, and when it was made for another session.
 */
export async function isDraft(c: PageContext, form: Record<string, string>): Promise<boolean> {
  const { session } = c.var.view;
  return session === undefined || c.req.query("draft") !== undefined || !(await isFormToken(session, form.form ?? ""));
}

/**
 * Notes that the work of a form begins: from now on it may be done, and the page of an error says so.
 *
 * @throws ServiceError when such a page was shown before, because it said that nothing was changed
 */
export function beginWork(c: PageContext): void {
  if (c.var.begun === false) throw new ServiceError("unavailable", { reason: "operator_time_limit" });
  c.set("begun", true);
}

/** A page that only the first submit gets. The same form sent again leads to the path `again`. */
export interface ShownOnce {
  page: Response;
  again: string;
}

type Work = () => Promise<string | Response | ShownOnce>;

/**
 * Carries out a form once, even when it is sent several times: by a double click, after Back, or in a second tab. A second submit is
 * redirected to the result of the first. A form with edited fields counts as another form.
 *
 * @param list path of the page to redirect to when the result of the first submit is not known
 * @param work returns the path to redirect to; or a page, when the form may be sent again; or both, when the content of the page is
 *   not stored
 */
export async function once(c: PageContext, form: Record<string, string>, list: string, work: Work): Promise<Response> {
  const { ctx, view } = c.var;
  if (view.session === undefined) throw new ServiceError("unauthorized", { reason: "not_signed_in" });
  const fields = Object.entries(form).sort(([a], [b]) => (a < b ? -1 : 1));
  const id = await sha256(JSON.stringify([c.req.path, fields]));
  const { id: sessionId, expiresAt } = view.session;
  const begunForm = await beginForm(ctx, { id, sessionId, expiresAt }).catch((error) => {
    // Forms are stored in the directory, so the page of this error must not blame the site's home.
    c.var.trace.home = MAIN_HOME;
    throw error;
  });
  if (!begunForm.isFirst) {
    if (begunForm.location !== undefined) showAgain(c, begunForm.location);
    return c.redirect(begunForm.location ?? (await doneLocation(c, list, "not_known")), 303);
  }
  const working = finish(c, id, work);
  // A double click makes the browser abort the first request. waitUntil() lets its work end nevertheless.
  c.executionCtx.waitUntil(working.catch(() => {}));
  const result = await working;
  return typeof result === "string" ? c.redirect(result, 303) : result;
}

async function finish(c: PageContext, id: string, work: Work): Promise<string | Response> {
  const { ctx } = c.var;
  try {
    beginWork(c);
    const result = await work();
    const [shown, location] =
      result instanceof Response || typeof result === "string" ? [result, result] : [result.page, result.again];
    // A failure here is ignored, because the work is done. A second submit then says that the result is not known.
    await (typeof location === "string" ? endForm(ctx, { id, location }) : forgetForm(ctx, { id })).catch(() => {});
    return shown;
  } catch (error) {
    if (changedNothing(error)) c.set("begun", false);
    if (!c.var.begun) await forgetForm(ctx, { id }).catch(() => {});
    throw error;
  }
}

/** Whether the work ended before its first change. Homes and keys are checked before that. */
const changedNothing = (error: unknown): boolean =>
  (error instanceof ServiceError && STATUS_OF[error.code] < 500) ||
  isRefusedFor(error, "home_closed", "home_unbound", "hash_key_unopened", "master_key_wrong");
