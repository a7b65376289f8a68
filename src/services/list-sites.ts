import * as sites from "../store/directory/sites.ts";
import type { ServiceContext } from "./context.ts";
import { afterId, type Page, type PageInput, pageOf } from "./page.ts";

/** A page of all sites, by id. @throws ServiceError `invalid_input` for a cursor that is none */
export async function listSites({ config }: ServiceContext, input: PageInput): Promise<Page<sites.Site>> {
  const rows = await sites.listSites(config.directory, afterId(input), input.limit + 1);
  return pageOf(rows, input.limit, ({ id }) => id);
}
