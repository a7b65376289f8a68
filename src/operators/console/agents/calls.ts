import { call } from "../../http/call.ts";
import type { ConsoleCall } from "../env.ts";
import { agentPage, postAgent } from "./agent-page.tsx";
import { agentsPage } from "./agents-page.tsx";
import { postAgents } from "./post-agents.ts";

const SEE = { role: "viewer", scope: "site" } as const;
const CHANGE = { role: "operator", scope: "site" } as const;

export const AGENTS_CALLS: ConsoleCall[] = [
  call({ ...SEE, method: "get", path: "/sites/:site_id/agents", audit: [] }, agentsPage),
  call({ ...CHANGE, method: "post", path: "/sites/:site_id/agents", audit: ["agent.added"] }, postAgents),
  call({ ...CHANGE, method: "get", path: "/sites/:site_id/agents/:id", audit: [] }, agentPage),
  call(
    {
      ...CHANGE,
      method: "post",
      path: "/sites/:site_id/agents/:id",
      audit: ["agent.renamed", "agent.enabled", "agent.disabled"],
    },
    postAgent,
  ),
];
