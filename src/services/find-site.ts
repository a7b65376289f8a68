import * as sites from "../store/directory/sites.ts";
import { siteUnknown } from "./refusals.ts";
import type { ServiceContext } from "./service-context.ts";

export type { Site } from "../store/directory/sites.ts";

/** @throws ServiceError `not_found` */
export async function findSite({ config }: ServiceContext, { siteId }: { siteId: number }): Promise<sites.Site> {
  const site = await sites.selectSite(config.directory, siteId);
  if (site === undefined) throw siteUnknown();
  return site;
}
