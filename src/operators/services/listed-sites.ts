import { invalidInput } from "../../core/errors.ts";
import { type SiteFilter, selectSites } from "../store/directory/sites.ts";
import { type SiteActivity, selectActivity } from "../store/home/site-activity.ts";
import { askHomes } from "./ask-homes.ts";
import { LIMIT_MS } from "./attention.ts";
import type { HomeTrouble } from "./health.ts";
import { CURSOR_RULE } from "./page.ts";
import type { ServiceContext } from "./service-context.ts";
import type { Site } from "./sites.ts";
import { TROUBLE_SECONDS } from "./webhooks.ts";

export type { SiteActivity } from "../store/home/site-activity.ts";

/** How many sites are put in the order of their calls. A list of more sites begins again with the next ones. */
export const RANKED_SITES = 500;

/** Calls are counted this long after they came, at most. */
const COUNTED_AFTER_SECONDS = 40 * 60;

const HOUR = 3_600;
const DAY = 86_400;

/**
 * A place in the list of sites. No site is left out between two pages: each page counts the same hours, whose calls are all counted, and a
 * home that a page before did not reach is not asked again.
 */
interface SitesPlace {
  /** The ranked sites have ids above this. */
  after: number;
  /** The end of the counted hours, in Unix seconds. */
  until: number;
  /** The last listed site; undefined before the first. */
  last: { rank: number; id: number } | undefined;
  /** The homes whose sites stand last, because their calls are not known. */
  unknownHomes: readonly string[];
}

/** The sites to rank, and where the page begins. */
export interface RankedSites {
  sites: Site[];
  place: SitesPlace;
  /** The id after which the next sites to rank begin; null when there are no more. */
  nextAfter: number | null;
}

const PLACE = /^(\d{1,16})(?:_(\d{1,11})_(\d{1,16})_(\d{1,16})_([\w,-]*))?$/;

/** @throws ServiceError `invalid_input` for a malformed cursor */
function placeOf(ctx: ServiceContext, cursor = "0"): SitesPlace {
  const [, after, until, rank, id, unknown = ""] = PLACE.exec(cursor) ?? [];
  if (after === undefined) throw invalidInput([{ field: "cursor", message: CURSOR_RULE }]);
  const counted = ctx.now - COUNTED_AFTER_SECONDS;
  return {
    after: Number(after),
    until: until === undefined ? counted - (counted % HOUR) : Number(until),
    last: id === undefined ? undefined : { rank: Number(rank), id: Number(id) },
    unknownHomes: unknown.split(",").filter((home) => home !== ""),
  };
}

/**
 * The sites of a list that the operator sees: one query of the directory.
 *
 * @param input `cursor`: the `nextCursor` of the page before, or the id of the site before the first
 * @throws ServiceError `invalid_input` for a malformed cursor
 */
export async function sitesToRank(
  ctx: ServiceContext,
  { cursor, filter }: { cursor: string | undefined; filter: SiteFilter },
): Promise<RankedSites> {
  const place = placeOf(ctx, cursor);
  const { config, identity } = ctx;
  const rows = await selectSites(config.directory, place.after, RANKED_SITES + 1, identity?.onlySite, filter);
  const sites = rows.slice(0, RANKED_SITES);
  return { sites, place, nextAfter: rows.length > RANKED_SITES ? (sites.at(-1)?.id ?? null) : null };
}

export interface ListedSite {
  site: Site;
  /** Undefined when its home was not asked or did not answer. */
  activity: SiteActivity | undefined;
}

const NOTHING: SiteActivity = { calls: 0, refused: 0, webhooks: 0, troubled: 0 };

/**
 * Puts sites in the order of their calls of 24 hours, the most first, and those whose calls are not known last. Asks each of their homes
 * once, for a second at most.
 *
 * @param troubles the homes that are known to have trouble: a silent one is not asked again
 */
export async function rankSites(
  ctx: ServiceContext,
  { sites, place }: RankedSites,
  troubles: ReadonlyMap<string, HomeTrouble>,
): Promise<{ ranked: ListedSite[]; unknownHomes: string[] }> {
  const { config, runtime, now } = ctx;
  const byHome = Map.groupBy(
    sites.filter(({ status }) => status !== "creating"),
    ({ home }) => home,
  );
  const isKnown = (home: string) => !place.unknownHomes.includes(home) && (troubles.get(home) ?? "closed") === "closed";
  const homes = [...config.homes].filter(([home]) => byHome.has(home) && isKnown(home));
  const range = { since: place.until - DAY, until: place.until, failingBefore: now - TROUBLE_SECONDS };
  const { answers } = await askHomes(
    ctx,
    (db, home) =>
      selectActivity(
        db,
        (byHome.get(home) ?? []).map(({ id }) => id),
        range,
      ),
    homes,
    runtime.elapsed() + LIMIT_MS,
  );
  const listed = sites.map((site): ListedSite => {
    if (site.status === "creating") return { site, activity: NOTHING };
    const ofHome = answers.get(site.home);
    return { site, activity: ofHome && (ofHome.get(site.id) ?? NOTHING) };
  });
  const ranked = listed.sort((a, b) => rankOf(b) - rankOf(a) || a.site.id - b.site.id);
  return { ranked, unknownHomes: [...byHome.keys()].filter((home) => !answers.has(home)) };
}

/** Sites whose calls are not known come after those without calls. */
const rankOf = ({ activity }: ListedSite) => (activity === undefined ? 0 : activity.calls + 1);

/** The page of the ranked sites that follows the place. @param limit how many sites it has at most */
export function pageOfRanked(
  { place, nextAfter }: RankedSites,
  { ranked, unknownHomes }: Awaited<ReturnType<typeof rankSites>>,
  limit: number,
): { items: ListedSite[]; nextCursor: string | null } {
  const { after, until, last } = place;
  const isLater = (each: ListedSite) =>
    last === undefined || rankOf(each) < last.rank || (rankOf(each) === last.rank && each.site.id > last.id);
  const later = ranked.filter(isLater);
  const items = later.slice(0, limit);
  const lastItem = items.at(-1);
  if (later.length > limit && lastItem !== undefined) {
    const parts = [after, until, rankOf(lastItem), lastItem.site.id, unknownHomes.join(",")];
    return { items, nextCursor: parts.join("_") };
  }
  return { items, nextCursor: nextAfter === null ? null : String(nextAfter) };
}
