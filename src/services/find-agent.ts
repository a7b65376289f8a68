import { homeDatabase } from "../config.ts";
import { type Agent, listAgents } from "../store/home/agents.ts";
import { agentUnknown } from "./refusals.ts";
import type { ServiceContext } from "./service-context.ts";

/** @throws ServiceError `not_found` */
export async function findAgent(
  { config }: ServiceContext,
  { siteId, id }: { siteId: number; id: number },
): Promise<Agent> {
  const [agent] = await listAgents(homeDatabase(config, siteId), siteId, id - 1, 1);
  if (agent?.id !== id) throw agentUnknown();
  return agent;
}
