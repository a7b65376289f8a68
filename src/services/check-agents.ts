import { homeDatabase } from "../config.ts";
import { listTakenAgents } from "../store/home/agents.ts";
import type { NewAgent } from "./create-agents.ts";
import { agentTaken } from "./refusals.ts";
import type { ServiceContext } from "./service-context.ts";

/**
 * Checks whether these agents could be added to a site. Writes nothing.
 *
 * @throws ServiceError `conflict`, reason `agent_taken`
 */
export async function checkAgents(
  { config }: ServiceContext,
  { siteId, agents }: { siteId: number; agents: NewAgent[] },
): Promise<void> {
  const taken = await listTakenAgents(homeDatabase(config, siteId), siteId, agents);
  if (taken.length > 0) throw agentTaken();
}
