import * as z from "zod/mini";
import { displayName } from "../fields.ts";
import type { Site } from "../store/directory/sites.ts";
import { type Agent, updateAgent } from "../store/home/agents.ts";
import { agentUnknown } from "./refusals.ts";
import { authorOf, homeOf, type ServiceContext } from "./service-context.ts";

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
