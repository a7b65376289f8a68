import * as z from "zod/mini";
import { displayName } from "../fields.ts";
import type { Author } from "../store/audit-log.ts";
import { type Agent, updateAgent } from "../store/home/agents.ts";

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

/** Renames, enables or disables an agent. Undefined when the site has no such agent. */
export function changeAgent(
  home: D1Database,
  siteId: number,
  id: number,
  change: z.infer<typeof agentChangeSchema>,
  by: Author,
): Promise<Agent | undefined> {
  return updateAgent(home, siteId, id, change, by);
}
