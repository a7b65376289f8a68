import * as z from "zod/mini";
import { APPID } from "../../core/credentials/resolve-credentials.ts";
import { invalidInput } from "../../core/errors.ts";
import createSession from "../../core/operations/create-session.ts";
import type { Site } from "../store/directory/sites.ts";
import { DAYS_KEPT, daysKeptSince, HOURS_KEPT_DAYS, hoursKeptSince } from "../store/pruning/prune-usage.ts";
import { selectCounted } from "../store/usage/folds.ts";
import {
  type LastUse,
  type NetworkUse,
  type OutcomeCount,
  selectDays,
  selectHours,
  selectLastUses,
  selectNetworkUses,
  selectOutcomes,
  type UsageItem,
} from "../store/usage/usage.ts";
import { checkOrder, unixTimeSchema } from "./page.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

export type { LastUse, NetworkUse, OutcomeCount, UsageItem } from "../store/usage/usage.ts";

/** How many items an answer may have. */
const MOST_ITEMS = 10_000;

const APPID_RULE = "must be an appid";

/** Query of GET /admin/sites/:site_id/usage. */
export const usageQuerySchema = z.strictObject({
  by: z._default(z.enum(["hour", "day"], "must be hour or day"), "hour"),
  since: z.optional(unixTimeSchema),
  until: z.optional(unixTimeSchema),
  appid: z.optional(z.string().check(z.regex(APPID, APPID_RULE))),
});

/** The part of a site's usage that is wanted. */
interface ReadUsage {
  site: Site;
  by: "hour" | "day";
  /** Only hours or days that begin in this time, Unix seconds, both included; by default all that are stored. */
  since?: number | undefined;
  until?: number | undefined;
  appid?: string | undefined;
}

export interface Usage {
  items: UsageItem[];
  apps: LastUse[];
  /** All calls up to this time are counted, in Unix seconds; null before the first run of the cron. */
  completeUntil: number | null;
}

/** `ok` for accepted calls; for others the name of their outcome or reason. */
export const outcomeName = (outcome: string): string => (outcome === "accepted" ? "ok" : outcome);

/** Whether these calls opened sessions. A call that was repeated under its Idempotency-Key opened none. */
export const hasOpened = ({ operation, outcome }: Pick<OutcomeCount, "operation" | "outcome">): boolean =>
  operation === createSession.name && outcomeName(outcome) === "ok";

/**
 * The calls of a site by hours or days of UTC, and when its secrets were last used. The numbers are half an hour late: calls are counted
 * when their nonces are pruned, so that counting makes no call slower.
 *
 * @throws ServiceError `invalid_input` for times that are not stored, and when there are more than 10,000 items
 */
export async function readUsage(ctx: ServiceContext, input: ReadUsage): Promise<Usage> {
  const { site, by, since, until, appid } = input;
  const db = homeOf(ctx, site);
  const isByHour = by === "hour";
  const keptSince = isByHour ? hoursKeptSince(ctx.now) : daysKeptSince(ctx.now);
  const tooOld = `must be within the last ${isByHour ? HOURS_KEPT_DAYS : DAYS_KEPT} days: older ${by}s are kept no more`;
  if (since !== undefined && since < keptSince) throw invalidInput([{ field: "since", message: tooOld }]);
  if (until !== undefined && until < keptSince) throw invalidInput([{ field: "until", message: tooOld }]);
  checkOrder(input);
  const range = { appid, since: since ?? keptSince, until: until ?? ctx.now, limit: MOST_ITEMS + 1 };
  const [{ refusalsUntil }, items, apps] = await Promise.all([
    selectCounted(db),
    isByHour ? selectHours(db, site.id, range) : selectDays(db, site.id, range),
    selectLastUses(db, site.id, appid),
  ]);
  if (items.length > MOST_ITEMS) {
    const message = `must leave at most ${MOST_ITEMS} items: ask for a shorter time, for days, or for one appid`;
    throw invalidInput([{ field: "since", message }]);
  }
  // The nonces of an hour may be counted before its refused calls. Such hours are left out.
  const complete = items.filter(({ at }) => at <= (refusalsUntil ?? -1));
  return { items: complete, apps, completeUntil: refusalsUntil };
}

/** When the secrets of a site's apps were last used, or those of one app. */
export async function readLastUses(
  ctx: ServiceContext,
  { site, appid }: { site: Site; appid?: string | undefined },
): Promise<Pick<Usage, "apps" | "completeUntil">> {
  const db = homeOf(ctx, site);
  const [{ refusalsUntil }, apps] = await Promise.all([selectCounted(db), selectLastUses(db, site.id, appid)]);
  return { apps, completeUntil: refusalsUntil };
}

/**
 * The calls of a site, of one app or of all together, by days of UTC, operation and outcome. It covers only days whose hours are stored.
 *
 * @param range the first and the last hour, Unix seconds
 */
export const readOutcomes = (
  ctx: ServiceContext,
  { site, appid, ...range }: { site: Site; appid?: string | undefined; since: number; until: number },
): Promise<OutcomeCount[]> => selectOutcomes(homeOf(ctx, site), site.id, { appid, ...range });

/** From which networks an app's secrets were used in the days whose hours are stored, the last use first. At most `limit` uses. */
export const readNetworkUses = (
  ctx: ServiceContext,
  { site, appid, limit }: { site: Site; appid: string; limit: number },
): Promise<NetworkUse[]> =>
  selectNetworkUses(homeOf(ctx, site), site.id, { appid, since: hoursKeptSince(ctx.now), limit });
