import { isRefusedFor, ServiceError, STATUS_OF } from "../../../core/errors.ts";
import { type FieldIssue, fieldIssues } from "../../../core/fields.ts";
import { MAIN_HOME } from "../../../core/homes.ts";
import { beginForm, endForm, forgetForm } from "../../services/console-forms.ts";
import { sha256 } from "../../services/digests.ts";
import type { PageContext } from "../env.ts";
import type { View } from "../view.ts";
import { doneLocation, errorTexts, type FilledForm, isFormToken, showAgain } from "./messages.ts";

/** The checked fields of a form: the input of the work, or the errors by field. */
export type EnteredFields<Input> = { input: Input } | { errors: Record<string, string> };

type CheckedFields<Input> =
  | { success: true; data: Input; error?: undefined }
  | { success: false; error: Parameters<typeof fieldIssues>[0] };

/** The fields of a form after the check of their schema. Errors are in the reader's language. */
export const enteredFields = <Input>(view: View, checked: CheckedFields<Input>): EnteredFields<Input> =>
  checked.success ? { input: checked.data } : { errors: errorTexts(view, fieldIssues(checked.error)) };

/** The number of a field that holds digits, undefined for an empty field, otherwise its text, which the schema refuses. */
export function wholeNumber(text: string): number | string | undefined {
  if (text.trim() === "") return undefined;
  return /^\s*\d+\s*$/.test(text) ? Number(text) : text;
}

/** The page after a form, and the id of the element to scroll to. */
interface PageAnchor {
  path: string;
  id?: string | undefined;
}

/** What {@link formAction} needs to know of a form with fields. */
interface FormAction<Input> {
  /** The fields to show again, without secrets; by default all that were sent: see `readForm`. */
  values?: Record<string, string>;
  entered: EnteredFields<Input>;
  page: (filledForm: FilledForm) => Promise<Response>;
  /** The page after a draft, for a form without a field to show again. */
  draft?: PageAnchor | undefined;
  /** For a draft: throws the refusal that the work would throw. It writes nothing. */
  look?: (input: Input) => Promise<unknown>;
  /** Turns a refusal into errors by field, for the form that is shown again. Undefined for an error that has a page of its own. */
  refused?: (error: unknown) => Record<string, string> | undefined;
  /** For a button that only asks: gives the answer instead of the work, each time it is pressed. It writes nothing. */
  ask?: ((input: Input) => Promise<Response>) | undefined;
  /** The path of the page for a form that was already sent, when the result of the first submit is not known; by default the form's own. */
  list?: string;
  /** Returns the path of the page after the form, or a page. See {@link once}. */
  work: (input: Input) => Promise<string | Response | ShownOnce>;
}

/** Answers a form with fields. A form with errors, or a draft ({@link isDraft}), is shown again. Any other form is carried out once. */
export async function formAction<Input>(c: PageContext, action: FormAction<Input>) {
  const { entered, page, draft, look, refused, ask, work } = action;
  const { values = c.var.sent?.values ?? {}, list = c.req.path } = action;
  if ("errors" in entered) return page({ values, errors: entered.errors });
  const { input } = entered;
  const showRefusal = (error: unknown) => {
    const issues: FieldIssue[] | undefined = error instanceof ServiceError ? error.context.issues : undefined;
    const errors = refused?.(error) ?? (issues && errorTexts(c.var.view, issues));
    if (errors === undefined) throw error;
    return page({ values, errors });
  };
  if (await isDraft(c)) {
    if (draft !== undefined) return leadToDraft(c, draft);
    try {
      await look?.(input);
    } catch (error) {
      return showRefusal(error);
    }
    return page({ values, errors: {} });
  }
  if (draft !== undefined) c.set("sent", undefined);
  if (ask !== undefined) return ask(input).catch(showRefusal);
  return once(c, list, () => work(input).catch(showRefusal));
}

/** What {@link buttonAction} needs to know of a form with one button. */
interface ButtonAction {
  /** The page after a draft, which has the button; by default the page at the form's own path, which asks. */
  draft?: PageAnchor;
  /** As for {@link formAction}. */
  list?: string;
  /** Returns the path of the page after the form. */
  work: () => Promise<string>;
}

/** Answers a form without fields: carries it out once, unless it is a draft. */
export async function buttonAction(c: PageContext, action: ButtonAction): Promise<Response> {
  const { draft = { path: c.req.path }, list = c.req.path, work } = action;
  if (await isDraft(c)) return leadToDraft(c, draft);
  // A button has nothing to offer again.
  c.set("sent", undefined);
  return once(c, list, work);
}

const leadToDraft = async (c: PageContext, { path, id }: PageAnchor) =>
  c.redirect(await doneLocation(c, path, "draft", id), 303);

/**
 * Whether a form is a draft: it is shown again with its values and is not carried out. A form becomes a draft when the language
 * changes, when its reader signs in again, and when it was made for another session.
 */
export async function isDraft(c: PageContext): Promise<boolean> {
  const { view, form } = c.var;
  const { session } = view;
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
interface ShownOnce {
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
export async function once(c: PageContext, list: string, work: Work): Promise<Response> {
  const { ctx, view, form } = c.var;
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
