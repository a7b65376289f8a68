import { pathId } from "../../http/path-id.ts";
import { agentChangeSchema, changeAgent } from "../../services/agents.ts";
import { agentUnknown } from "../../services/refusals.ts";
import { adminCall } from "../admin-call.ts";
import { type CallDocumentation, newName } from "../words.ts";
import { agent, agentSchema } from "./agent.ts";

export default adminCall(
  {
    id: "changeAgent",
    method: "patch",
    path: "/sites/:site_id/agents/:id",
    role: "operator",
    scope: "site",
    audit: ["agent.renamed", "agent.enabled", "agent.disabled"],
    body: agentChangeSchema,
    response: agentSchema,
  },
  (c, { site, body }) => changeAgent(c.var.ctx, { site, id: pathId(c, "id", agentUnknown), change: body }),
);

export const documentation = (): CallDocumentation => ({
  summary: "Rename, enable or disable an agent",
  chinese: "更改客服：改名、启用或停用",
  body: {
    name: "AgentChange",
    fields: {
      status: { description: "A disabled agent stays on its sessions and joins no more.", examples: ["disabled"] },
      name: newName("What the agent is called", "Li Na"),
    },
  },
  response: agent(),
  answered: "The agent as it is now.",
});
