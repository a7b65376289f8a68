import type { Author } from "../store/audit-log.ts";
import { listTakenAgents } from "../store/home/agents.ts";
import { addAgentsToSite } from "./add-agents.ts";
import { type BadLine, type ListedAgent, parseAgentList } from "./parse-agent-list.ts";

/**
 * Adds the agents of a list, `id, name` on each line: all of them or none.
 *
 * @returns how many were added, or every line that stands in the way
 */
export async function addAgentList(
  home: D1Database,
  siteId: number,
  list: string,
  by: Author,
): Promise<{ added: number; bad: BadLine[] }> {
  const { agents, bad } = parseAgentList(list);
  const newcomers = agents.map(({ id, name }) => ({ id, name }));
  if (bad.length > 0) return { added: 0, bad: await badAgentLines(home, siteId, list) };
  if (newcomers.length === 0) return { added: 0, bad: [] };
  const { taken } = await addAgentsToSite(home, siteId, newcomers, by);
  return taken === undefined ? { added: newcomers.length, bad: [] } : { added: 0, bad: takenLines(agents, taken) };
}

/** Every line of a list that stands in the way, in their order; writes nothing. */
export async function badAgentLines(home: D1Database, siteId: number, list: string): Promise<BadLine[]> {
  const { agents, bad } = parseAgentList(list);
  const taken = await listTakenAgents(
    home,
    siteId,
    agents.map(({ id, name }) => ({ id, name })),
  );
  return [...bad, ...takenLines(agents, taken)].sort((a, b) => a.line - b.line);
}

function takenLines(agents: ListedAgent[], taken: number[]): BadLine[] {
  return agents
    .filter(({ id }) => taken.includes(id))
    .map(({ line, id, name }) => ({ line, text: `${id}, ${name}`, problem: "taken" }));
}
