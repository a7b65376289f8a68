import type { Site } from "../store/directory/sites.ts";
import { selectHomeSite } from "../store/home/home-sites.ts";
import { siteUnknown } from "./refusals.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

/** Whether accepted calls of a site leave events. @throws ServiceError `not_found` when the home does not have the site */
export async function siteHasEvents(ctx: ServiceContext, { site }: { site: Site }): Promise<boolean> {
  const found = await selectHomeSite(homeOf(ctx, site), site.id);
  if (found === undefined) throw siteUnknown();
  return found.events;
}
