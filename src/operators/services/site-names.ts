import { MAIN_HOME } from "../../core/homes.ts";
import { type Site, selectSites, selectSitesOf } from "../store/directory/sites.ts";
import { askHomes } from "./ask-homes.ts";
import type { ServiceContext } from "./service-context.ts";
import { hasEnded } from "./sites.ts";

/** The sites that these rows are about, by their ids. Makes one read. Has no sites while the directory is silent. */
export async function sitesOf(
  { runtime, config }: ServiceContext,
  rows: readonly { siteId: number | null }[],
): Promise<Map<number, Site>> {
  const ids = new Set(rows.flatMap(({ siteId }) => (siteId === null ? [] : [siteId])));
  if (ids.size === 0) return new Map();
  const directory: [string, D1Database][] = [[MAIN_HOME, config.directory]];
  const { answers } = await askHomes({ runtime, config }, (db) => selectSitesOf(db, [...ids]), directory);
  return new Map(answers.get(MAIN_HOME)?.map((site) => [site.id, site]));
}

/** How many sites a form offers by name at most. */
const MOST_OFFERED = 200;

/** The sites that a form offers by name, in the order of their names; undefined when there are too many for a form. */
export async function offeredSites({ config }: ServiceContext): Promise<Site[] | undefined> {
  const sites = await selectSites(config.directory, 0, MOST_OFFERED + 1);
  if (sites.length > MOST_OFFERED) return undefined;
  return sites.filter((site) => !hasEnded(site)).sort((a, b) => a.name.localeCompare(b.name) || a.id - b.id);
}
