import type { Site } from "../store/directory/sites.ts";
import * as agents from "../store/home/agents.ts";
import { afterId, type Page, type PageInput, pageOf } from "./page.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

export type { Agent } from "../store/home/agents.ts";

/** A page of a site's agents, by id. @throws ServiceError `invalid_input` for a malformed cursor */
export async function listAgents(ctx: ServiceContext, input: PageInput & { site: Site }): Promise<Page<agents.Agent>> {
  const { site, limit } = input;
  const rows = await agents.selectAgents(homeOf(ctx, site), site.id, afterId(input), limit + 1);
  return pageOf(rows, limit, ({ id }) => id);
}
