import { call } from "../../operator/call.ts";
import type { ConsoleCall } from "../env.ts";
import { agentPage, postAgent } from "./agent-page.tsx";
import { agentsPage, postAgents } from "./agents-page.tsx";

const SITE = { role: "owner", scope: "site" } as const;

export const AGENTS_CALLS: ConsoleCall[] = [
  call({ ...SITE, method: "get", path: "/sites/:site_id/agents", audit: [] }, agentsPage),
  call({ ...SITE, method: "post", path: "/sites/:site_id/agents", audit: ["agent.added"] }, postAgents),
  call({ ...SITE, method: "get", path: "/sites/:site_id/agents/:id", audit: [] }, agentPage),
  call(
    {
      ...SITE,
      method: "post",
      path: "/sites/:site_id/agents/:id",
      audit: ["agent.renamed", "agent.enabled", "agent.disabled"],
    },
    postAgent,
  ),
];
