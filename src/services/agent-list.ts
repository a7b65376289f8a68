import { ServiceError } from "../errors.ts";
import type { Site } from "../store/directory/sites.ts";
import { selectTakenAgents } from "../store/home/agents.ts";
import { createAgents, type NewAgent, newAgentSchema } from "./agents.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

/** How many agents one list may hold. */
export const MOST_LISTED_AGENTS = 1_000;

type ListedAgent = NewAgent & { line: number };

export interface BadLine {
  /** The number of the line, counted from 1. */
  line: number;
  text: string;
  problem: "form" | "id" | "name" | "repeated" | "taken" | "too_many";
}

/** Reads `id, name` from each line. Blank lines are skipped. A tab or a full-width comma also separates the two. */
export function parseAgentList(text: string): { agents: ListedAgent[]; bad: BadLine[] } {
  const agents: ListedAgent[] = [];
  const bad: BadLine[] = [];
  const seen = new Set<number>();
  for (const [index, raw] of text.split(/\r\n|\r|\n/).entries()) {
    if (raw.trim() === "") continue;
    const line = index + 1;
    const refuse = (problem: BadLine["problem"]) => bad.push({ line, text: raw.trim(), problem });
    const comma = raw.trim().search(/[,，\t]/);
    const id = raw.trim().slice(0, comma).trim();
    const name = raw
      .trim()
      .slice(comma + 1)
      .trim();
    if (agents.length === MOST_LISTED_AGENTS) {
      refuse("too_many");
      break;
    }
    if (comma === -1) refuse("form");
    else if (!/^[1-9]\d*$/.test(id)) refuse("id");
    else {
      const checked = newAgentSchema.safeParse({ id: Number(id), name });
      if (!checked.success) refuse(checked.error.issues[0]?.path[0] === "id" ? "id" : "name");
      else if (seen.has(checked.data.id)) refuse("repeated");
      else {
        seen.add(checked.data.id);
        agents.push({ ...checked.data, line });
      }
    }
  }
  return { agents, bad };
}

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

/**
 * Adds the agents of a list, `id, name` on each line: all of them, or none when `checkAgentList` finds a bad line.
 *
 * @throws ServiceError `invalid_input`, reason `agent_list_invalid`, for a list that has a bad line or is empty; `conflict`, reason
 *   `agent_taken`
 */
export async function importAgents(ctx: ServiceContext, { site, list }: { site: Site; list: string }): Promise<void> {
  const { agents, bad } = parseAgentList(list);
  if (bad.length > 0 || agents.length === 0) throw new ServiceError("invalid_input", { reason: "agent_list_invalid" });
  await createAgents(ctx, { site, agents: agents.map(({ id, name }) => ({ id, name })) });
}
