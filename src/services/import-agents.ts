import { ServiceError } from "../errors.ts";
import type { Site } from "../store/directory/sites.ts";
import { createAgents } from "./create-agents.ts";
import { parseAgentList } from "./parse-agent-list.ts";
import type { ServiceContext } from "./service-context.ts";

/**
 * Adds the agents of a list, `id, name` on each line: all of them or none. `checkAgentList` finds the lines that prevent it.
 *
 * @throws ServiceError `invalid_input`, reason `agent_list_invalid`, for a list that has a bad line or is empty; `conflict`, reason
 *   `agent_taken`
 */
export async function importAgents(ctx: ServiceContext, { site, list }: { site: Site; list: string }): Promise<void> {
  const { agents, bad } = parseAgentList(list);
  if (bad.length > 0 || agents.length === 0) throw new ServiceError("invalid_input", { reason: "agent_list_invalid" });
  await createAgents(ctx, { site, agents: agents.map(({ id, name }) => ({ id, name })) });
}
