import type { PropsWithChildren } from "hono/jsx";
import type { View } from "../view.ts";

/** What pages are made of. */

export function Notice({ kind, title, children }: PropsWithChildren<{ kind: "good" | "bad" | "note"; title: string }>) {
  return (
    <section class={`notice ${kind}`} role={kind === "bad" ? "alert" : "status"}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

export type BadgeKind = "good" | "bad" | "wait" | "off";

export function Badge({ kind, label }: { kind: BadgeKind; label: string }) {
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
