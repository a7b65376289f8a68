import type { NewAgent } from "./create-agents.ts";
import { newAgentSchema } from "./create-agents.ts";

/** How many agents one list may hold. */
export const MOST_LISTED_AGENTS = 1_000;

export type ListedAgent = NewAgent & { line: number };

export interface BadLine {
  /** From 1, as an editor counts. */
  line: number;
  text: string;
  problem: "form" | "id" | "name" | "repeated" | "taken" | "too_many";
}

/** Reads `id, name` from each line. Skips blank lines; accepts a tab or a full-width comma as comma. */
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
