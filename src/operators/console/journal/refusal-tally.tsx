import type { RefusalCount } from "../../services/journal.ts";
import { filteredPath } from "../parts/filter.tsx";
import { reasonLabels } from "../reasons.ts";
import type { View } from "../view.ts";
import type { RefusalFilterFields } from "./refusal-filter.ts";

/** How many apps and reasons are listed. The filter finds the calls of all others. */
const MOST_SHOWN = 5;

/**
 * How many calls were refused, by app and by reason, the most frequent first. Each count links to the list with that filter.
 * A count takes the other filters into account.
 */
export function RefusalTally(props: {
  view: View;
  path: string;
  fields: RefusalFilterFields;
  counts: readonly RefusalCount[];
  isWhole: boolean;
  nameOf: (appid: string) => string;
}) {
  const { view, path, fields, counts, isWhole, nameOf } = props;
  const { t } = view;
  if (counts.length === 0) return null;
  const labels = reasonLabels(view);
  const fits = (name: "appid" | "reason", value: string) => fields[name] === "" || fields[name] === value;
  const byApp = sumsByKey(
    counts.filter(({ reason }) => fits("reason", reason)).map((each) => [each.appid, each.calls]),
  );
  const byReason = sumsByKey(
    counts.filter(({ appid }) => fits("appid", appid)).map((each) => [each.reason, each.calls]),
  );
  const number = new Intl.NumberFormat(view.language);
  const line = (label: string, name: "appid" | "reason", of: [string, number][], textOf: (key: string) => string) => (
    <nav class="tally" aria-label={label}>
      <span aria-hidden="true">{label}</span>
      {of.slice(0, MOST_SHOWN).map(([key, calls]) => (
        <a
          class="chip"
          href={filteredPath(path, { ...fields, [name]: fields[name] === key ? "" : key })}
          aria-current={fields[name] === key ? "true" : undefined}
        >
          <bdi>{textOf(key)}</bdi> <b>{number.format(calls)}</b>
        </a>
      ))}
      {of.length > MOST_SHOWN && <span>{t("and {0} more", number.format(of.length - MOST_SHOWN))}</span>}
    </nav>
  );
  return (
    <div class="tallies">
      {line(t("By app"), "appid", byApp, nameOf)}
      {line(t("By reason"), "reason", byReason, (reason) => withoutStop(labels.get(reason) ?? reason))}
      {!isWhole && <p class="hint">{t("Counted among the newest {0} that are kept.", number.format(10_000))}</p>}
    </div>
  );
}

/** A reason is a sentence, which the table shows without its full stop. */
const withoutStop = (text: string) => text.replace(/[.。]$/, "");

/** Adds up the counts by key. The largest sum comes first. */
function sumsByKey(counts: [string, number][]): [string, number][] {
  const callsByKey = new Map<string, number>();
  for (const [key, calls] of counts) callsByKey.set(key, (callsByKey.get(key) ?? 0) + calls);
  return [...callsByKey].sort(([, a], [, b]) => b - a);
}
