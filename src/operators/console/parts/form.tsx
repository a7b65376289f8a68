import type { Child, PropsWithChildren } from "hono/jsx";
import type { FilledForm } from "../forms/messages.ts";
import { useView } from "../view.ts";
import { ButtonLink, NoticeBox } from "./parts.tsx";

interface FormProps {
  action: string;
  /** The form changes nothing that belongs to a session: every reader sees it, and it has no token. */
  isFree?: boolean | undefined;
  /** Values by name that the form sends along. */
  hidden?: Record<string, string> | undefined;
}

/**
 * A form that changes something. A reader who may not send it does not see it. A form without the hidden token would be a draft, which
 * is not carried out.
 */
export function Form({ action, isFree, hidden, children }: PropsWithChildren<FormProps>) {
  const { may, session } = useView();
  if (!isFree && !may(action)) return null;
  return (
    <form method="post" action={action}>
      {!isFree && <input type="hidden" name="form" value={session?.formToken} />}
      <Hidden values={hidden} />
      {children}
    </form>
  );
}

interface ActionProps extends FormProps {
  label: string;
  /** What the button is about, for readers who do not see its place. */
  about?: string;
  lang?: string;
  quiet?: boolean;
  id?: string;
}

/** A form of one button. */
export const Action = ({ label, about, lang, quiet, id, children, ...form }: PropsWithChildren<ActionProps>) => (
  <Form {...form}>
    {children}
    <button type="submit" id={id} class={quiet ? "quiet" : "plain"} lang={lang}>
      {label}
      {about && <span class="unseen"> {about}</span>}
    </button>
  </Form>
);

/** A link to a page that asks before a dangerous change. It is left out when the reader may not open that page. */
export function AskLink({ href, children }: PropsWithChildren<{ href: string }>) {
  if (!useView().may(href, "GET")) return null;
  return (
    <a class="button danger" href={href}>
      {children}
    </a>
  );
}

/** A form above a list, folded until the operator opens it. It is left out when the reader may not send the form to `action`. */
export const Fold = (props: PropsWithChildren<{ action: string; label: string; open: boolean }>) =>
  useView().may(props.action) && (
    <details class="fold" open={props.open}>
      <summary class="button">{props.label}</summary>
      {props.children}
    </details>
  );

/** The fields of a form by name. `value` is what a field holds at first. */
export type Fields = Record<string, Omit<FieldProps, "name" | "filled">>;

/**
 * The notice above a form that is shown again. It has the form's errors, each with a link to its field. For a draft it says that the
 * form was not carried out.
 */
export function FormErrors({
  filled,
  fields,
}: {
  filled: FilledForm | undefined;
  fields: Record<string, { label: string }>;
}) {
  const { t } = useView();
  if (filled === undefined) return null;
  const fieldErrors = Object.entries(filled.errors);
  if (fieldErrors.length === 0)
    return <NoticeBox kind="note" title={t("Not sent yet: look the form over and send it.")} />;
  return (
    <NoticeBox kind="bad" title={t("Nothing was changed.")}>
      <ul>
        {fieldErrors.map(([field, text]) => (
          <li>
            <a href={`#${field}`}>{fields[field]?.label ?? field}</a>
            {t(": ") + text}
          </li>
        ))}
      </ul>
    </NoticeBox>
  );
}

/** The fields of a form. A form that is shown again has what was typed, and its errors. */
export const FormFields = ({ fields, filled }: { fields: Fields; filled?: FilledForm | undefined }) => (
  <>
    {Object.entries(fields).map(([name, field]) => (
      <Field name={name} filled={filled} {...field} />
    ))}
  </>
);

interface FieldsFormProps extends Omit<FormProps, "isFree"> {
  fields: Fields;
  filled?: FilledForm | undefined;
  button: string;
  plain?: boolean;
  /** The path of the link that goes back, when there is one. */
  back?: string | undefined;
}

/** A form of {@link FormFields} with a button. The children stand between the two. */
export const FieldsForm = ({ children, ...props }: PropsWithChildren<FieldsFormProps>) => (
  <Form action={props.action} hidden={props.hidden}>
    <FormFields fields={props.fields} filled={props.filled} />
    {children}
    <SendButton label={props.button} class={props.plain ? "plain" : undefined} back={props.back} />
  </Form>
);

interface SendButtonProps {
  label: string;
  class?: "plain" | "danger" | undefined;
  /** Where the button sends the form, when it is not the form's own path. */
  formaction?: string;
  back?: string | undefined;
}

/** The button that sends a form, and a link to the path `back`. */
export function SendButton({ label, back, ...props }: SendButtonProps) {
  const { t } = useView();
  const button = (
    <button type="submit" {...props}>
      {label}
    </button>
  );
  if (back === undefined) return button;
  return (
    <div class="buttons">
      {button}
      <ButtonLink href={back} label={t("Cancel")} plain />
    </div>
  );
}

/** Values that a form sends along unseen. */
export const Hidden = ({ values = {} }: { values?: Record<string, string> | undefined }) => (
  <>
    {Object.entries(values).map(([name, value]) => (
      <input type="hidden" name={name} value={value} />
    ))}
  </>
);

interface FieldProps {
  label: string;
  name: string;
  /** What the field holds, unless the form is shown again. */
  value?: string | undefined;
  error?: string | undefined;
  /** The form that is shown again: what was typed, and its errors. */
  filled?: FilledForm | undefined;
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
  /** The fields of a group. */
  fields?: Fields;
}

/**
 * A field of a form with its label, hint and error. A box (`type="checkbox"`) is ticked when it has a value. A group has fields of its
 * own, and an error that is about all of them.
 */
export function Field({ label, name, filled, hint, type = "text", rows, options, code, fields, ...props }: FieldProps) {
  const { value: first = "", error: ownError, ...rest } = props;
  const value = filled?.values[name] ?? first;
  const error = ownError ?? filled?.errors[name];
  const described = [hint && `${name}-hint`, error && `${name}-error`].filter(Boolean).join(" ") || undefined;
  const common = {
    id: name,
    name,
    class: code ? "code" : undefined,
    spellcheck: code ? false : undefined,
    "aria-invalid": error ? "true" : undefined,
    "aria-describedby": described,
    // When several fields have autofocus, the browser focuses the first.
    autofocus: error ? true : undefined,
    ...rest,
  };
  const part = (kind: "hint" | "error", text: Child, Tag: "p" | "span" = "p") =>
    text && (
      <Tag class={kind} id={`${name}-${kind}`}>
        {text}
      </Tag>
    );
  if (fields !== undefined)
    return (
      <fieldset id={name} aria-describedby={described}>
        <legend>{label}</legend>
        {part("hint", hint)}
        <FormFields fields={fields} filled={filled} />
        {part("error", error)}
      </fieldset>
    );
  if (type === "checkbox")
    return (
      <div class="field">
        <p class="tick">
          <input type="checkbox" checked={value !== ""} {...common} />
          <label for={name}>{label}</label>
          {part("hint", hint, "span")}
        </p>
        {part("error", error)}
      </div>
    );
  return (
    <div class="field">
      <label for={name}>{label}</label>
      {part("hint", hint)}
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
      {part("error", error)}
    </div>
  );
}
