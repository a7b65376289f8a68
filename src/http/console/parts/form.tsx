import type { Child, PropsWithChildren } from "hono/jsx";
import type { Filled } from "../forms/messages.ts";
import type { View } from "../view.ts";
import { Notice } from "./parts.tsx";

/** What forms are made of. */

/** A form that changes something. Its hidden token lets it be carried out once. */
export function Form({ view, action, children }: PropsWithChildren<{ view: View; action: string }>) {
  return (
    <form method="post" action={action}>
      <input type="hidden" name="form" value={view.session?.formToken} />
      {children}
    </form>
  );
}

/** A form of one button. */
export function Action(
  props: PropsWithChildren<{
    /** Given when the form changes something, for its token. */
    view?: View;
    action: string;
    label: string;
    about?: string;
    lang?: string;
    quiet?: boolean;
    /** The id of the button. */
    id?: string;
  }>,
) {
  return (
    <form method="post" action={props.action}>
      {props.view && <input type="hidden" name="form" value={props.view.session?.formToken} />}
      {props.children}
      <button type="submit" id={props.id} class={props.quiet ? "quiet" : "plain"} lang={props.lang}>
        {props.label}
        {props.about && <span class="unseen"> {props.about}</span>}
      </button>
    </form>
  );
}

/** A form above a list, folded until it is needed and reachable by one Tab. */
export function Fold({ label, open, children }: PropsWithChildren<{ label: string; open: boolean }>) {
  return (
    <details class="fold" open={open}>
      <summary class="button">{label}</summary>
      {children}
    </details>
  );
}

/**
 * The notice above a form that is shown again: its errors, each linked to its field, or that it was not sent yet.
 *
 * @param labels the labels of its fields, by name
 */
export function Faults({
  view,
  filled,
  labels,
}: {
  view: View;
  filled: Filled | undefined;
  labels: Record<string, string>;
}) {
  if (filled === undefined) return null;
  const wrong = Object.entries(filled.errors);
  if (wrong.length === 0)
    return <Notice kind="note" title={view.t("Nothing was changed yet: look the form over and send it.")} />;
  return (
    <Notice kind="bad" title={view.t("Nothing was changed.")}>
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
  /** The options of a choice. */
  options?: [value: string, label: string][];
  required?: boolean;
  maxlength?: number;
  inputmode?: "numeric";
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
    // When several fields have it, the browser takes the first.
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
        // The HTML parser drops a line end at the start, so one is added.
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
