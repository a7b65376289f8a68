import type { Child, PropsWithChildren } from "hono/jsx";
import type { Filled } from "../messages.ts";
import type { View } from "../view.ts";
import { Notice } from "./parts.tsx";

/** What forms are made of. */

/** A form that changes something: it carries what makes it count once. */
export function Form({ v, action, children }: PropsWithChildren<{ v: View; action: string }>) {
  return (
    <form method="post" action={action}>
      <input type="hidden" name="form" value={v.session?.formToken} />
      {children}
    </form>
  );
}

/** A form of one button. */
export function Action(
  props: PropsWithChildren<{
    /** Where it changes something that counts once. */
    v?: View;
    action: string;
    label: string;
    about?: string;
    lang?: string;
    quiet?: boolean;
    /** Of its button. */
    id?: string;
  }>,
) {
  return (
    <form method="post" action={props.action}>
      {props.v && <input type="hidden" name="form" value={props.v.session?.formToken} />}
      {props.children}
      <button type="submit" id={props.id} class={props.quiet ? "quiet" : "plain"} lang={props.lang}>
        {props.label}
        {props.about && <span class="unseen"> {props.about}</span>}
      </button>
    </form>
  );
}

/** A form above a list: folded up while nobody needs it, and one Tab away. */
export function Fold({ label, open, children }: PropsWithChildren<{ label: string; open: boolean }>) {
  return (
    <details class="fold" open={open}>
      <summary class="button">{label}</summary>
      {children}
    </details>
  );
}

/**
 * Above a form that came back: what is wrong with it, each leading to its field; or that it was not sent yet.
 *
 * @param labels of its fields, by name
 */
export function Faults({ v, filled, labels }: { v: View; filled: Filled | undefined; labels: Record<string, string> }) {
  if (filled === undefined) return null;
  const wrong = Object.entries(filled.errors);
  if (wrong.length === 0)
    return <Notice kind="note" title={v.t("Nothing was changed yet: look the form over and send it.")} />;
  return (
    <Notice kind="bad" title={v.t("Nothing was changed.")}>
      <ul>
        {wrong.map(([field, text]) => (
          <li>
            <a href={`#${field}`}>{labels[field] ?? field}</a>: {text}
          </li>
        ))}
      </ul>
    </Notice>
  );
}

export function Field(props: {
  label: string;
  name: string;
  value?: string | undefined;
  error?: string | undefined;
  hint?: Child;
  type?: string;
  rows?: number;
  /** Of a choice: values and what they are called. */
  options?: [value: string, label: string][];
  required?: boolean;
  maxlength?: number;
  autocomplete?: string;
  autofocus?: boolean;
  code?: boolean;
}) {
  const { name, label, value = "", error, hint, type = "text", rows, options, code, ...rest } = props;
  const described = [hint && `${name}-hint`, error && `${name}-error`].filter(Boolean).join(" ");
  const common = {
    id: name,
    name,
    class: code ? "code" : undefined,
    spellcheck: code ? false : undefined,
    "aria-invalid": error ? "true" : undefined,
    "aria-describedby": described || undefined,
    // Of several a browser takes the first.
    autofocus: error ? true : undefined,
    ...rest,
  };
  return (
    <div class="field">
      <label for={name}>{label}</label>
      {hint && (
        <p class="hint" id={`${name}-hint`}>
          {hint}
        </p>
      )}
      {options !== undefined ? (
        <select {...common}>
          {options.map(([each, text]) => (
            <option value={each} selected={each === value}>
              {text}
            </option>
          ))}
        </select>
      ) : rows === undefined ? (
        <input type={type} value={value} autocomplete="off" {...common} />
      ) : (
        // The parser drops a first line end, so it gets one to drop.
        <textarea rows={rows} {...common}>{`\n${value}`}</textarea>
      )}
      {error && (
        <p class="error" id={`${name}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}
