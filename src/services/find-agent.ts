import type { Site } from "../store/directory/sites.ts";
import { type Agent, selectAgents } from "../store/home/agents.ts";
import { agentUnknown } from "./refusals.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

/** @throws ServiceError `not_found` */
export async function findAgent(ctx: ServiceContext, { site, id }: { site: Site; id: number }): Promise<Agent> {
  const [agent] = await selectAgents(homeOf(ctx, site), site.id, id - 1, 1);
  if (agent?.id !== id) throw agentUnknown();
  return agent;
}
