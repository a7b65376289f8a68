import * as apps from "../store/directory/apps.ts";
import type { ServiceContext } from "./context.ts";
import { afterAppid, type Page, type PageInput, pageOf } from "./page.ts";

export type { AppSummary } from "../store/directory/apps.ts";

/** A page of a site's apps, by appid; never with a secret. @throws ServiceError `invalid_input` for a cursor that is none */
export async function listApps(
  { config }: ServiceContext,
  input: PageInput & { siteId: number },
): Promise<Page<apps.AppSummary>> {
  const rows = await apps.listApps(config.directory, input.siteId, afterAppid(input), input.limit + 1);
  return pageOf(rows, input.limit, ({ appid }) => appid);
}
