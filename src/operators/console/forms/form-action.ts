import { ServiceError } from "../../../core/errors.ts";
import { type FieldIssue, fieldIssues } from "../../../core/fields.ts";
import type { PageContext } from "../env.ts";
import type { View } from "../view.ts";
import { doneLocation, errorTexts, type FilledForm } from "./messages.ts";
import { isDraft, once, type ShownOnce } from "./submit-once.ts";

type FormValues = Record<string, string>;

/** The checked fields of a form: the input of the work, or the errors by field. */
export type EnteredFields<Input> = { input: Input } | { errors: Record<string, string> };

type CheckedFields<Input> =
  | { success: true; data: Input; error?: undefined }
  | { success: false; error: Parameters<typeof fieldIssues>[0] };

/** The fields of a form after the check of their schema. Errors are in the reader's language. */
export const enteredFields = <Input>(view: View, checked: CheckedFields<Input>): EnteredFields<Input> =>
  checked.success ? { input: checked.data } : { errors: errorTexts(view, fieldIssues(checked.error)) };

/** The page after a form, and the id of the element to scroll to. */
interface PageAnchor {
  path: string;
  id?: string | undefined;
}

/** What {@link formAction} needs to know of a form with fields. */
export interface FormAction<Input> {
  /** The fields to show again. Secrets are left out. */
  values: FormValues;
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
  /** The path of the page for a form that was already sent, when the result of the first submit is not known. */
  list: string;
  /** Returns the path of the page after the form, or a page. See {@link once}. */
  work: (input: Input) => Promise<string | Response | ShownOnce>;
}

/** Answers a form with fields. A form with errors, or a draft ({@link isDraft}), is shown again. Any other form is carried out once. */
export async function formAction<Input>(c: PageContext, form: FormValues, action: FormAction<Input>) {
  const { values, entered, page, draft, look, refused, ask, list, work } = action;
  if ("errors" in entered) return page({ values, errors: entered.errors });
  const { input } = entered;
  const showRefusal = (error: unknown) => {
    const issues: FieldIssue[] | undefined = error instanceof ServiceError ? error.context.issues : undefined;
    const errors = refused?.(error) ?? (issues && errorTexts(c.var.view, issues));
    if (errors === undefined) throw error;
    return page({ values, errors });
  };
  if (await isDraft(c, form)) {
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
  return once(c, form, list, () => work(input).catch(showRefusal));
}

/** What {@link buttonAction} needs to know of a form with one button. */
export interface ButtonAction {
  /** The page after a draft, which has the button; by default the page at the form's own path, which asks. */
  draft?: PageAnchor;
  /** The path of the page for a form that was already sent, when the result of the first submit is not known. */
  list: string;
  /** Returns the path of the page after the form. */
  work: () => Promise<string>;
}

/** Answers a form without fields: carries it out once, unless it is a draft. */
export async function buttonAction(c: PageContext, form: FormValues, action: ButtonAction): Promise<Response> {
  const { draft = { path: c.req.path }, list, work } = action;
  if (await isDraft(c, form)) return leadToDraft(c, draft);
  // A button has nothing to offer again.
  c.set("sent", undefined);
  return once(c, form, list, work);
}

const leadToDraft = async (c: PageContext, { path, id }: PageAnchor) =>
  c.redirect(await doneLocation(c, path, "draft", id), 303);
