import * as z from "zod/mini";
import { readDeletion, SITE_TABLES } from "../../services/delete-site.ts";
import { hasEnded, readRetention } from "../../services/sites.ts";
import { adminCall } from "../admin-call.ts";
import { type CallDocumentation, count, time } from "../words.ts";
import { createdAt, deletionId, leavesEvents, retentionDays, site, siteEntrySchema } from "./site.ts";

const deletionSchema = z.object({
  deletion_id: z.string(),
  begun_at: z.int(),
  done_at: z.nullable(z.int()),
  /** The counts of rows by table. */
  remaining: z.record(z.string(), z.int()),
});

/** The settings of a site that is ending or has ended. */
const NO_SETTINGS = { events: false, days: null, oldestAt: null, older: null };

export default adminCall(
  {
    id: "readSite",
    method: "get",
    path: "/sites/:site_id",
    role: "viewer",
    scope: "site",
    endedToo: true,
    audit: [],
    response: z.extend(siteEntrySchema, {
      events: z.boolean(),
      retention_days: z.nullable(z.int()),
      oldest_session_at: z.nullable(z.int()),
      sessions_to_go: z.nullable(z.int()),
      deletion: z.nullable(deletionSchema),
    }),
  },
  async (c, { site }) => {
    const { ctx } = c.var;
    const deletion = await readDeletion(ctx, { site });
    // A restored directory may not know that the site has ended.
    const isNotDeleted = !hasEnded(site) && deletion?.deletion.doneAt == null;
    const { events, ...retention } = isNotDeleted ? await readRetention(ctx, { site }) : NO_SETTINGS;
    return {
      ...site,
      events,
      retentionDays: retention.days,
      oldestSessionAt: retention.oldestAt,
      sessionsToGo: retention.older,
      deletion: deletion
        ? { ...deletion.deletion, deletionId: deletion.deletion.id, remaining: deletion.remaining }
        : null,
    };
  },
);

export const documentation = (): CallDocumentation => ({
  summary: "Read a site",
  chinese: "读取站点",
  description:
    "The site with its settings, how many of its sessions are older than it keeps them, and how far its deletion is.",
  response: {
    name: "WholeSite",
    fields: {
      ...site().fields,
      created_at: createdAt(),
      events: leavesEvents(),
      retention_days: retentionDays(),
      oldest_session_at: time("When the oldest session was created; null without sessions."),
      sessions_to_go: count(
        "How many sessions are older than `retention_days`: estimated from their ids, so there may be fewer. Null when they are kept for ever.",
      ),
      deletion: {
        description: "How far the deletion of the site is; null when it has not begun.",
        // Null comes first, because the example in the reference is then that of most sites.
        anyOf: [{ type: "null" }, { $ref: "#/components/schemas/DeletionProgress" }],
      },
    },
  },
  parts: [
    {
      name: "DeletionProgress",
      schema: deletionSchema,
      fields: {
        deletion_id: deletionId(),
        begun_at: time("When it was begun."),
        done_at: time("When nothing was left of the site; null before."),
        remaining: {
          properties: Object.fromEntries(
            Object.keys(SITE_TABLES).map((table) => [
              table,
              { type: "integer", ...count(`Rows left in \`${table}\`, counted up to a thousand.`) },
            ]),
          ),
          required: Object.keys(SITE_TABLES),
          propertyNames: undefined,
          additionalProperties: false,
        },
      },
    },
  ],
  answered: "The site.",
});
