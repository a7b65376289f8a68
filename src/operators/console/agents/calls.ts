import type { ConsoleCall } from "../env.ts";
import { form, page } from "../page-call.ts";
import { agentPage, postAgent } from "./agent-page.tsx";
import { agentsPage, postAgents } from "./agents-page.tsx";

export const AGENTS_CALLS: ConsoleCall[] = [
  page("viewer", "/sites/:site_id/agents", agentsPage),
  form("operator", "/sites/:site_id/agents", ["agent.added"], postAgents),
  page("viewer", "/sites/:site_id/agents/:id", agentPage),
  form("operator", "/sites/:site_id/agents/:id", ["agent.renamed", "agent.enabled", "agent.disabled"], postAgent),
];
