import { ServiceError } from "../../../errors.ts";
import { type FieldIssue, fieldIssues } from "../../../fields.ts";
import type { PageContext } from "../env.ts";
import type { View } from "../view.ts";
import { doneLocation, errorTexts, type Filled } from "./messages.ts";
import { isDraft, once } from "./once.ts";

type Form = Record<string, string>;

/** What was entered, checked: the input of the work, or what is wrong, by field. */
export type Entered<Input> = { input: Input } | { errors: Record<string, string> };

type Checked<Input> =
  | { success: true; data: Input; error?: undefined }
  | { success: false; error: Parameters<typeof fieldIssues>[0] };

/** What a schema says of what was entered, in the reader's language. */
export const entered = <Input>(view: View, checked: Checked<Input>): Entered<Input> =>
  checked.success ? { input: checked.data } : { errors: errorTexts(view, fieldIssues(checked.error)) };

/** A page that a form leads to, and the id of the element to scroll to. */
interface Place {
  path: string;
  id?: string | undefined;
}

/** In what one form with fields differs from all others. */
export interface FormAction<Input> {
  /** The fields when the form is shown again. Never a secret. */
  values: Form;
  entered: Entered<Input>;
  /** Shows the form again. */
  page: (again: Filled) => Promise<Response>;
  /** Where a draft leads that has no field to show again. */
  draft?: Place | undefined;
  /** Throws, for a draft, what the work would be refused for. */
  look?: (input: Input) => Promise<unknown>;
  /** The errors, by field, to show the form again with; undefined for an error that has its own page. */
  refused?: (error: unknown) => Record<string, string> | undefined;
  /** Where it leads when the form was sent before, and it is not known what came of it. */
  list: string;
  /** Returns the path that the form leads to. */
  work: (input: Input) => Promise<string>;
}

/** Answers a form with fields: shows it again when something is wrong with it or when it is a draft; otherwise carries it out once. */
export async function formAction<Input>(c: PageContext, form: Form, action: FormAction<Input>): Promise<Response> {
  const { values, entered, page, draft, look, refused, list, work } = action;
  if ("errors" in entered) return page({ values, errors: entered.errors });
  const { input } = entered;
  const sayRefused = (error: unknown) => {
    const errors = refused?.(error) ?? issueTexts(c.var.view, error);
    if (errors === undefined) throw error;
    return page({ values, errors });
  };
  if (await isDraft(c, form)) {
    if (draft !== undefined) return leadToDraft(c, draft);
    try {
      await look?.(input);
    } catch (error) {
      return sayRefused(error);
    }
    return page({ values, errors: {} });
  }
  return once(c, form, list, () => work(input).catch(sayRefused));
}

/** In what one form of a single button differs from all others. */
export interface ButtonAction {
  /** Where it leads when it is a draft: where the button is. */
  draft: Place;
  /** Where it leads when the form was sent before, and it is not known what came of it. */
  list: string;
  /** Returns the path that the form leads to. */
  work: () => Promise<string>;
}

/** Answers a form without fields: carries it out once, unless it is a draft. */
export async function buttonAction(c: PageContext, form: Form, action: ButtonAction): Promise<Response> {
  const { draft, list, work } = action;
  return (await isDraft(c, form)) ? leadToDraft(c, draft) : once(c, form, list, work);
}

const leadToDraft = async (c: PageContext, { path, id }: Place) =>
  c.redirect(await doneLocation(c, path, "draft", id), 303);

/** What a service says of fields. */
function issueTexts(view: View, error: unknown): Record<string, string> | undefined {
  const issues: FieldIssue[] | undefined = error instanceof ServiceError ? error.context.issues : undefined;
  return issues && errorTexts(view, issues);
}
