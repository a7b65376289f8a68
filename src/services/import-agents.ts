import { ServiceError } from "../errors.ts";
import { addAgents } from "./add-agents.ts";
import type { ServiceContext } from "./context.ts";
import { parseAgentList } from "./parse-agent-list.ts";

/**
 * Adds the agents of a list, `id, name` on each line: all of them or none. `checkAgentList` says which lines stand in the way.
 *
 * @throws ServiceError `invalid_input`, reason `agent_list_invalid`, for a list with a bad line or without any; `conflict`, reason
 *   `agent_taken`
 */
export async function importAgents(
  ctx: ServiceContext,
  { siteId, list }: { siteId: number; list: string },
): Promise<void> {
  const { agents, bad } = parseAgentList(list);
  if (bad.length > 0 || agents.length === 0) throw new ServiceError("invalid_input", { reason: "agent_list_invalid" });
  await addAgents(ctx, { siteId, agents: agents.map(({ id, name }) => ({ id, name })) });
}
