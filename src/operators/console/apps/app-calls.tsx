import { refusalOf } from "../../../core/http/faults.ts";
import type { Site } from "../../services/sites.ts";
import { outcomeName, readUsage } from "../../services/usage.ts";
import type { PageContext } from "../env.ts";
import type { FactRows } from "../parts/parts.tsx";
import { reasonText } from "../reasons.ts";
import type { View } from "../view.ts";
import { refusedCallsPath } from "./apps-page.tsx";

const DAY = 86_400;

/** How many UTC days are counted, today included. */
const DAYS_SHOWN = 14;

/** How many reasons of refusals are named at most. */
const MOST_REASONS = 3;

/** The outcomes of accepted calls. */
const ACCEPTED_OUTCOMES: ReadonlySet<string> = new Set(["ok", "repeated"]);

interface AppCalls {
  accepted: number;
  refused: number;
  /** The most frequent reasons of refusals, the most frequent one first. */
  reasons: { reason: string; count: number }[];
}

/** Reads how many calls an app made in the last 14 days. Undefined when the read failed, or no call is counted yet. */
export async function readAppCalls(c: PageContext, site: Site, appid: string): Promise<AppCalls | undefined> {
  const { ctx, trace } = c.var;
  const today = ctx.now - (ctx.now % DAY);
  try {
    const usage = await readUsage(ctx, { site, by: "day", since: today - (DAYS_SHOWN - 1) * DAY, appid });
    if (usage.completeUntil === null) return undefined;
    const counts = new Map<string, number>();
    for (const { outcome, count } of usage.items) {
      const name = outcomeName(outcome);
      counts.set(name, (counts.get(name) ?? 0) + count);
    }
    const refused = [...counts].filter(([name]) => !ACCEPTED_OUTCOMES.has(name)).sort(([, a], [, b]) => b - a);
    const sum = (countsByReason: [string, number][]) => countsByReason.reduce((all, [, count]) => all + count, 0);
    return {
      accepted: sum([...counts].filter(([name]) => ACCEPTED_OUTCOMES.has(name))),
      refused: sum(refused),
      reasons: refused.slice(0, MOST_REASONS).map(([reason, count]) => ({ reason, count })),
    };
  } catch (error) {
    refusalOf(error as Error, trace);
    return undefined;
  }
}

/** How many calls of an app were accepted and refused, and the reasons of the refusals, as a fact of its page. */
export function appCallsFact(view: View, siteId: number, appid: string, calls: AppCalls | undefined): FactRows[number] {
  const { t } = view;
  const number = new Intl.NumberFormat(view.language);
  return [
    t("Counted calls in {0} days", DAYS_SHOWN),
    <>
      {calls ? t("{0} accepted, {1} refused", number.format(calls.accepted), number.format(calls.refused)) : "–"}
      {calls?.reasons.map(({ reason, count }) => (
        <span class="hint line">
          {number.format(count)} × <a href={refusedCallsPath(siteId, appid, reason)}>{reasonText(view, reason).what}</a>
        </span>
      ))}
      <span class="hint line">
        <a href={refusedCallsPath(siteId, appid)}>{t("Refused calls of this app")}</a>
      </span>
    </>,
  ];
}
