import * as z from "zod/mini";
import { displayName, positiveId } from "../fields.ts";
import type { Author } from "../store/audit-log.ts";
import { type Agent, insertAgents } from "../store/home/agents.ts";

/** Body of POST /admin/sites/:site_id/agents. The operator brings the id. */
export const newAgentSchema = z.strictObject({ id: positiveId, name: displayName });

export type NewAgent = z.infer<typeof newAgentSchema>;

/** Adds agents in normal status: all of them, or none when the site has some already. Their ids must be distinct. */
export async function addAgentsToSite(
  home: D1Database,
  siteId: number,
  newcomers: NewAgent[],
  by: Author,
): Promise<{ added: Agent[]; taken?: undefined } | { added?: undefined; taken: number[] }> {
  const taken = await insertAgents(home, siteId, newcomers, by);
  if (taken.length > 0) return { taken };
  return { added: newcomers.map((agent) => ({ ...agent, status: "normal" })) };
}
