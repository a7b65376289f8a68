import type { ServiceContext } from "./service-context.ts";
import type { Site } from "./sites.ts";
import { hasOpened, type LastUse, type OutcomeCount, outcomeName, readLastUses, readOutcomes } from "./usage.ts";

const DAY = 86_400;

/** How many UTC days a site's page shows, today included. */
export const DAYS_SHOWN = 14;

/** The outcomes of accepted calls. */
const ACCEPTED_OUTCOMES: ReadonlySet<string> = new Set(["ok", "repeated"]);

export interface DayOfCalls {
  /** The beginning of the day in Unix seconds. */
  at: number;
  accepted: number;
  refused: number;
  /** How many of the accepted calls opened a session. A repeated call opens none. */
  sessions: number;
}

export interface SiteUsage {
  /** Every day up to today in order, also days without calls. */
  days: DayOfCalls[];
  outcomes: OutcomeCount[];
  apps: LastUse[];
  completeUntil: number | null;
}

/** Reads what a site's page shows of its calls, or an app's page of those of the app. */
export async function readSiteUsage(ctx: ServiceContext, site: Site, appid?: string): Promise<SiteUsage> {
  const today = dayOf(ctx.now);
  const since = today - (DAYS_SHOWN - 1) * DAY;
  const [outcomes, { apps, completeUntil }] = await Promise.all([
    readOutcomes(ctx, { site, appid, since, until: ctx.now }),
    readLastUses(ctx, { site, appid }),
  ]);
  const days = Array.from({ length: DAYS_SHOWN }, (_, i) => callsOf(since + i * DAY, outcomes));
  return { days, outcomes, apps, completeUntil };
}

function callsOf(day: number, counts: OutcomeCount[]): DayOfCalls {
  const calls = { at: day, accepted: 0, refused: 0, sessions: 0 };
  for (const each of counts) {
    if (each.at !== day) continue;
    calls[isRefused(each) ? "refused" : "accepted"] += each.count;
    if (hasOpened(each)) calls.sessions += each.count;
  }
  return calls;
}

const isRefused = ({ outcome }: OutcomeCount) => !ACCEPTED_OUTCOMES.has(outcomeName(outcome));

const dayOf = (at: number) => at - (at % DAY);
