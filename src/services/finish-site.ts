import { homeDatabase } from "../config.ts";
import { ServiceError } from "../errors.ts";
import { MAIN_HOME } from "../homes.ts";
import * as sites from "../store/directory/sites.ts";
import { insertHomeSite } from "../store/home/home-sites.ts";
import { authorOf, type ServiceContext } from "./service-context.ts";

/**
 * Finishes a site that was begun: its home gets it, then the directory opens it. Repeated, it changes nothing.
 *
 * @returns false when the site was finished before
 * @throws ServiceError `conflict`, reason `site_id_taken`, when the home has another site under this id; `unavailable` when one of the
 *   two databases does not answer
 */
export async function finishSite(ctx: ServiceContext, { site }: { site: sites.Site }): Promise<boolean> {
  const { runtime, config } = ctx;
  const { id: siteId, name, home, firstChatId, createdAt } = site;
  const row = { siteId, name, createdAt, chatIdFloor: firstChatId - 1 };
  if (!(await insertHomeSite(runtime, homeDatabase(config, home), row, authorOf(ctx)))) throw idTaken(site);
  return sites.updateSiteOpen(runtime, config.directory, siteId);
}

const idTaken = ({ id, home }: sites.Site) =>
  new ServiceError("conflict", {
    reason: "site_id_taken",
    detail: `The home ${home} has another site ${id}. If the directory was restored, send POST /admin/homes/${MAIN_HOME}/restored first.`,
  });
