import type { Site } from "../store/directory/sites.ts";
import {
  type RisenReason,
  type RunningOverlap,
  selectRisenReasons,
  selectRunningOverlaps,
  selectTroubledWebhooks,
  type TroubledWebhook,
} from "../store/home/attention.ts";
import { askHomes } from "./ask-homes.ts";
import type { HomeTrouble } from "./health.ts";
import { type ServiceContext, urlFor } from "./service-context.ts";
import { TROUBLE_SECONDS } from "./webhooks.ts";

export type { RisenReason, RunningOverlap, TroubledWebhook } from "../store/home/attention.ts";

/** Pages that show this beside other things wait no longer for it. */
export const LIMIT_MS = 1_000;

/** What of some sites needs an operator. Each list begins with the most urgent. */
export interface Attention {
  webhooks: TroubledWebhook[];
  overlaps: RunningOverlap[];
  risen: RisenReason[];
  /** Homes of these sites that are closed, not bound, or did not answer in time. What is in the latter two is not known. */
  homes: [home: string, trouble: HomeTrouble][];
  /** Other homes, of which the refused calls alone could not be read in time. */
  notCompared: string[];
}

/**
 * What of these sites needs an operator. Asks each home twice at the same time, and waits a second at most. A closed home is asked too:
 * its webhooks fail as others do.
 */
export async function readAttention(ctx: ServiceContext, sites: readonly Site[]): Promise<Attention> {
  const { config, now, runtime } = ctx;
  const byHome = new Map<string, number[]>();
  for (const { id, home, status } of sites) {
    if (!["open", "closed"].includes(status)) continue;
    byHome.set(home, [...(byHome.get(home) ?? []), id]);
  }
  const homes = [...config.homes].filter(([home]) => byHome.has(home));
  const ask = <T>(read: (db: D1Database, ids: number[]) => Promise<T>) =>
    askHomes(ctx, (db, home) => read(db, byHome.get(home) ?? []), homes, runtime.elapsed() + LIMIT_MS);
  // Usage is long: it must not hold back the rest.
  const [troubles, risen] = await Promise.all([
    ask((db, ids) =>
      Promise.all([selectTroubledWebhooks(db, ids, now - TROUBLE_SECONDS), selectRunningOverlaps(db, ids, now)]),
    ),
    ask(selectRisenReasons),
  ]);
  const found = [...troubles.answers.values()];
  const troubleOf = (home: string): HomeTrouble | undefined => {
    if (!config.homes.has(home)) return "unbound";
    if (config.closedHomes.has(home)) return "closed";
    return troubles.down.includes(home) ? "silent" : undefined;
  };
  return {
    webhooks: found
      .flatMap(([webhooks]) => webhooks.map((each) => ({ ...each, url: urlFor(ctx, each.url) })))
      .sort((a, b) => rank(a) - rank(b) || b.since - a.since),
    overlaps: found
      .flatMap(([, overlaps]) => overlaps)
      .map((each) => (each.kind === "webhook" ? { ...each, name: urlFor(ctx, each.name) } : each))
      .sort((a, b) => a.endsAt - b.endsAt),
    risen: [...risen.answers.values()].flat().sort((a, b) => b.count - a.count),
    homes: [...byHome.keys()].flatMap((home) => {
      const trouble = troubleOf(home);
      return trouble === undefined ? [] : [[home, trouble]];
    }),
    notCompared: risen.down.filter((home) => !troubles.down.includes(home)),
  };
}

const rank = ({ disabledReason }: TroubledWebhook) => (disabledReason === null ? 1 : 0);
