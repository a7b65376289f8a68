import type { Child, PropsWithChildren } from "hono/jsx";
import type { View } from "./view.ts";

/** What pages are made of. */

/** A form of one button. */
export function Action(
  props: PropsWithChildren<{
    action: string;
    label: string;
    about?: string;
    lang?: string;
    quiet?: boolean;
    danger?: boolean;
  }>,
) {
  return (
    <form method="post" action={props.action}>
      {props.children}
      <button type="submit" class={props.quiet ? "quiet" : props.danger ? "danger" : "plain"} lang={props.lang}>
        {props.label}
        {props.about && <span class="unseen"> {props.about}</span>}
      </button>
    </form>
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
  required?: boolean;
  maxlength?: number;
  autocomplete?: string;
  autofocus?: boolean;
  code?: boolean;
}) {
  const { name, label, value = "", error, hint, type = "text", rows, code, ...rest } = props;
  const described = [hint && `${name}-hint`, error && `${name}-error`].filter(Boolean).join(" ");
  const common = {
    id: name,
    name,
    class: code ? "code" : undefined,
    spellcheck: code ? false : undefined,
    "aria-invalid": error ? "true" : undefined,
    "aria-describedby": described || undefined,
    // What is wrong may be far down the page that comes back.
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
      {rows === undefined ? (
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
  const href = (more: Record<string, string>) => {
    const set = Object.entries({ ...query, ...more }).filter(([, value]) => value);
    return set.length === 0 ? path : `${path}?${new URLSearchParams(set as [string, string][])}`;
  };
  const first = new URLSearchParams(v.here.split("?")[1]).has("cursor");
  if (!first && cursor === null) return null;
  return (
    <nav class="more" aria-label={v.t("Pages")}>
      {first && <a href={href({})}>{v.t("First page")}</a>}
      {cursor !== null && (
        <a href={href({ cursor })} rel="next">
          {v.t("Next page")}
        </a>
      )}
    </nav>
  );
}
