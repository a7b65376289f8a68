import type { Child } from "hono/jsx";
import type { View } from "../view.ts";

/** What lists are made of. */

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
