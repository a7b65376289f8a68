import type { Site } from "../store/directory/sites.ts";
import { selectTakenAgents } from "../store/home/agents.ts";
import { type BadLine, parseAgentList } from "./parse-agent-list.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

/** Finds the lines of a list that `importAgents` would refuse, in the order of the list. Writes nothing. */
export async function checkAgentList(
  ctx: ServiceContext,
  { site, list }: { site: Site; list: string },
): Promise<BadLine[]> {
  const { agents, bad } = parseAgentList(list);
  const ids = agents.map(({ id }) => ({ id }));
  const taken = new Set(await selectTakenAgents(homeOf(ctx, site), site.id, ids));
  const takenLines = agents
    .filter(({ id }) => taken.has(id))
    .map(({ line, id, name }): BadLine => ({ line, text: `${id}, ${name}`, problem: "taken" }));
  return [...bad, ...takenLines].sort((a, b) => a.line - b.line);
}
