import { homeDatabase } from "../config.ts";
import * as agents from "../store/home/agents.ts";
import { afterId, type Page, type PageInput, pageOf } from "./page.ts";
import type { ServiceContext } from "./service-context.ts";

export type { Agent } from "../store/home/agents.ts";

/** A page of a site's agents, by id. @throws ServiceError `invalid_input` for a malformed cursor */
export async function listAgents(
  { config }: ServiceContext,
  input: PageInput & { siteId: number },
): Promise<Page<agents.Agent>> {
  const { siteId, limit } = input;
  const rows = await agents.listAgents(homeDatabase(config, siteId), siteId, afterId(input), limit + 1);
  return pageOf(rows, limit, ({ id }) => id);
}
