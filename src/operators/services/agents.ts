import * as z from "zod/mini";
import { displayName, positiveId } from "../../core/fields.ts";
import type { Site } from "../store/directory/sites.ts";
import {
  type Agent,
  type AgentStatus,
  findAgents,
  insertAgents,
  selectAgents,
  selectTakenAgents,
  updateAgent,
} from "../store/home/agents.ts";
import { AUDIT_ACTIONS, listAuditLog } from "./audit.ts";
import { afterId, type Page, type PageInput, pageOf } from "./page.ts";
import { agentTaken, agentUnknown, siteUnknown } from "./refusals.ts";
import { authorOf, homeOf, type ServiceContext } from "./service-context.ts";

export { AGENT_STATUSES } from "../../core/store/schema.ts";
export type { Agent } from "../store/home/agents.ts";

/** Body of POST /admin/sites/:site_id/agents. The operator chooses the id. */
export const newAgentSchema = z.strictObject({ id: positiveId, name: displayName });

export type NewAgent = z.infer<typeof newAgentSchema>;

/**
 * Adds enabled agents: all of them, or none when the site already has one of them.
 *
 * @param input `agents` have distinct ids
 * @throws ServiceError `conflict`, reason `agent_taken`; `not_found` when the home does not have the site
 */
export async function createAgents(
  ctx: ServiceContext,
  { site, agents }: { site: Site; agents: NewAgent[] },
): Promise<Agent[]> {
  const takenIds = await insertAgents(homeOf(ctx, site), site.id, agents, authorOf(ctx));
  if (takenIds === undefined) throw siteUnknown();
  if (takenIds.length > 0) throw agentTaken();
  return agents.map((agent) => ({ ...agent, status: "normal" }));
}

/**
 * Checks whether these agents could be added to a site. Writes nothing.
 *
 * @throws ServiceError `conflict`, reason `agent_taken`
 */
export async function checkAgents(
  ctx: ServiceContext,
  { site, agents }: { site: Site; agents: NewAgent[] },
): Promise<void> {
  const takenIds = await selectTakenAgents(homeOf(ctx, site), site.id, agents);
  if (takenIds.length > 0) throw agentTaken();
}

/** @throws ServiceError `not_found` */
export async function findAgent(ctx: ServiceContext, { site, id }: { site: Site; id: number }): Promise<Agent> {
  const [agent] = await selectAgents(homeOf(ctx, site), site.id, id - 1, 1);
  if (agent?.id !== id) throw agentUnknown();
  return agent;
}

/** They are named, because the row of a site may have the same subject: sites and agents have ids of the same form. */
const AGENT_ACTIONS = AUDIT_ACTIONS.filter((action) => action.startsWith("agent."));

/** What the audit log says of an agent, the newest first, as {@link listAuditLog} does. */
export const readAgentHistory = (ctx: ServiceContext, { site, id, limit }: { site: Site; id: number; limit: number }) =>
  listAuditLog(ctx, { siteId: site.id, subject: String(id), action: AGENT_ACTIONS, limit });

/** A page of a site's agents, by id. @throws ServiceError `invalid_input` for a malformed cursor */
export async function listAgents(ctx: ServiceContext, input: PageInput & { site: Site }): Promise<Page<Agent>> {
  const { site, limit } = input;
  const rows = await selectAgents(homeOf(ctx, site), site.id, afterId(input), limit + 1);
  return pageOf(rows, limit, ({ id }) => id);
}

/**
 * A page of the agents that fit a search, by id: those with all its words in their name, and the agent whose id it is. A page looks at
 * 10,000 agents at most, so it may have fewer items than `limit` and still a next page.
 *
 * @throws ServiceError `invalid_input` for a malformed cursor
 */
export async function searchAgents(
  ctx: ServiceContext,
  input: PageInput & { site: Site; search?: string | undefined; status?: AgentStatus | undefined },
): Promise<Page<Agent>> {
  const { site, limit, status, search = "" } = input;
  const words = search.split(/\s+/).filter((word) => word !== "");
  if (words.length === 0 && status === undefined) return listAgents(ctx, input);
  const id = /^\s*[1-9]\d{0,15}\s*$/.test(search) ? Number(search) : undefined;
  const { rows, next } = await findAgents(homeOf(ctx, site), site.id, { status, id, words }, afterId(input), limit);
  return { items: rows, nextCursor: next === null ? null : String(next) };
}

/** Body of PATCH /admin/sites/:site_id/agents/:id. */
export const agentChangeSchema = z
  .strictObject({
    status: z.optional(z.enum(["normal", "disabled"], 'must be "normal" or "disabled"')),
    name: z.optional(displayName),
  })
  .check(
    z.refine((change) => Object.values(change).some((value) => value !== undefined), {
      error: "must change status or name",
      params: { minProperties: 1 },
    }),
  );

type ChangeAgent = { site: Site; id: number; change: z.infer<typeof agentChangeSchema> };

/** Renames, enables or disables an agent. @throws ServiceError `not_found`; `conflict`, reason `changed_meanwhile` */
export async function changeAgent(ctx: ServiceContext, { site, id, change }: ChangeAgent): Promise<Agent> {
  const { runtime, answerBy } = ctx;
  const agent = await updateAgent(runtime, homeOf(ctx, site), { siteId: site.id, id }, change, authorOf(ctx), answerBy);
  if (agent === undefined) throw agentUnknown();
  return agent;
}
