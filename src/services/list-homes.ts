import { ServiceError } from "../errors.ts";
import { MAIN_HOME } from "../homes.ts";
import { countSitesByHome } from "../store/directory/sites.ts";
import { probeHome } from "../store/home/home-sites.ts";
import { askHomes } from "./ask-homes.ts";
import type { ServiceContext } from "./service-context.ts";

export interface Home {
  name: string;
  /** How many sites it has, as the directory knows. */
  sites: number;
  /** `closed` while CLOSED_HOMES names it; `down` when its database does not answer, is not migrated or not bound. */
  status: "open" | "closed" | "down";
}

/**
 * Every home of this deployment, `main` first, and every home that a site names although nothing is bound for it.
 *
 * @throws ServiceError `unavailable` when the directory does not answer or is not migrated; its words say so
 */
export async function listHomes(ctx: ServiceContext): Promise<Home[]> {
  const { config } = ctx;
  const { answers, down } = await askHomes(ctx, async (db, home) => {
    const [, counts] = await Promise.all([probeHome(db), home === MAIN_HOME ? countSitesByHome(db) : undefined]);
    return counts;
  });
  const sites = answers.get(MAIN_HOME);
  if (sites === undefined) {
    const detail = "The directory, which is in the home main, does not answer or is not migrated.";
    throw new ServiceError("unavailable", { reason: "d1_unavailable", detail, retryAfter: 1 });
  }
  const statusOf = (name: string): Home["status"] => {
    if (config.closedHomes.has(name)) return "closed";
    return config.homes.has(name) && !down.includes(name) ? "open" : "down";
  };
  const names = new Set([...config.homes.keys(), ...sites.keys()]);
  return [...names].map((name) => ({ name, sites: sites.get(name) ?? 0, status: statusOf(name) }));
}
