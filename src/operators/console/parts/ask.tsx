import { type Child, isValidElement } from "hono/jsx";
import type { PageContext } from "../env.ts";
import type { FilledForm } from "../forms/messages.ts";
import { type ShownPage, showPage } from "../layout.tsx";
import { useView } from "../view.ts";
import { type Fields, Form, FormErrors, FormFields, Hidden } from "./form.tsx";
import { type FactRows, Facts } from "./parts.tsx";

/** A question before a dangerous change. */
export interface Question {
  /** What the change does. */
  text: Child;
  /** What it is done to. */
  facts: FactRows | Child;
  /** The path of the form; by default the page's own. */
  action?: string;
  /** Values that the form sends along. */
  hidden?: Record<string, string> | undefined;
  /** What the operator must type. */
  fields?: Fields | Child;
  filled?: FilledForm | undefined;
  button: string;
  /** The change can do no harm: the button is not red. */
  isHarmless?: boolean;
  /** The text of the link that goes back. */
  keep?: string;
  /** The path of the link that goes back. */
  back: string;
}

/** A page that asks an operator to confirm a dangerous change. It says what the change does and to what, and has a link back. */
export function askPage(
  c: PageContext,
  { title, site, section, ...question }: Pick<ShownPage, "title" | "site" | "section"> & Question,
): Promise<Response> {
  const { filled } = question;
  return showPage(c, {
    title,
    site,
    section,
    filled,
    body: <Ask {...question} action={question.action ?? c.req.path} />,
  });
}

/** The question as a part of a page. */
export function Ask(props: Question & { action: string }) {
  const { filled } = props;
  const isFields = props.fields && !isValidElement(props.fields);
  const fields = (isFields ? props.fields : {}) as Fields;
  const { t } = useView();
  return (
    <>
      <FormErrors filled={filled} fields={fields} />
      <section class="card">
        <p>{props.text}</p>
        {Array.isArray(props.facts) ? (
          <Facts rows={props.facts as FactRows} />
        ) : (
          <dl class="facts">{props.facts as Child}</dl>
        )}
        <Form action={props.action}>
          <Hidden values={props.hidden} />
          {isFields ? <FormFields fields={fields} filled={filled} /> : (props.fields as Child)}
          <div class="buttons">
            <button type="submit" class={props.isHarmless ? undefined : "danger"}>
              {props.button}
            </button>
            <a class="button plain" href={props.back}>
              {props.keep ?? t("Cancel")}
            </a>
          </div>
        </Form>
      </section>
    </>
  );
}
