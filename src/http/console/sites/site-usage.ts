import { isRefusedFor } from "../../../errors.ts";
import type { ServiceContext } from "../../../services/service-context.ts";
import type { Site } from "../../../services/sites.ts";
import { type LastUse, outcomeName, readUsage, type Usage, type UsageItem } from "../../../services/usage.ts";
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
  const { items, apps, completeUntil } = await readWhole(ctx, { site, by: "day", since, until: today });
  const risen = completeUntil === null ? [] : await readRisen(ctx, site, completeUntil, items);
  const days = Array.from({ length: DAYS_SHOWN }, (_, i) => callsOf(since + i * DAY, items));
  return { days, risen, apps, completeUntil };
}

function callsOf(day: number, items: UsageItem[]): DayOfCalls {
  const calls = { at: day, accepted: 0, refused: 0 };
  for (const item of items) {
    if (item.at === day) calls[isRefused(item) ? "refused" : "accepted"] += item.count;
  }
  return calls;
}

/** @param items the shown days */
async function readRisen(ctx: ServiceContext, site: Site, completeUntil: number, items: UsageItem[]) {
  // The newest hour counts too, although it may not be over: a rise is seen the sooner.
  const since = completeUntil - (completeUntil % HOUR) + HOUR - DAY;
  const firstDay = dayOf(since);
  const refused = items.filter(isRefused);
  const candidates = sumByOutcome(refused.filter(({ at }) => at >= firstDay));
  // Most sites have no reason that could have risen: their hours need not be read.
  if (![...candidates.values()].some((count) => count >= LEAST_RISEN)) return [];
  const lastDay = await readWhole(ctx, { site, by: "hour", since, until: since + DAY - HOUR });
  const weekBefore = refused.filter(({ at }) => at < firstDay && at >= firstDay - 7 * DAY);
  return risenReasons(lastDay.items.filter(isRefused), weekBefore);
}

const isRefused = ({ outcome }: UsageItem) => !DONE.has(outcomeName(outcome));

const dayOf = (at: number) => at - (at % DAY);

interface Wanted {
  site: Site;
  by: "hour" | "day";
  /** When the first and the last of the hours or days begin. */
  since: number;
  until: number;
}

/** All items, also when they are more than one answer may have: then each half of the time is read by itself. */
async function readWhole(ctx: ServiceContext, { site, by, since, until }: Wanted): Promise<Usage> {
  const step = by === "day" ? DAY : HOUR;
  try {
    return await readUsage(ctx, { site, by, since, until });
  } catch (error) {
    if (since >= until || !isRefusedFor(error, "fields_invalid")) throw error;
  }
  const middle = since + Math.floor((until - since) / step / 2) * step;
  const first = await readWhole(ctx, { site, by, since, until: middle });
  const second = await readWhole(ctx, { site, by, since: middle + step, until });
  return { ...second, items: [...first.items, ...second.items] };
}
