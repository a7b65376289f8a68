import { selectRoute } from "../store/directory/app-routes.ts";
import type { Site } from "../store/directory/sites.ts";
import { type AppSummary, selectAppSummary } from "../store/home/apps.ts";
import { appMissing, appUnknown } from "./refusals.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

/**
 * An app of a site, without its secrets.
 *
 * @throws ServiceError `not_found`, reason `app_missing` when the appid is kept for the site, which has no such app
 */
export async function findApp(
  ctx: ServiceContext,
  { site, appid }: { site: Site; appid: string },
): Promise<AppSummary> {
  const app = await selectAppSummary(homeOf(ctx, site), { siteId: site.id, appid });
  if (app !== undefined) return app;
  const route = await selectRoute(ctx.runtime, ctx.config.directory, appid);
  throw route?.siteId === site.id ? appMissing() : appUnknown();
}
