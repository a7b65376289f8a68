import * as apps from "../store/directory/apps.ts";
import { afterAppid, type Page, type PageInput, pageOf } from "./page.ts";
import type { ServiceContext } from "./service-context.ts";

export type { AppSummary } from "../store/directory/apps.ts";

/** A page of a site's apps, by appid, without secrets. @throws ServiceError `invalid_input` for a malformed cursor */
export async function listApps(
  { config }: ServiceContext,
  input: PageInput & { siteId: number },
): Promise<Page<apps.AppSummary>> {
  const rows = await apps.listApps(config.directory, input.siteId, afterAppid(input), input.limit + 1);
  return pageOf(rows, input.limit, ({ appid }) => appid);
}
