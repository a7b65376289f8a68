import { listAgents } from "../store/home/agents.ts";
import { page } from "./page.ts";

/** A page of a site's agents, by id. */
export async function listAgentsOfSite(home: D1Database, siteId: number, after: number, limit: number) {
  return page(
    await listAgents(home, siteId, after, limit + 1),
    limit,
    (agent) => agent.id,
    (agent) => agent,
  );
}
