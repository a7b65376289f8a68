import { pathId } from "../http/path-id.ts";
import {
  type Agent,
  agentChangeSchema,
  changeAgent,
  createAgents,
  listAgents,
  newAgentSchema,
} from "../services/agents.ts";
import { pageQuerySchema } from "../services/page.ts";
import { agentUnknown } from "../services/refusals.ts";
import { adminCall } from "./call.ts";
import { shownPage } from "./page.ts";

const shownAgent = ({ id, name, status }: Agent) => ({ id, name, status });

export const agentCalls = [
  adminCall(
    {
      id: "addAgent",
      method: "post",
      path: "/sites/:site_id/agents",
      role: "operator",
      scope: "site",
      audit: ["agent.added"],
      body: newAgentSchema,
    },
    async (c, { site, body }) => {
      const added = await createAgents(c.var.ctx, { site, agents: [body] });
      return c.json(added.map(shownAgent)[0], 201);
    },
  ),

  adminCall(
    {
      id: "listAgents",
      method: "get",
      path: "/sites/:site_id/agents",
      role: "viewer",
      scope: "site",
      audit: [],
      query: pageQuerySchema,
    },
    async (c, { site, query }) => c.json(shownPage(await listAgents(c.var.ctx, { site, ...query }), shownAgent)),
  ),

  adminCall(
    {
      id: "changeAgent",
      method: "patch",
      path: "/sites/:site_id/agents/:id",
      role: "operator",
      scope: "site",
      audit: ["agent.renamed", "agent.enabled", "agent.disabled"],
      body: agentChangeSchema,
    },
    async (c, { site, body }) => {
      const id = pathId(c, "id", agentUnknown);
      return c.json(shownAgent(await changeAgent(c.var.ctx, { site, id, change: body })));
    },
  ),
];
