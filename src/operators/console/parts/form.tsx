import type { Child, PropsWithChildren } from "hono/jsx";
import type { FilledForm } from "../forms/messages.ts";
import type { View } from "../view.ts";
import { NoticeBox } from "./parts.tsx";

/**
 * A form that changes something. A reader who may not send it does not see it. A form without the hidden token would be a draft, which
 * is not carried out.
 */
export function Form({ view, action, children }: PropsWithChildren<{ view: View; action: string }>) {
  if (!view.may(action)) return null;
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
    /**
     * Given for a form that changes something. That form gets a token, and a reader who may not send it does not see it. A form that only
     * leads to a page needs no view.
     */
    view?: View;
    action: string;
    label: string;
    about?: string;
    lang?: string;
    quiet?: boolean;
    id?: string;
  }>,
) {
  if (props.view?.may(props.action) === false) return null;
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

/** A link to a page that asks before a dangerous change. It is left out when the reader may not open that page. */
export function AskLink({ view, href, children }: PropsWithChildren<{ view: View; href: string }>) {
  if (!view.may(href, "GET")) return null;
  return (
    <a class="button danger" href={href}>
      {children}
    </a>
  );
}

/**
 * A form above a list, folded until the operator opens it. It is left out when the reader may not send the form.
 *
 * @param props `action` is the path of the form
 */
export function Fold(props: PropsWithChildren<{ view: View; action: string; label: string; open: boolean }>) {
  const { view, action, label, open, children } = props;
  if (!view.may(action)) return null;
  return (
    <details class="fold" open={open}>
      <summary class="button">{label}</summary>
      {children}
    </details>
  );
}

/**
 * The notice above a form that is shown again. It has the form's errors, each with a link to its field. For a draft it says that the
 * form was not carried out.
 *
 * @param labels the labels of its fields, by name
 */
export function FormErrors({
  view,
  filled,
  labels,
}: {
  view: View;
  filled: FilledForm | undefined;
  labels: Record<string, string>;
}) {
  if (filled === undefined) return null;
  const fieldErrors = Object.entries(filled.errors);
  if (fieldErrors.length === 0)
    return <NoticeBox kind="note" title={view.t("Nothing was changed yet: look the form over and send it.")} />;
  return (
    <NoticeBox kind="bad" title={view.t("Nothing was changed.")}>
      <ul>
        {fieldErrors.map(([field, text]) => (
          <li>
            <a href={`#${field}`}>{labels[field] ?? field}</a>: {text}
          </li>
        ))}
      </ul>
    </NoticeBox>
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
  /** The options of a `select`. */
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
    // When several fields have autofocus, the browser focuses the first.
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
        // The HTML parser drops the first line end of a textarea. Without this line end, it would drop one of the value.
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
