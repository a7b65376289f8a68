import type { Child } from "hono/jsx";
import { withParameter } from "../console-path.ts";
import { useView } from "../view.ts";

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
