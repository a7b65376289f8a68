import * as z from "zod/mini";
import { displayName, positiveId } from "../fields.ts";

/** Body of POST /admin/sites. */
export const newSiteSchema = z.strictObject({ name: displayName });

/** Body of POST /admin/sites/:site_id/agents. The operator brings the id. */
export const newAgentSchema = z.strictObject({ id: positiveId, name: displayName });

/** Body of PATCH /admin/sites/:site_id/agents/:id. */
export const agentChangeSchema = z
  .strictObject({
    status: z.optional(z.enum(["normal", "disabled"], 'must be "normal" or "disabled"')),
    name: z.optional(displayName),
  })
  .check(
    z.refine((change) => Object.values(change).some((value) => value !== undefined), "must change status or name"),
  );
