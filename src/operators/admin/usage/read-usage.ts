import * as z from "zod/mini";
import { REFUSAL_REASONS } from "../../services/journal.ts";
import { outcomeName, readUsage, usageQuerySchema } from "../../services/usage.ts";
import { adminCall } from "../admin-call.ts";
import { operation, withWireName } from "../journal/refusal.ts";
import { appid, type CallDocumentation, queryTime, TIME, time } from "../words.ts";

const itemSchema = z.object({
  at: z.int(),
  appid: z.string(),
  operation: z.string(),
  outcome: z.string(),
  count: z.int(),
});

const lastUseSchema = z.object({
  appid: z.string(),
  last_used_at: z.nullable(z.int()),
  previous_secret_used_at: z.nullable(z.int()),
});

export default adminCall(
  {
    id: "readUsage",
    method: "get",
    path: "/sites/:site_id/usage",
    role: "viewer",
    scope: "site",
    audit: [],
    query: usageQuerySchema,
    response: z.object({
      items: z.array(itemSchema),
      apps: z.array(lastUseSchema),
      complete_until: z.nullable(z.int()),
    }),
  },
  async (c, { site, query }) => {
    const { items, ...usage } = await readUsage(c.var.ctx, { site, ...query });
    return { items: items.map((item) => ({ ...withWireName(item), outcome: outcomeName(item.outcome) })), ...usage };
  },
);

export const documentation = (): CallDocumentation => ({
  summary: "Read a site's usage",
  chinese: "读取站点的用量",
  description:
    "How many calls came to what, by hours or by days of UTC, and when the apps' secrets were last used. Half an hour behind: no hour or day that begins after `complete_until` is in it, and the one in which it lies is not whole. Hours are kept for 14 days and days for 400. Calls of unknown apps are not counted. 400 for times that are kept no more, and for more than 10,000 items.",
  query: {
    by: { description: "Hours, or days of UTC." },
    since: queryTime(
      "Only hours or days that begin from this time on, Unix seconds. 400 when it is longer ago than kept.",
    ),
    until: queryTime(
      "Only hours or days that begin up to this time, Unix seconds, itself included. 400 when it is longer ago than kept.",
    ),
    appid: { description: "Only calls of this app.", minLength: 1, maxLength: 64 },
  },
  response: {
    name: "Usage",
    fields: {
      items: { description: "In the order of time. Without calls there is no item." },
      apps: { description: "All apps of the site, or the one that was asked for." },
      complete_until: time("All calls up to this time are counted; null before the first run of the cron."),
    },
  },
  parts: [
    {
      name: "UsageItem",
      schema: itemSchema,
      fields: {
        at: time("When the hour, or the day of UTC, begins.", TIME - (TIME % 3_600)),
        appid: appid(),
        operation: operation(),
        outcome: {
          description:
            "`ok`; `repeated`, when the answer to an earlier call with the same Idempotency-Key was given again; or why it was refused.",
          enum: ["ok", "repeated", ...REFUSAL_REASONS],
          examples: ["ok"],
        },
        count: { description: "How many calls.", minimum: 1, examples: [1204] },
      },
    },
    {
      name: "LastUse",
      schema: lastUseSchema,
      fields: {
        appid: appid(),
        last_used_at: time(
          "The last counted call that a secret of the app has verified, as far as usage is kept; null when none is. It may have been used after `complete_until`.",
        ),
        previous_secret_used_at: time(
          "The last counted call that its previous secret has verified; null when none is counted, also without such a secret. It may have been used after `complete_until`.",
        ),
      },
    },
  ],
  answered: "The usage.",
});
