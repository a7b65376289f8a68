import * as z from "zod/mini";
import { homeDatabase } from "../config.ts";
import { displayName, positiveId } from "../fields.ts";
import { type Agent, insertAgents } from "../store/home/agents.ts";
import { agentTaken } from "./refusals.ts";
import { authorOf, type ServiceContext } from "./service-context.ts";

/** Body of POST /admin/sites/:site_id/agents. The operator chooses the id. */
export const newAgentSchema = z.strictObject({ id: positiveId, name: displayName });

export type NewAgent = z.infer<typeof newAgentSchema>;

/**
 * Adds agents in normal status: all of them, or none when the site has one of them already.
 *
 * @param input `agents` of distinct ids
 * @throws ServiceError `conflict`, reason `agent_taken`
 */
export async function createAgents(
  ctx: ServiceContext,
  { siteId, agents }: { siteId: number; agents: NewAgent[] },
): Promise<Agent[]> {
  const taken = await insertAgents(homeDatabase(ctx.config, siteId), siteId, agents, authorOf(ctx));
  if (taken.length > 0) throw agentTaken();
  return agents.map((agent) => ({ ...agent, status: "normal" }));
}
