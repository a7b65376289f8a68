import { selectRoute } from "../store/directory/app-routes.ts";
import type { Site } from "../store/directory/sites.ts";
import { selectAppSummary } from "../store/home/apps.ts";
import { appidTaken } from "./refusals.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

/**
 * Checks whether an app of a site could be imported under an appid. Writes nothing.
 *
 * @throws ServiceError `conflict`, reason `appid_taken`
 */
export async function checkAppid(ctx: ServiceContext, { site, appid }: { site: Site; appid: string }): Promise<void> {
  const { runtime, config } = ctx;
  const route = await selectRoute(runtime, config.directory, appid);
  if (route === undefined) return;
  // A route of this site without an app is what an import left that was not finished.
  const isTaken = route.siteId !== site.id || (await selectAppSummary(homeOf(ctx, site), { siteId: site.id, appid }));
  if (isTaken) throw appidTaken();
}
