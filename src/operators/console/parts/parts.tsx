import type { PropsWithChildren } from "hono/jsx";
import type { View } from "../view.ts";

export function NoticeBox({
  kind,
  title,
  sticks,
  children,
}: PropsWithChildren<{
  kind: "good" | "bad" | "note";
  title: string;
  /** Whether the notice stays in sight while the reader scrolls. */
  sticks?: boolean;
}>) {
  return (
    <section class={`notice ${kind}${sticks ? " done" : ""}`} role={kind === "bad" ? "alert" : "status"}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

export type BadgeKind = "good" | "bad" | "wait" | "off";

export function Badge({ kind, label }: { kind: BadgeKind; label: string }) {
  return <span class={`badge ${kind}`}>{label}</span>;
}

/** A time in full. Lists show {@link Ago} instead. */
export function Time({ view, at }: { view: View; at: number }) {
  return <time datetime={new Date(at * 1000).toISOString()}>{view.time(at)}</time>;
}

/** How long ago a time is. After a day, the time itself is shown. The exact time is in its title. */
export function Ago({ view, at }: { view: View; at: number }) {
  return (
    <time datetime={new Date(at * 1000).toISOString()} title={view.exactTime(at)}>
      {view.ago(at)}
    </time>
  );
}

/** Replaces an empty list, and says what to do next. */
export function EmptyState({ title, children }: PropsWithChildren<{ title: string }>) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

/** A future time and the time left until it, which console.js counts down. */
export function TimeUntil({ view, at }: { view: View; at: number }) {
  return (
    <span>
      <Time view={view} at={at} /> <TimeLeft view={view} at={at} />
    </span>
  );
}

/** The time left until a future time. The future time is its title. */
export function TimeLeft({ view, at }: { view: View; at: number }) {
  return (
    <span class="left" data-until={at} title={view.exactTime(at)}>
      ({clock(at - view.now)})
    </span>
  );
}

const clock = (seconds: number) =>
  [seconds / 3600, (seconds / 60) % 60, seconds % 60]
    .map((part) => String(Math.floor(part)).padStart(2, "0"))
    .join(":");

/**
 * A button that copies the text of the element with this id. It is visible only where scripts run.
 *
 * @param props `label` says what is copied, for readers who do not see the place of the button
 */
export function CopyButton({ view, id, label }: { view: View; id: string; label?: string }) {
  return (
    <button type="button" class="plain" data-copy={id} data-done={view.t("Copied")} hidden>
      {view.t("Copy")}
      {label !== undefined && <span class="unseen"> {label}</span>}
    </button>
  );
}

/** Text to copy. Where scripts run, a button copies it. */
export function Copyable({ view, id, label, text }: { view: View; id: string; label: string; text: string }) {
  return (
    <div class="copyable">
      <dt>{label}</dt>
      <dd>
        <code id={id}>{text}</code>
        <CopyButton view={view} id={id} label={label} />
      </dd>
    </div>
  );
}
