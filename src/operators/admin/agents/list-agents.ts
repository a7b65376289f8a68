import { listAgents } from "../../services/agents.ts";
import { pageQuerySchema } from "../../services/page.ts";
import { adminCall } from "../admin-call.ts";
import { pageSchema } from "../page.ts";
import { type CallDocumentation, ID_CURSOR, page, pageQuery } from "../words.ts";
import { agent, agentSchema } from "./agent.ts";

export default adminCall(
  {
    id: "listAgents",
    method: "get",
    path: "/sites/:site_id/agents",
    role: "viewer",
    scope: "site",
    audit: [],
    query: pageQuerySchema,
    response: pageSchema(agentSchema),
  },
  (c, { site, query }) => listAgents(c.var.ctx, { site, ...query }),
);

export const documentation = (): CallDocumentation => ({
  summary: "List a site's agents",
  chinese: "列出站点的客服",
  query: pageQuery(ID_CURSOR),
  response: page("AgentPage"),
  parts: [agent()],
  answered: "A page of agents, by id.",
});
