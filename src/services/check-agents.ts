import type { Site } from "../store/directory/sites.ts";
import { selectTakenAgents } from "../store/home/agents.ts";
import type { NewAgent } from "./create-agents.ts";
import { agentTaken } from "./refusals.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

/**
 * Checks whether these agents could be added to a site. Writes nothing.
 *
 * @throws ServiceError `conflict`, reason `agent_taken`
 */
export async function checkAgents(
  ctx: ServiceContext,
  { site, agents }: { site: Site; agents: NewAgent[] },
): Promise<void> {
  const taken = await selectTakenAgents(homeOf(ctx, site), site.id, agents);
  if (taken.length > 0) throw agentTaken();
}
