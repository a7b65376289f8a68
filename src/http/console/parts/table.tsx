import type { Child } from "hono/jsx";
import type { View } from "../view.ts";

/** The parts of lists. */

/** A list as a table. The first cell names the row. On a phone each row becomes a card, and `data-label` names its cells. */
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

/** The address keeps at most this many cursors of previous pages. */
const MOST_STEPS_BACK = 50;

/** Links to the next and the previous page. A list can only go forward from a cursor, so the address keeps the cursors of earlier pages. */
export function More({
  view,
  path,
  query,
  cursor,
}: {
  view: View;
  path: string;
  query?: Record<string, string | undefined>;
  cursor: string | null;
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
          {view.t("Next page")}
        </a>
      )}
    </nav>
  );
}
