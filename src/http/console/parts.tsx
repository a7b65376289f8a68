import type { Child, PropsWithChildren } from "hono/jsx";
import type { Filled } from "./messages.ts";
import type { View } from "./view.ts";

/** What pages are made of. */

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

/** The first cell of a row names it. On a phone each row becomes a card, and `data-label` names its cells. */
export function Table({ label, head, rows, empty }: { label: string; head: string[]; rows: Child[][]; empty: string }) {
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  return (
    <table aria-label={label}>
      <thead>
        <tr>
          {head.map((each) => (
            <th scope="col">{each}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([first, ...others]) => (
          <tr>
            <th scope="row">{first}</th>
            {others.map((cell, i) => (
              <td data-label={head[i + 1]}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
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

export function Notice({ kind, title, children }: PropsWithChildren<{ kind: "good" | "bad" | "note"; title: string }>) {
  return (
    <section class={`notice ${kind}`} role={kind === "bad" ? "alert" : "status"}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

export function Badge({ kind, label }: { kind: "good" | "bad" | "wait" | "off"; label: string }) {
  return <span class={`badge ${kind}`}>{label}</span>;
}

export function Time({ v, at }: { v: View; at: number }) {
  return <time datetime={new Date(at * 1000).toISOString()}>{v.time(at)}</time>;
}

/** A time to come, with what is left until then; the script counts it down. */
export function Until({ v, at }: { v: View; at: number }) {
  return (
    <span>
      <Time v={v} at={at} />{" "}
      <span class="left" data-until={at}>
        ({clock(at - v.now)})
      </span>
    </span>
  );
}

const clock = (seconds: number) =>
  [seconds / 3600, (seconds / 60) % 60, seconds % 60]
    .map((part) => String(Math.floor(part)).padStart(2, "0"))
    .join(":");

/** Text to take along, with a button that copies it where there is a script. */
export function Copyable({ v, id, label, text }: { v: View; id: string; label: string; text: string }) {
  return (
    <div class="copyable">
      <dt>{label}</dt>
      <dd>
        <code id={id}>{text}</code>
        <button type="button" class="plain" data-copy={id} data-done={v.t("Copied")} hidden>
          {v.t("Copy")}
          <span class="unseen"> {label}</span>
        </button>
      </dd>
    </div>
  );
}

/** Cursors of the pages before are kept in the address, as many as this. */
const MOST_STEPS_BACK = 50;

/** The ways to the other pages of a list. Lists only go on after a key, so the address remembers how it came here. */
export function More({
  v,
  path,
  query,
  cursor,
}: {
  v: View;
  path: string;
  query?: Record<string, string | undefined>;
  cursor: string | null;
}) {
  const asked = new URLSearchParams(v.here.split("?")[1]);
  const here = asked.get("cursor");
  if (here === null && cursor === null) return null;
  // No cursor holds a dot; the first page has none and is kept as an empty one.
  const trail = asked.get("trail")?.split(".") ?? [];
  const href = (to: string | undefined, steps: string[]) => {
    const all = {
      ...query,
      cursor: to,
      trail: to && steps.length > 0 ? steps.slice(-MOST_STEPS_BACK).join(".") : undefined,
    };
    const set = Object.entries(all).filter(([name, value]) => value || (name === "trail" && value !== undefined));
    return set.length === 0 ? path : `${path}?${new URLSearchParams(set as [string, string][])}`;
  };
  return (
    <nav class="more" aria-label={v.t("Pages")}>
      {here !== null && <a href={href(undefined, [])}>{v.t("First page")}</a>}
      {here !== null && trail.length > 0 && (
        <a href={href(trail.at(-1), trail.slice(0, -1))} rel="prev">
          {v.t("Previous page")}
        </a>
      )}
      {cursor !== null && (
        <a href={href(cursor, [...trail, here ?? ""])} rel="next">
          {v.t("Next page")}
        </a>
      )}
    </nav>
  );
}
