import { homeDatabase } from "../config.ts";
import { selectRoute } from "../store/directory/app-routes.ts";
import { updateRevoked } from "../store/home/apps.ts";
import { appMissing, appUnknown } from "./refusals.ts";
import { authorOf, publishApp, type ServiceContext } from "./service-context.ts";

/**
 * Revokes an app for good: none of its secrets verifies from here on.
 *
 * @throws ServiceError `not_found`, reason `app_missing` when the appid is kept for a site that has no such app
 */
export async function revokeApp(ctx: ServiceContext, { appid }: { appid: string }): Promise<void> {
  const { runtime, config } = ctx;
  const route = await selectRoute(runtime, config.directory, appid);
  if (route === undefined) throw appUnknown();
  const { siteId, home } = route;
  const app = await updateRevoked(runtime, homeDatabase(config, home), { siteId, appid }, authorOf(ctx));
  if (app === undefined) throw appMissing();
  publishApp(ctx, { ...app, home });
}
