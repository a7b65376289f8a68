import { type HomeSize, selectSizes } from "../store/usage/directory-metrics.ts";
import type { ServiceContext } from "./service-context.ts";

/** At this size D1 stores nothing more in a database (on Workers Paid). docs/prometheus/alerts.yml warns by the same number. */
const HOME_LIMIT_BYTES = 10_000_000_000;

/** The alert AgentSessionHomeFilling warns from this share of the limit. */
const FILLING_FROM = 0.7;

const DAY = 86_400;

/** The longest time until the end of next month. */
const FULL_SOON_SECONDS = 62 * DAY;

/** Sizes of fewer days do not show the growth: a database grows in steps, and deleted rows leave room in it. */
const MEASURED_SECONDS = 3 * DAY;

/** How full a home is, and when it will be full. Times are Unix seconds. */
export interface HomeFill {
  home: string;
  /** The size that the home reported last; null when it has not reported any. */
  bytes: number | null;
  limit: number;
  /** When the home reported it; null when it has not. */
  at: number | null;
  /** Bytes a day; null when it is not known. */
  growth: number | null;
  /**
   * Where the growth comes from: `sizes`, the sizes of up to 31 days; or `age`, the size divided by the time since the home's first site
   * was made. `age` does not show that the growth became faster, or that a retention ended it.
   */
  from: "sizes" | "age" | null;
  /** Since when that growth is measured. */
  since: number | null;
  /** When the home is full, if the growth stays the same; null when it does not grow, or when the growth is not known. */
  fullAt: number | null;
  /** Whether it has 7 of its 10 GB, or will be full before the end of next month. */
  isFilling: boolean;
}

/** How full each bound home is, in the order of the homes. Reads only the directory, once: the cron copied the sizes there, minutes ago. */
export async function homeFill(ctx: ServiceContext): Promise<HomeFill[]> {
  const known = new Map((await selectSizes(ctx.config.directory)).map((each) => [each.home, each]));
  return [...ctx.config.homes.keys()].map((home) => fillOf(home, known.get(home), ctx.now));
}

function fillOf(home: string, size: HomeSize | undefined, now: number): HomeFill {
  const { at = null, bytes = null } = size ?? {};
  const unknown = { home, bytes, limit: HOME_LIMIT_BYTES, at, growth: null, from: null, since: null, fullAt: null };
  if (size === undefined || at === null || bytes === null) return { ...unknown, isFilling: false };
  const isLarge = bytes >= FILLING_FROM * HOME_LIMIT_BYTES;
  const measured = growthOf(size, at, bytes);
  if (measured === undefined) return { ...unknown, isFilling: isLarge };
  const { growth } = measured;
  const bytesLeft = Math.max(0, HOME_LIMIT_BYTES - bytes);
  const fullAt = growth > 0 ? Math.round(at + (bytesLeft / growth) * DAY) : null;
  return {
    ...unknown,
    ...measured,
    fullAt,
    isFilling: isLarge || (fullAt !== null && fullAt <= now + FULL_SOON_SECONDS),
  };
}

function growthOf({ sizes: [first], firstSiteAt }: HomeSize, at: number, bytes: number) {
  if (first !== undefined && at - first[0] >= MEASURED_SECONDS) {
    const [since, then] = first;
    return { growth: ((bytes - then) / (at - since)) * DAY, from: "sizes" as const, since };
  }
  if (firstSiteAt === null || at - firstSiteAt < DAY) return undefined;
  return { growth: (bytes / (at - firstSiteAt)) * DAY, from: "age" as const, since: firstSiteAt };
}
