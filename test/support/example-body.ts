import type { Documentation } from "../../src/core/operations/operation.ts";

/** Fields that hold agents, one or many. */
const AGENTS = ["kefu_id", "kefu_ids", "fzr_uid"];

/** The fields of the first example in an operation's documentation, with another session, customer and agent. */
export function exampleBody(
  { examples }: Documentation,
  { chatId, agent }: { chatId: number; agent: number },
): Record<string, unknown> {
  const [example] = Object.values(examples);
  const fields = Object.entries(example?.fields ?? {}).map(([name, value]) => {
    if (name === "chat_id") return [name, chatId];
    if (name === "sbs") return [name, crypto.randomUUID()];
    return [name, AGENTS.includes(name) ? inFormOf(value, agent) : value];
  });
  return Object.fromEntries(fields);
}

/** Whether the fields name something that the database may not have. */
export const namesStored = (documentation: Documentation): boolean =>
  Object.keys(documentation.fields).some((name) => name === "chat_id" || AGENTS.includes(name));

/** An agent in the form of an example: as a number, in a list, or as text. */
function inFormOf(example: unknown, agent: number): unknown {
  if (Array.isArray(example)) return [agent];
  return typeof example === "string" ? String(agent) : agent;
}
