import type { Site } from "../store/directory/sites.ts";
import * as apps from "../store/home/apps.ts";
import { afterAppid, type Page, type PageInput, pageOf } from "./page.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

export type { AppSummary } from "../store/home/apps.ts";

/** A page of a site's apps, by appid, without secrets. @throws ServiceError `invalid_input` for a malformed cursor */
export async function listApps(ctx: ServiceContext, input: PageInput & { site: Site }): Promise<Page<apps.AppSummary>> {
  const { site, limit } = input;
  const rows = await apps.selectApps(homeOf(ctx, site), site.id, afterAppid(input), limit + 1);
  return pageOf(rows, limit, ({ appid }) => appid);
}
