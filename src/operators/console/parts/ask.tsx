import type { Child } from "hono/jsx";
import type { PageContext } from "../env.ts";
import type { FilledForm } from "../forms/messages.ts";
import { type ShownPage, showPage } from "../layout.tsx";
import { type Fields, Form, FormErrors, FormFields, SendButton } from "./form.tsx";
import { type FactRows, Facts } from "./parts.tsx";

/** A question before a dangerous change. */
interface Question {
  /** What the change does. */
  text: Child;
  /** What it is done to. */
  facts: FactRows;
  /** The path of the form; by default the page's own. */
  action?: string;
  /** Values that the form sends along. */
  hidden?: Record<string, string> | undefined;
  /** What the operator must type. */
  fields?: Fields | false;
  filled?: FilledForm | undefined;
  button: string;
  /** The change can do no harm: the button is not red. */
  isHarmless?: boolean;
  /** The path of the link that goes back. */
  back: string;
}

/** A page that asks an operator to confirm a dangerous change. It says what the change does and to what, and has a link back. */
export function askPage(
  c: PageContext,
  { title, site, section, action = c.req.path, ...question }: Pick<ShownPage, "title" | "site" | "section"> & Question,
): Promise<Response> {
  const body = <Ask action={action} {...question} />;
  return showPage(c, { title, site, section, filled: question.filled, body });
}

/** The question as a part of a page. */
export function Ask({ text, facts, action, hidden, fields, filled, ...props }: Question & { action: string }) {
  const { button, isHarmless, back } = props;
  return (
    <>
      <FormErrors filled={filled} fields={fields || {}} />
      <section class="card">
        <p>{text}</p>
        <Facts rows={facts} />
        <Form action={action} hidden={hidden}>
          <FormFields fields={fields || {}} filled={filled} />
          <SendButton label={button} class={isHarmless ? undefined : "danger"} back={back} />
        </Form>
      </section>
    </>
  );
}
