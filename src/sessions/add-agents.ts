import { type AddAgentsOutcome, addAgentsBatch } from "../store/add-agents-batch.ts";
import { type Claim, type VerdictRow, verdict } from "../store/claim.ts";
import { runBatch } from "../store/run-batch.ts";
import type { AddAgents } from "./add-agents-schema.ts";
import { type Settlement, settle } from "./settlement.ts";

const REFUSALS = {
  session_not_found: { code: "session_not_found", detail: () => "chat_id: no such session on this site" },
  not_a_ticket: { code: "state_forbids", detail: () => "chat_id: is not a ticket session" },
  no_responsible_agent: { code: "state_forbids", detail: () => "chat_id: the session has no responsible agent" },
  no_new_agents: {
    code: "state_forbids",
    detail: () => "kefu_ids: none is new to the session, of this site and in normal status",
  },
} as const satisfies Record<AddAgentsOutcome, unknown>;

/**
 * Adds agents to a ticket session: one batch, all of it or none. Contract section 4.2.
 *
 * @throws Refusal `unavailable` when it is unknown whether the batch was applied
 */
export async function addAgents(db: D1Database, claim: Claim, input: AddAgents): Promise<Settlement> {
  const request = { ...claim, sessionId: input.sessionId, agents: JSON.stringify(input.agentIds) };
  const row = await runBatch<VerdictRow>(db, () => addAgentsBatch(db, request), claim.answerBy);
  return settle(verdict<AddAgentsOutcome>(row), REFUSALS);
}
