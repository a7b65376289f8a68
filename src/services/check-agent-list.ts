import { homeDatabase } from "../config.ts";
import { listTakenAgents } from "../store/home/agents.ts";
import { type BadLine, parseAgentList } from "./parse-agent-list.ts";
import type { ServiceContext } from "./service-context.ts";

/** Finds the lines of a list that `importAgents` would refuse, in the order of the list. Writes nothing. */
export async function checkAgentList(
  { config }: ServiceContext,
  { siteId, list }: { siteId: number; list: string },
): Promise<BadLine[]> {
  const { agents, bad } = parseAgentList(list);
  const ids = agents.map(({ id }) => ({ id }));
  const taken = new Set(await listTakenAgents(homeDatabase(config, siteId), siteId, ids));
  const takenLines = agents
    .filter(({ id }) => taken.has(id))
    .map(({ line, id, name }): BadLine => ({ line, text: `${id}, ${name}`, problem: "taken" }));
  return [...bad, ...takenLines].sort((a, b) => a.line - b.line);
}
