import * as sites from "../store/directory/sites.ts";
import { afterId, type Page, type PageInput, pageOf } from "./page.ts";
import type { ServiceContext } from "./service-context.ts";

/** A page of all sites, by id. @throws ServiceError `invalid_input` for a malformed cursor */
export async function listSites({ config }: ServiceContext, input: PageInput): Promise<Page<sites.Site>> {
  const rows = await sites.selectSites(config.directory, afterId(input), input.limit + 1);
  return pageOf(rows, input.limit, ({ id }) => id);
}
