import { ServiceError } from "../../core/errors.ts";
import type { Site } from "../store/directory/sites.ts";
import { selectTakenAgents } from "../store/home/agents.ts";
import { cellsOf } from "./agent-cells.ts";
import { createAgents, type NewAgent, newAgentSchema } from "./agents.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

/** How many agents one list may hold. */
export const MOST_LISTED_AGENTS = 1_000;

interface ListedAgent extends NewAgent {
  /** The number of its line, counted from 1. */
  line: number;
  /** The line as it was pasted. */
  text: string;
}

export interface BadLine {
  /** The number of the line, counted from 1. */
  line: number;
  text: string;
  problem: "form" | "more" | "quotes" | "id" | "name" | "repeated" | "taken" | "too_many";
}

/** What a list says: the agents of its right lines, and its wrong lines, both in the order of the list. */
export interface AgentList {
  agents: ListedAgent[];
  bad: BadLine[];
}

/** Names that the first line of a list may give the column of the ids, in small letters and without spaces and signs. */
const ID_HEADERS: ReadonlySet<string> = new Set([
  "id",
  "agentid",
  "kefuid",
  "number",
  "no",
  "uid",
  "编号",
  "客服id",
  "客服编号",
  "工号",
  "序号",
]);

/** A line without text: a blank one, or an empty row of a spreadsheet. */
const BLANK = /^[\s,，;；]*$/;

/**
 * Reads `id, name` from each line, as {@link cellsOf} says. Empty cells behind the name are ignored. Blank lines are skipped, and a first
 * line that names the columns too.
 *
 * @param known agents of another list: they count as earlier lines
 */
export function parseAgentList(text: string, known: readonly NewAgent[] = []): AgentList {
  const agents: ListedAgent[] = [];
  const bad: BadLine[] = [];
  const seen = new Set(known.map(({ id }) => id));
  let isFirst = true;
  for (const [index, raw] of text
    .replace(/^\uFEFF/, "")
    .split(/\r\n|\r|\n/)
    .entries()) {
    const trimmed = raw.trim();
    if (BLANK.test(trimmed)) continue;
    const cells = cellsOf(trimmed);
    const isHeader = isFirst && cells !== undefined && cells.length > 1 && isIdHeader(cells[0]);
    isFirst = false;
    if (isHeader) continue;
    const line = { line: index + 1, text: trimmed };
    if (known.length + agents.length === MOST_LISTED_AGENTS) {
      bad.push({ ...line, problem: "too_many" });
      break;
    }
    const agent = agentOf(cells);
    if (typeof agent === "string") bad.push({ ...line, problem: agent });
    else if (seen.has(agent.id)) bad.push({ ...line, problem: "repeated" });
    else {
      seen.add(agent.id);
      agents.push({ ...agent, ...line });
    }
  }
  return { agents, bad };
}

const isIdHeader = (cell = ""): boolean => ID_HEADERS.has(cell.toLowerCase().replace(/[\s._-]/g, ""));

function agentOf(cells: string[] | undefined): NewAgent | BadLine["problem"] {
  if (cells === undefined) return "quotes";
  const [id = "", name, ...more] = cells;
  if (name === undefined) return "form";
  if (more.some((cell) => cell !== "")) return "more";
  if (!/^[1-9]\d*$/.test(id)) return "id";
  const checked = newAgentSchema.safeParse({ id: Number(id), name });
  if (checked.success) return checked.data;
  return checked.error.issues[0]?.path[0] === "id" ? "id" : "name";
}

/** A list in two parts: lines that an earlier check found right, and lines to check. */
export interface ListInput {
  site: Site;
  list: string;
  right?: string;
}

/**
 * Sorts the lines of a list into those that `importAgents` would add and those that it would refuse. Writes nothing. Lines of `right` have
 * the number 0, because the operator sees no list with their numbers.
 */
export async function checkAgentList(ctx: ServiceContext, { site, list, right = "" }: ListInput): Promise<AgentList> {
  const { agents, bad } = parseListAndRight(list, right);
  const takenIds = new Set(
    await selectTakenAgents(
      homeOf(ctx, site),
      site.id,
      agents.map(({ id }) => ({ id })),
    ),
  );
  const takenLines = agents
    .filter(({ id }) => takenIds.has(id))
    .map(({ line, text }): BadLine => ({ line, text, problem: "taken" }));
  return {
    agents: agents.filter(({ id }) => !takenIds.has(id)),
    bad: [...bad, ...takenLines].sort((a, b) => a.line - b.line),
  };
}

function parseListAndRight(list: string, right: string): AgentList {
  const before = parseAgentList(right);
  const { agents, bad } = parseAgentList(list, before.agents);
  const unnumbered = <Line extends { line: number }>(lines: Line[]) => lines.map((line) => ({ ...line, line: 0 }));
  return { agents: [...unnumbered(before.agents), ...agents], bad: [...unnumbered(before.bad), ...bad] };
}

/**
 * Adds the agents of a list, `id, name` on each line: all of them, or none when `checkAgentList` finds a bad line.
 *
 * @returns how many were added
 * @throws ServiceError `invalid_input`, reason `agent_list_invalid`, for a list that has a bad line or is empty; `conflict`, reason
 *   `agent_taken`
 */
export async function importAgents(ctx: ServiceContext, { site, list, right = "" }: ListInput): Promise<number> {
  const { agents, bad } = parseListAndRight(list, right);
  if (bad.length > 0 || agents.length === 0) throw new ServiceError("invalid_input", { reason: "agent_list_invalid" });
  await createAgents(ctx, { site, agents: agents.map(({ id, name }) => ({ id, name })) });
  return agents.length;
}
