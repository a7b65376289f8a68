import type { Child } from "hono/jsx";
import type { View } from "../view.ts";

/** The parts of lists. */

/** A column of a list. */
export interface Column {
  label: string;
  /**
   * Where its cells stand on a phone, where a row has two lines: beside the row's name, in the muted line below it (by default), or
   * nowhere.
   */
  phone?: "top" | "below" | "hide";
  /** For numbers, which stand at the end of their cell. */
  end?: true;
}

/**
 * A list as a table. The first cell names the row.
 *
 * @param props `empty` stands in place of a list without rows: a sentence, or an `EmptyState`; `ids` are the ids of the rows; `id` is
 *   `list`, where the skip link leads, but for the further lists of a page
 */
export function Table(props: {
  label: string;
  head: (string | Column)[];
  rows: Child[][];
  empty: Child;
  ids?: (string | undefined)[];
  id?: string | undefined;
}) {
  const { label, head, rows, empty, ids } = props;
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
            {others.map((cell, i) => (
              <td class={classOf(columns[i + 1] ?? { label: "" })}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The address keeps at most this many cursors of previous pages. */
const MOST_STEPS_BACK = 50;

/** Links to the next and the previous page. A list can only go forward from a cursor, so the address keeps the cursors of earlier pages. */
export function More({
  view,
  path,
  query,
  cursor,
  next = view.t("Next page"),
}: {
  view: View;
  path: string;
  query?: Record<string, string | undefined>;
  cursor: string | null;
  /** What the link to the next page says. */
  next?: string | undefined;
}) {
  const asked = new URLSearchParams(view.here.split("?")[1]);
  const here = asked.get("cursor");
  if (here === null && cursor === null) return null;
  // Dots separate the cursors, which hold none. The first page has no cursor: an empty text stands for it.
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
