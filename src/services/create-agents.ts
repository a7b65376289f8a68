import * as z from "zod/mini";
import { displayName, positiveId } from "../fields.ts";
import type { Site } from "../store/directory/sites.ts";
import { type Agent, insertAgents } from "../store/home/agents.ts";
import { agentTaken } from "./refusals.ts";
import { authorOf, homeOf, type ServiceContext } from "./service-context.ts";

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
  { site, agents }: { site: Site; agents: NewAgent[] },
): Promise<Agent[]> {
  const taken = await insertAgents(homeOf(ctx, site), site.id, agents, authorOf(ctx));
  if (taken.length > 0) throw agentTaken();
  return agents.map((agent) => ({ ...agent, status: "normal" }));
}
