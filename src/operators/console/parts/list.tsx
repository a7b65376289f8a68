import type { Child } from "hono/jsx";
import { withParameter } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { useView } from "../view.ts";
import { Field, type Fields, SendButton } from "./form.tsx";
import { ButtonLink, Icon } from "./parts.tsx";
import { hasUnseen, Unseen, withoutUnseen } from "./unseen.tsx";

/** A column of a list. */
export interface Column {
  label: string;
  /**
   * The place of its cells on a phone, where a row has two lines: beside the row's name, in the muted line below it (the default), or
   * nowhere.
   */
  phone?: "top" | "below" | "hide";
  /** Puts the label before its cells on a phone, where no head says what they are. Numbers have it always. */
  named?: true;
  /** Aligns the cells at their end. It is for numbers. On a phone, the label stands before the number. */
  end?: true;
}

/**
 * A list as a table. The first cell names the row.
 *
 * @param props `empty` replaces a list without rows: a sentence, or an `EmptyState`; `ids` are the ids of the rows; `id` is `list`,
 *   the target of the skip link, except for the second and later lists of a page
 */
export function Table(props: {
  label: string;
  head: (string | Column)[];
  rows: Child[][];
  /** What can be done to each row: the last column, a menu or a button. */
  actions?: Child[] | undefined;
  empty: Child;
  ids?: (string | undefined)[];
  id?: string | undefined;
}) {
  const { label, empty, ids, actions } = props;
  const { t } = useView();
  const head = actions
    ? [...props.head, { label: t("Actions"), phone: "top" as const, end: true as const }]
    : props.head;
  const rows = actions ? props.rows.map((row, i) => [...row, actions[i]]) : props.rows;
  const id = "id" in props ? props.id : "list";
  if (rows.length === 0) return typeof empty === "string" ? <p class="empty">{empty}</p> : <div>{empty}</div>;
  const columns = head.map((each): Column => (typeof each === "string" ? { label: each } : each));
  const classOf = ({ phone = "below", end }: Column) => (end ? `${phone} end` : phone);
  return (
    <table id={id} tabindex={id === undefined ? undefined : -1} aria-label={label}>
      <thead>
        <tr>
          {columns.map((each) => (
            <th scope="col" class={each.end && "end"}>
              {each.label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([first, ...others], row) => (
          <tr id={ids?.[row]}>
            <th scope="row">{first}</th>
            {others.map((cell, i) => {
              const column = columns[i + 1] ?? { label: "" };
              const isNamed = (column.end || column.named) && cell !== false;
              return (
                <td class={classOf(column)} data-label={isNamed ? column.label : undefined}>
                  {cell}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/**
 * The address of a list with these filters as parameters. Empty ones are left out, and do not filter.
 *
 * @param droppedName the name of a filter to leave out too
 */
export function filteredPath(
  path: string,
  filters: Readonly<Record<string, string | undefined>>,
  droppedName?: string,
): string {
  const set = Object.entries(filters).filter(([name, value]) => value && name !== droppedName);
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set as [string, string][])}`;
}

/** The address holds at most this many cursors of previous pages, and this many characters of them. */
const MOST_STEPS_BACK = 50;
const TRAIL_LENGTH = 2_000;

/** Links to the next and the previous page. A cursor only leads forward, so the address holds the cursors of earlier pages. */
export function MoreLink(props: {
  path: string;
  query?: Record<string, string | undefined> | undefined;
  cursor: string | null;
  next?: string | undefined;
}) {
  const view = useView();
  const { path, query, cursor, next = view.t("Next page") } = props;
  const shownQuery = new URLSearchParams(view.here.split("?")[1]);
  const here = shownQuery.get("cursor");
  if (here === null && cursor === null) return null;
  // Dots separate the cursors, which contain none. The first page has no cursor, so an empty text stands for it.
  const trail = shownQuery.get("trail")?.split(".") ?? [];
  const href = (to: string | undefined, steps: string[]) => {
    const longest = Math.max(1, ...steps.map(({ length }) => length));
    const stepsBack = steps.slice(-Math.min(MOST_STEPS_BACK, Math.ceil(TRAIL_LENGTH / longest)));
    const address = filteredPath(path, { ...query, cursor: to });
    return to && steps.length > 0 ? withParameter(address, "trail", stepsBack.join(".")) : address;
  };
  return (
    <nav class="more" aria-label={view.t("Pages")}>
      {here !== null && <a href={href(undefined, [])}>{view.t("First page")}</a>}
      {here !== null && trail.length > 0 && (
        <a href={href(trail.at(-1), trail.slice(0, -1))} rel="prev">
          {view.t("Previous page")}
        </a>
      )}
      {cursor !== null && (
        <a href={href(cursor, [...trail, here ?? ""])} rel="next">
          {next}
        </a>
      )}
    </nav>
  );
}

/**
 * The fields of a filter by name. `value` is the one in force, and `shown` is that value in words. An empty value does not filter. The
 * filter adds to `options` what they lack: that any value fits, and the value in force.
 */
export type FilterFields = Record<string, Fields[string] & { shown?: string | undefined }>;

/**
 * Makes the fields of a filter from the address. A typed text whose `value` is undefined gets the error. Browsers send empty fields
 * too: an empty field does not filter.
 */
export function filterReader({ req, var: { view, t } }: PageContext) {
  const text = (name: string) => req.query(name)?.trim() ?? "";
  const field = (label: string, name: string, value: unknown, error: string) => ({
    label,
    value: text(name),
    error: text(name) !== "" && value === undefined ? error : undefined,
  });
  const time = (label: string, name: string, at: number | undefined) => ({
    ...field(label, name, at, t("Must be a date and a time")),
    type: "datetime-local",
    shown: at === undefined ? undefined : view.time(at),
  });
  return { text, field, time };
}

/** The values of a filter, as parameters of an address. */
export const queryOf = (fields: FilterFields): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(fields).map(([name, { value }]) => [name, value]));

/**
 * The filter above a list: usual choices, a form, which is folded on a phone, and what is in force. A field with an error opens the form
 * and does not filter.
 *
 * @param props `path` is the list's own, without a query; `choices` are labels with the values that they set
 */
export function ListFilter(props: {
  path: string;
  fields: FilterFields;
  choices?: [label: string, values: Record<string, string>][];
  choicesLabel?: string;
}) {
  const { path, fields, choices = [], choicesLabel } = props;
  const { t } = useView();
  const query = queryOf(fields);
  const inForce = Object.entries(fields).filter(([, { value = "", error }]) => value !== "" && error === undefined);
  const texts = Object.values(query).filter((value) => value !== undefined && hasUnseen(value)) as string[];
  const clean = Object.fromEntries(Object.entries(query).map(([name, value = ""]) => [name, withoutUnseen(value)]));
  return (
    <>
      {choices.length > 0 && (
        <nav class="ranges" aria-label={choicesLabel}>
          {choices.map(([label, values]) => (
            <a
              class="chip"
              href={filteredPath(path, { ...query, ...values })}
              aria-current={
                Object.entries(values).every(([name, value]) => (query[name] ?? "") === value) ? "true" : undefined
              }
            >
              {label}
            </a>
          ))}
        </nav>
      )}
      <search class="filter">
        <details open={Object.values(fields).some(({ error }) => error !== undefined)}>
          <summary class="button plain">
            <Icon name="filter" />
            {inForce.length === 0 ? t("Filter") : t("Filter ({0})", inForce.length)}
          </summary>
          <form method="get" action={path}>
            {Object.entries(fields).map(([name, { shown: _, options, ...field }]) => (
              <Field
                name={name}
                {...field}
                {...(options && { options: withLacking(options, t("Any"), field.value) })}
              />
            ))}
            <SendButton label={t("Find")} class="plain" />
          </form>
        </details>
        {inForce.length > 0 && (
          <div class="chips">
            {inForce.map(([name, { label, value, shown, options }]) => (
              <a class="chip" href={filteredPath(path, query, name)}>
                <span>
                  {label + t(": ")}
                  <bdi>{shown ?? options?.find(([each]) => each === value)?.[1] ?? value}</bdi>
                </span>
                <Icon name="close" />
                <span class="unseen">{t("Take this filter off")}</span>
              </a>
            ))}
            <a href={path}>{t("Clear")}</a>
          </div>
        )}
        {texts.length > 0 && (
          <Unseen texts={texts}>
            <ButtonLink href={filteredPath(path, clean)} label={t("Search without them")} plain />
          </Unseen>
        )}
      </search>
    </>
  );
}

/** Options with “Any” before them, and the value in force after them, unless they have these. */
function withLacking(options: [value: string, text: string][], any: string, value = ""): [string, string][] {
  const lacks = (wanted: string) => !options.some(([each]) => each === wanted);
  const own: [string, string][] = value !== "" && lacks(value) ? [[value, value]] : [];
  return [...(lacks("") ? [["", any] as [string, string]] : []), ...options, ...own];
}

/**
 * A list of a page. On every list the parts stand in this order: what adds to it, its filter, its rows, how far it looked, its pages.
 *
 * @param props `path` is the list's own, without a query; `lookedTo` says how far a bounded search looked
 */
export function List(props: {
  path: string;
  label: string;
  add?: Child;
  filter?: Omit<Parameters<typeof ListFilter>[0], "path"> | false | undefined;
  head: (string | Column)[];
  rows: Child[][];
  actions?: Child[];
  ids?: (string | undefined)[];
  empty: Child;
  lookedTo?: Child;
  cursor: string | null;
  next?: string | undefined;
}) {
  const { path, add, filter, lookedTo, cursor, next, ...table } = props;
  return (
    <>
      {(add || filter) && (
        <div class="above">
          {add}
          {filter && <ListFilter path={path} {...filter} />}
        </div>
      )}
      <Table {...table} />
      {lookedTo && <p class="hint">{lookedTo}</p>}
      <MoreLink path={path} query={filter ? queryOf(filter.fields) : undefined} cursor={cursor} next={next} />
    </>
  );
}
