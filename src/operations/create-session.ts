import type { Runtime } from "../runtime.ts";
import { type Request, verdict } from "../store/home/claim.ts";
import { createSessionBatch } from "../store/home/create-session-batch.ts";
import { runBatch, type Tries } from "../store/run-batch.ts";
import { autoTitle } from "./auto-title.ts";
import type { CreateSession } from "./create-session-schema.ts";
import { type Settlement, settle } from "./settlement.ts";

/** Contract section 3: who the first message is from, and what that makes of the status. */
const OPENINGS = {
  customer: { status: "waiting", sender: "visitor" },
  responsible_agent: { status: "replied", sender: "agent" },
  // Nobody has replied yet: the session keeps the status it starts with.
  system: { status: "waiting", sender: "agent" },
} as const;

const REFUSALS = {
  agents_invalid: {
    code: "invalid_parameters",
    // Twenty tell what is wrong, and a hundred would not fit every proxy's idea of a header.
    detail: (agentIds: number[]) => `kefu_id: unknown, foreign or disabled: ${agentIds.slice(0, 20).join(", ")}`,
  },
} as const;

/**
 * Opens a session with its customer, agents and first message: one batch, all of it or none. Contract section 4.1.
 *
 * @throws ServiceError `unavailable` when it is unknown whether the batch was applied
 */
export async function createSession(
  runtime: Runtime,
  db: D1Database,
  request: Request,
  input: CreateSession,
  tries: Tries,
): Promise<Settlement> {
  const { customer, agentIds, responsibleAgentId } = input;
  const opening = OPENINGS[input.sender];
  const senderUid = { customer: null, responsible_agent: responsibleAgentId, system: 0 }[input.sender];
  const session = {
    ...request,
    ...opening,
    senderUid,
    responsibleAgentId,
    agents: JSON.stringify(agentIds),
    otherAgents: JSON.stringify(agentIds.filter((id) => id !== responsibleAgentId)),
    customerExternalId: customer.externalId,
    customerName: customer.name,
    customerIp: customer.ip,
    title: input.title ?? null,
    autoTitle: autoTitle(input.content),
    content: input.content,
  };
  const rows = await runBatch(runtime, db, (attempt) => createSessionBatch(db, { ...session, attempt }), tries);
  return settle(verdict<keyof typeof REFUSALS>(rows), REFUSALS);
}
