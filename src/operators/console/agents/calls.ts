import { call } from "../../http/call.ts";
import type { ConsoleCall } from "../env.ts";
import { agentPage, postAgent } from "./agent-page.tsx";
import { agentsPage } from "./agents-page.tsx";
import { postAgents } from "./post-agents.ts";

const VIEWER_OF_SITE = { role: "viewer", scope: "site" } as const;
const OPERATOR_OF_SITE = { role: "operator", scope: "site" } as const;

export const AGENTS_CALLS: ConsoleCall[] = [
  call({ ...VIEWER_OF_SITE, method: "get", path: "/sites/:site_id/agents", audit: [] }, agentsPage),
  call({ ...OPERATOR_OF_SITE, method: "post", path: "/sites/:site_id/agents", audit: ["agent.added"] }, postAgents),
  call({ ...OPERATOR_OF_SITE, method: "get", path: "/sites/:site_id/agents/:id", audit: [] }, agentPage),
  call(
    {
      ...OPERATOR_OF_SITE,
      method: "post",
      path: "/sites/:site_id/agents/:id",
      audit: ["agent.renamed", "agent.enabled", "agent.disabled"],
    },
    postAgent,
  ),
];
