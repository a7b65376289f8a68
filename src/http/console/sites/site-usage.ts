import type { ServiceContext } from "../../../services/service-context.ts";
import type { Site } from "../../../services/sites.ts";
import { type LastUse, type OutcomeCount, outcomeName, readLastUses, readOutcomes } from "../../../services/usage.ts";
import { LEAST_RISEN, type RisenReason, risenReasons, sumByOutcome } from "./risen-reasons.ts";

const HOUR = 3_600;
const DAY = 86_400;

/** How many days of UTC a site's page shows, today included. */
export const DAYS_SHOWN = 14;

/** The outcomes of calls that did what they were sent for. */
const DONE: ReadonlySet<string> = new Set(["ok", "repeated"]);

export interface DayOfCalls {
  /** When the day begins, in Unix seconds. */
  at: number;
  accepted: number;
  refused: number;
}

export interface SiteUsage {
  /** One after the other up to today, also those without calls. */
  days: DayOfCalls[];
  risen: RisenReason[];
  apps: LastUse[];
  completeUntil: number | null;
}

/** What a site's page shows of its calls. */
export async function readSiteUsage(ctx: ServiceContext, site: Site): Promise<SiteUsage> {
  const today = dayOf(ctx.now);
  const since = today - (DAYS_SHOWN - 1) * DAY;
  const [counts, { apps, completeUntil }] = await Promise.all([
    readOutcomes(ctx, { site, since, until: ctx.now }),
    readLastUses(ctx, { site }),
  ]);
  const risen = completeUntil === null ? [] : await readRisen(ctx, site, completeUntil, counts);
  const days = Array.from({ length: DAYS_SHOWN }, (_, i) => callsOf(since + i * DAY, counts));
  return { days, risen, apps, completeUntil };
}

function callsOf(day: number, counts: OutcomeCount[]): DayOfCalls {
  const calls = { at: day, accepted: 0, refused: 0 };
  for (const each of counts) {
    if (each.at === day) calls[isRefused(each) ? "refused" : "accepted"] += each.count;
  }
  return calls;
}

/** @param counts of the shown days */
async function readRisen(ctx: ServiceContext, site: Site, completeUntil: number, counts: OutcomeCount[]) {
  // The newest hour counts too, although it may not be over: a rise is seen the sooner.
  const since = completeUntil - (completeUntil % HOUR) + HOUR - DAY;
  const firstDay = dayOf(since);
  const refused = counts.filter(isRefused);
  const candidates = sumByOutcome(refused.filter(({ at }) => at >= firstDay));
  // Most sites have no reason that could have risen: their hours need not be read.
  if (![...candidates.values()].some((count) => count >= LEAST_RISEN)) return [];
  const lastDay = await readOutcomes(ctx, { site, since, until: since + DAY - HOUR });
  const weekBefore = refused.filter(({ at }) => at < firstDay && at >= firstDay - 7 * DAY);
  return risenReasons(lastDay.filter(isRefused), weekBefore);
}

const isRefused = ({ outcome }: OutcomeCount) => !DONE.has(outcomeName(outcome));

const dayOf = (at: number) => at - (at % DAY);
