import type { Child } from "hono/jsx";
import type { View } from "../view.ts";
import { Form } from "./form.tsx";

export interface Confirmation {
  text: string;
  facts: Child;
  action: string;
  hidden?: Record<string, string>;
  fields?: Child;
  button: string;
  keep: string;
  /** The path of the link that goes back. */
  back: string;
}

/** Asks an operator to confirm a dangerous change. It says what the change does and to what, and has a link back. */
export function Ask(props: Confirmation & { view: View }) {
  return (
    <section class="card">
      <p>{props.text}</p>
      <dl class="facts">{props.facts}</dl>
      <Form view={props.view} action={props.action}>
        {Object.entries(props.hidden ?? {}).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        {props.fields}
        <div class="buttons">
          <button type="submit" class="danger">
            {props.button}
          </button>
          <a class="button plain" href={props.back}>
            {props.keep}
          </a>
        </div>
      </Form>
    </section>
  );
}
