import * as z from "zod/mini";
import { deleteSite, siteDeletionSchema } from "../../services/delete-site.ts";
import { areKeptByOperator } from "../../services/erase-customer.ts";
import { adminCall } from "../admin-call.ts";
import { type CallDocumentation, newName, siteId } from "../words.ts";
import { deletionId } from "./site.ts";

const keptSchema = z.object({ deletion_id: z.string(), site_id: z.int(), hash: z.string() });

export default adminCall(
  {
    id: "deleteSite",
    method: "delete",
    path: "/sites/:site_id",
    role: "owner",
    scope: "site",
    endedToo: true,
    audit: ["site.deletion_begun"],
    body: siteDeletionSchema,
    status: 202,
    response: z.object({ deletion_id: z.string(), deletions: z.optional(z.array(keptSchema)) }),
  },
  async (c, { site, body: { name } }) => {
    const { id: deletionId, siteId, hash } = await deleteSite(c.var.ctx, { site, name });
    const deletionsToKeep = areKeptByOperator(c.var.ctx) ? [{ deletionId, siteId, hash }] : undefined;
    return { deletionId, deletions: deletionsToKeep };
  },
);

export const documentation = (): CallDocumentation => ({
  summary: "Delete a site",
  chinese: "删除站点",
  description:
    "Ends a site that is closed; an open one is 409. Its apps are unknown and its webhooks get nothing more from now on. Everything of it is deleted within minutes or hours, in steps that leave the database to others, but not its rows in the audit log. Its appids are kept for 31 days after that. It cannot be called off. Send the same call again after a lost answer or a 503: it goes on. `GET` of the same path says what remains. Another name than the site's is 400. It is 503, with nothing deleted, while its home or `main` is closed, or while a database or KV does not answer.",
  body: {
    name: "SiteDeletion",
    fields: {
      name: { ...newName("The site's name, so that no slip deletes another", "Shop"), pattern: undefined },
    },
  },
  response: {
    name: "BegunDeletion",
    fields: {
      deletion_id: deletionId(),
      deletions: {
        description:
          "Only where no KV is bound. Keep it for 31 days: `POST /admin/homes/{name}/restored` takes it as `deletions`.",
      },
    },
  },
  parts: [
    {
      name: "KeptDeletion",
      schema: keptSchema,
      fields: {
        deletion_id: deletionId(),
        site_id: siteId(),
        hash: {
          description: "A keyed hash that shows that this deployment has made it.",
          examples: [`1f2e3d4c.${"0".repeat(64)}`],
        },
      },
    },
  ],
  answered: "The deletion has begun.",
});
