import { type Agent, createAgents, newAgentSchema } from "../../services/agents.ts";
import { adminCall } from "../admin-call.ts";
import { type CallDocumentation, newName } from "../words.ts";
import { agent, agentSchema } from "./agent.ts";

export default adminCall(
  {
    id: "addAgent",
    method: "post",
    path: "/sites/:site_id/agents",
    role: "operator",
    scope: "site",
    audit: ["agent.added"],
    body: newAgentSchema,
    status: 201,
    response: agentSchema,
  },
  async (c, { site, body }) => (await createAgents(c.var.ctx, { site, agents: [body] }))[0] as Agent,
);

export const documentation = (): CallDocumentation => ({
  summary: "Add an agent to a site",
  chinese: "向站点添加客服",
  body: {
    name: "NewAgent",
    fields: {
      id: { description: "Your id of the agent, unique on the site.", examples: [10411] },
      name: newName("What the agent is called", "Li Na"),
    },
  },
  response: agent(),
  answered: "The agent was added, in normal status.",
});
