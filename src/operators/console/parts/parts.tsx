import type { Child, PropsWithChildren } from "hono/jsx";
import { withParameter } from "../console-path.ts";
import { useView } from "../view.ts";

interface NoticeProps {
  kind: "good" | "bad" | "note";
  title: string;
  /** `done` stays in sight while the reader scrolls. */
  class?: "done" | "verdict";
}

export const NoticeBox = ({ kind, title, children, ...props }: PropsWithChildren<NoticeProps>) => (
  <section class={`notice ${kind}${props.class ? ` ${props.class}` : ""}`} role={kind === "bad" ? "alert" : "status"}>
    <h2>{title}</h2>
    {children}
  </section>
);

export type BadgeKind = "good" | "bad" | "wait" | "off";

export const Badge = ({ kind, label }: { kind: BadgeKind; label: string }) => (
  <span class={`badge ${kind}`}>{label}</span>
);

/** A link to a page. A reader who may not open the page sees the text alone. */
export function MayLink(props: PropsWithChildren<{ href: string; class?: string | undefined }>) {
  const isOpen = useView().may(props.href.replace(/\?.*$/, ""), "GET");
  return isOpen ? <a {...props} /> : <span class={props.class}>{props.children}</span>;
}

/** A link whose text is a name. Names may be written from right to left. `class="clip"` cuts off a long one. */
export const NameLink = ({ name, ...link }: { class?: "clip" | "where"; href: string; name: Child }) => (
  <a {...link}>
    <bdi>{name}</bdi>
  </a>
);

/** A link on a line of its own. */
export const LinkLine = ({ href, label }: { href: string; label: string }) => (
  <p>
    <a href={href}>{label}</a>
  </p>
);

/** A link that looks like a button. */
export const ButtonLink = ({ href, label, plain }: { href: string; label: string; plain?: boolean }) => (
  <a class={plain ? "button plain" : "button"} href={href}>
    {label}
  </a>
);

/** A time in full. Lists show {@link Ago} instead. */
export function Time({ at }: { at: number }) {
  return <time datetime={new Date(at * 1000).toISOString()}>{useView().time(at)}</time>;
}

/** How long ago a time is. After a day, the time itself is shown. The exact time is in its title. */
export function Ago({ at }: { at: number }) {
  const view = useView();
  return (
    <time datetime={new Date(at * 1000).toISOString()} title={view.exactTime(at)} data-ago>
      {view.ago(at)}
    </time>
  );
}

/** Stands where the reader waits. Where scripts run, the page asks again by itself every few seconds. Everywhere, the link does. */
export function LookAgain({ children }: PropsWithChildren) {
  const { t, here, isHomeClosed } = useView();
  if (isHomeClosed) return <p class="hint">{t("Nothing goes on here until the home is open.")}</p>;
  return (
    <p class="hint" data-refresh>
      {children} <a href={withParameter(here, "done")}>{t("Look again")}</a>
    </p>
  );
}

/** Replaces an empty list, and says what to do next. @param props `links` are buttons that lead on */
export function EmptyState(props: PropsWithChildren<{ title: string; links?: [href: string, label: string][] }>) {
  return (
    <div class="empty">
      <strong>{props.title}</strong>
      {props.children}
      {props.links && (
        <p class="buttons">
          {props.links.map(([href, label]) => (
            <ButtonLink href={href} label={label} plain />
          ))}
        </p>
      )}
    </div>
  );
}

/** A future time and the time left until it, which console.js counts down. */
export const TimeUntil = ({ at }: { at: number }) => (
  <span>
    <Time at={at} /> <TimeLeft at={at} />
  </span>
);

/** The time left until a future time. The future time is its title. */
export function TimeLeft({ at }: { at: number }) {
  const view = useView();
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
export function CopyButton({ id, label }: { id: string; label?: string }) {
  const { t } = useView();
  return (
    <button type="button" class="plain" data-copy={id} data-done={t("Copied")} hidden>
      {t("Copy")}
      {label !== undefined && <span class="unseen"> {label}</span>}
    </button>
  );
}

/** A fact: its label and its value. A text to copy has the id of its element, too. */
export type Fact = [label: Child, value: Child] | [label: string, text: string, copyId: string];

/** Facts to show. What is false or undefined is left out. */
export type FactRows = readonly (Fact | false | undefined)[];

/** Labels, each with its value. Where scripts run, a button copies a fact that has an id. */
export const Facts = ({ rows, id }: { rows: FactRows; id?: string }) => (
  <dl class="facts" id={id}>
    {rows.map((row) => row && <FactOf row={row} />)}
  </dl>
);

const FactOf = ({ row: [label, value, copyId] }: { row: Fact }) =>
  copyId === undefined ? (
    <>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </>
  ) : (
    <Copyable id={copyId} label={String(label)} text={String(value)} />
  );

/** Text to copy. Where scripts run, a button copies it. */
const Copyable = ({ id, label, text }: { id: string; label: string; text: string }) => (
  <div class="copyable">
    <dt>{label}</dt>
    <dd>
      <code id={id}>{text}</code>
      <CopyButton id={id} label={label} />
    </dd>
  </div>
);

/** A framed part of a page: its title, its facts, and the rest. */
export const Card = (props: PropsWithChildren<{ id?: string; title?: Child; facts?: FactRows }>) => (
  <section class="card" id={props.id}>
    {props.title && <h2>{props.title}</h2>}
    {props.facts && <Facts rows={props.facts} />}
    {props.children}
  </section>
);

/** A part of a page under its title. @param props `all` is a link beside the title, to all of it */
export function Part(props: PropsWithChildren<{ id?: string; title: Child; all?: [href: string, label: string] }>) {
  const title = <h2>{props.title}</h2>;
  const [href, label] = props.all ?? [];
  return (
    <section class="part" id={props.id}>
      {href === undefined ? (
        title
      ) : (
        <div class="head">
          {title}
          <a href={href}>{label}</a>
        </div>
      )}
      {props.children}
    </section>
  );
}

/** Stands in place of a part of a page that could not be read. */
export const Unread = () => <p class="empty">{useView().t("This part could not be read. Try again in a moment.")}</p>;

/** The actions of a row, behind one button. @param props `label` names the button for readers who do not see it, with the row's name */
export const RowMenu = ({ label, children }: PropsWithChildren<{ label: string }>) => (
  <details class="menu">
    <summary title={label}>
      <Icon name="more" />
      <span class="unseen">{label}</span>
    </summary>
    <div>{children}</div>
  </details>
);

/** A setting: what it is on one side, and what changes it on the other. */
export interface Setting {
  title: string;
  text?: Child;
  id?: string;
  change: Child;
}

/** A card of settings. What is false is left out. */
export const Settings = ({ rows }: { rows: readonly (Setting | false)[] }) => (
  <div class="card settings">
    {rows.map(
      (row) =>
        row && (
          <section id={row.id}>
            <div>
              <h2>{row.title}</h2>
              {row.text && <p class="hint">{row.text}</p>}
            </div>
            <div class="change">{row.change}</div>
          </section>
        ),
    )}
  </div>
);

const PATHS = {
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14m5 12 5 5",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "m4 12.5 5.5 5.5L20 7",
  warning: "M12 3 2 20.5h20zM12 9.5v5m0 3v.01",
  external: "M14 4h6v6m0-6-9 9M18 14v6H4V6h6",
  more: "M5 12v.01M12 12v.01M19 12v.01",
  filter: "M4 6h16M7 12h10m-7 6h4",
  close: "m6 6 12 12M18 6 6 18",
  key: "M8 11a4 4 0 1 0 0 8 4 4 0 0 0 0-8m3 1 9-9m-4 4 3 3",
} as const;

/** A small picture beside a text. It adds nothing to the text. */
export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
