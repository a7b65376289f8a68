import { homeClosed, homeDatabase } from "../config.ts";
import { ServiceError } from "../errors.ts";
import { MAIN_HOME } from "../homes.ts";
import { deleteRoute, selectRouteToRelease } from "../store/directory/app-routes.ts";
import { fenceAppid } from "../store/home/apps.ts";
import { appUnknown } from "./refusals.ts";
import { authorOf, type ServiceContext } from "./service-context.ts";

/**
 * Gives back an appid that is kept for a site although the site has no such app: because its home did not answer when it was issued,
 * or has lost the app by a restore. From then on any site can get it.
 *
 * Not while the home or the directory is closed: it may be under restore, and have the app again after the next one.
 *
 * @param input `siteId` when only a route of this site is meant
 * @throws ServiceError `not_found`; `conflict`, reason `app_issued` when the site has the app, `route_claimed` when a call has asked
 *   for the appid since, or `home_behind` when the home was restored and not settled; `unavailable` when a database does not answer
 *   or is closed. Then nothing is released
 */
export async function releaseApp(
  ctx: ServiceContext,
  { appid, siteId }: { appid: string; siteId?: number },
): Promise<void> {
  const { runtime, config } = ctx;
  const route = await selectRouteToRelease(runtime, config.directory, appid);
  if (route === undefined || (siteId !== undefined && route.siteId !== siteId)) throw appUnknown();
  const closed = [MAIN_HOME, route.home].find((home) => config.closedHomes.has(home));
  if (closed !== undefined) throw new ServiceError("unavailable", homeClosed(closed));
  // From here on no call that began before can make the app; one that begins now claims the route anew.
  const fence = await fenceAppid(runtime, homeDatabase(config, route.home), route, route.siteRevision);
  if (fence === "issued") throw appIssued();
  if (fence === "behind") throw homeBehind(route.home);
  if (!(await deleteRoute(runtime, config.directory, route, authorOf(ctx)))) throw claimed();
}

const appIssued = () =>
  new ServiceError("conflict", {
    reason: "app_issued",
    detail: "The site has this app by now, so its appid is not released. Send DELETE again to revoke the app.",
  });

const homeBehind = (home: string) =>
  new ServiceError("conflict", {
    reason: "home_behind",
    detail: `The home ${home} was restored and is not settled, so nothing is released: send POST /admin/homes/${home}/restored first.`,
  });

const claimed = () =>
  new ServiceError("conflict", {
    reason: "route_claimed",
    detail:
      "Somebody asked for this appid at this moment, so it is not released. Look whether the app is there, and try again.",
  });
