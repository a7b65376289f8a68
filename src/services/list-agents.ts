import { homeDatabase } from "../config.ts";
import * as agents from "../store/home/agents.ts";
import type { ServiceContext } from "./context.ts";
import { afterId, type Page, type PageInput, pageOf } from "./page.ts";

export type { Agent } from "../store/home/agents.ts";

/** A page of a site's agents, by id. @throws ServiceError `invalid_input` for a cursor that is none */
export async function listAgents(
  { config }: ServiceContext,
  input: PageInput & { siteId: number },
): Promise<Page<agents.Agent>> {
  const { siteId, limit } = input;
  const rows = await agents.listAgents(homeDatabase(config, siteId), siteId, afterId(input), limit + 1);
  return pageOf(rows, limit, ({ id }) => id);
}
