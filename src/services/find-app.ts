import { type AppSummary, findAppOfSite } from "../store/directory/apps.ts";
import { appUnknown } from "./refusals.ts";
import type { ServiceContext } from "./service-context.ts";

/** An app of a site, without its secrets. @throws ServiceError `not_found` */
export async function findApp(
  { config }: ServiceContext,
  { siteId, appid }: { siteId: number; appid: string },
): Promise<AppSummary> {
  const app = await findAppOfSite(config.directory, siteId, appid);
  if (app === undefined) throw appUnknown();
  return app;
}
