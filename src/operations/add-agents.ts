import type { Runtime } from "../runtime.ts";
import {
  type AddAgentsOutcome,
  addAgentsBatch,
  type IgnoredAgent,
  ignoredAgents,
} from "../store/home/add-agents-batch.ts";
import { type Request, verdict } from "../store/home/claim.ts";
import { runBatch, type Tries } from "../store/run-batch.ts";
import type { AddAgents } from "./add-agents-schema.ts";
import { type Settlement, settle } from "./settlement.ts";

/** The most characters of a header: what every proxy takes. A hundred usual ids are far from it. */
const LONGEST = 3_000;

/** What a caller most wants to know comes first. */
const ORDER: IgnoredAgent["why"][] = ["unknown", "disabled", "already on the session"];

/** `777 unknown, 10430 disabled, 10411 already on the session`: whom an add left out, each with why. */
export function describeIgnored(ignored: IgnoredAgent[]): string {
  let text = "";
  for (const [i, { id, why }] of ignored.toSorted((a, b) => ORDER.indexOf(a.why) - ORDER.indexOf(b.why)).entries()) {
    const next = `${i === 0 ? "" : ", "}${id} ${why}`;
    if (text.length + next.length > LONGEST) return `${text}, and ${ignored.length - i} more`;
    text += next;
  }
  return text;
}

const refusals = (ignored: IgnoredAgent[]) =>
  ({
    session_not_found: { code: "session_not_found", detail: () => "chat_id: no such session on this site" },
    not_a_ticket: { code: "state_forbids", detail: () => "chat_id: is not a ticket session" },
    no_responsible_agent: { code: "state_forbids", detail: () => "chat_id: the session has no responsible agent" },
    no_new_agents: {
      code: "state_forbids",
      detail: () => `kefu_ids: nobody to add: ${describeIgnored(ignored)}`,
    },
  }) as const satisfies Record<AddAgentsOutcome, unknown>;

/**
 * Adds agents to a ticket session: one batch, all of it or none. Contract section 4.2. Who may not join is left out and named.
 *
 * @throws ServiceError `unavailable` when it is unknown whether the batch was applied
 */
export async function addAgents(
  runtime: Runtime,
  db: D1Database,
  request: Request,
  input: AddAgents,
  tries: Tries,
): Promise<Settlement> {
  const joining = { ...request, sessionId: input.sessionId, agents: JSON.stringify(input.agentIds) };
  const rows = await runBatch(runtime, db, (attempt) => addAgentsBatch(db, { ...joining, attempt }), tries);
  const ignored = ignoredAgents(rows);
  const settlement = settle(verdict<AddAgentsOutcome>(rows), refusals(ignored));
  if (settlement.kind !== "accepted" || ignored.length === 0) return settlement;
  return { ...settlement, ignoredAgents: describeIgnored(ignored) };
}
