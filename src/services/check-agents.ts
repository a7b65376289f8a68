import { homeDatabase } from "../config.ts";
import { listTakenAgents } from "../store/home/agents.ts";
import type { NewAgent } from "./add-agents.ts";
import type { ServiceContext } from "./context.ts";
import { agentTaken } from "./refusals.ts";

/**
 * Looks whether a site could take these agents, and writes nothing.
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
