import type { Site } from "../store/directory/sites.ts";
import { type AppSummary, findAppSummary } from "../store/home/apps.ts";
import { appUnknown } from "./refusals.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

/** An app of a site, without its secrets. @throws ServiceError `not_found` */
export async function findApp(
  ctx: ServiceContext,
  { site, appid }: { site: Site; appid: string },
): Promise<AppSummary> {
  const app = await findAppSummary(homeOf(ctx, site), { siteId: site.id, appid });
  if (app === undefined) throw appUnknown();
  return app;
}
