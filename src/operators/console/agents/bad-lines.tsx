import { type BadLine, MOST_LISTED_AGENTS } from "../../services/agent-list.ts";
import type { View } from "../view.ts";

/** How many bad lines are shown at most, and how many characters of each. */
const SHOWN_LINES = 50;
const SHOWN_LINE_LENGTH = 120;

/** The bad lines of a list of agents, each with its fault. */
export function BadLines({ view, bad }: { view: View; bad: BadLine[] }) {
  if (bad.length === 0) return null;
  const hiddenCount = bad.length - SHOWN_LINES;
  return (
    <ul class="lines" tabindex={0} aria-label={view.t("Lines that cannot be used")}>
      {bad.slice(0, SHOWN_LINES).map(({ line, text, problem }) => (
        <li>
          {line > 0 && <>{view.t("Line {0}", line)} </>}
          <code>{text.length > SHOWN_LINE_LENGTH ? `${text.slice(0, SHOWN_LINE_LENGTH)}…` : text}</code>:{" "}
          {lineText(view, problem)}
        </li>
      ))}
      {hiddenCount > 0 && <li>{view.t("And {0} more.", hiddenCount)}</li>}
    </ul>
  );
}

function lineText(view: View, problem: BadLine["problem"]): string {
  const texts: Record<BadLine["problem"], string> = {
    form: view.t("Is not “id, name”."),
    more: view.t(
      "Has more than an id and a name. A name that holds a comma, a semicolon or a tab must stand in quotes.",
    ),
    quotes: view.t("The quotes do not end, or text follows them. A quote inside quotes is written twice."),
    id: view.t("The id must be a whole number from 1 to 9007199254740991."),
    name: view.t(
      "The name must have 1 to 100 characters, at least one of them visible and none a control character or direction override.",
    ),
    repeated: view.t("The id stands on an earlier line too."),
    taken: view.t("The site has an agent of this id."),
    too_many: view.t("A list holds {0} agents at most.", MOST_LISTED_AGENTS),
  };
  return texts[problem];
}
