import * as z from "zod/mini";
import { show } from "../../http/show.ts";
import { redeliverEvents, redeliveringSchema } from "../../services/events.ts";
import { adminCall } from "../admin-call.ts";
import { webhookIdOf } from "../webhooks/webhook.ts";
import { type CallDocumentation, count, TIME, time } from "../words.ts";

const stepSchema = z.object({
  matched: z.int(),
  queued: z.int(),
  until: z.int(),
  next_after_seq: z.nullable(z.int()),
});

export default adminCall(
  {
    id: "redeliverEvents",
    method: "post",
    path: "/sites/:site_id/webhooks/:webhook_id/redeliver",
    role: "operator",
    scope: "site",
    audit: ["webhook.redelivered"],
    body: redeliveringSchema,
    bodyOptional: true,
    status: 202,
    response: stepSchema,
  },
  async (c, { site, body: { after_seq: afterSeq, dry_run: dryRun, ...wanted } }) => {
    const webhookOfPath = { site, webhookId: webhookIdOf(c) };
    const step = await redeliverEvents(c.var.ctx, { ...webhookOfPath, ...wanted, afterSeq, dryRun });
    return dryRun ? c.json(show(stepSchema, step)) : step;
  },
);

export const documentation = (): CallDocumentation => ({
  summary: "Deliver many events again",
  chinese: "批量重新投递事件",
  description: [
    "The failed and the pending deliveries, or those that the body asks for; also events that the webhook missed while it was disabled, or before it was there. Each begins anew, with 8 attempts, within seconds, in the order of `seq`; when one that is under way fails, the first of 8 follows. Never pings, erased events, events that are kept no more, and what was told about this very webhook.",
    "One call reads up to 5,000 events. Send the same body again with both `until` and `after_seq`, the `until` and the `next_after_seq` of the answer, until `next_after_seq` is null. The body may be left out.",
  ].join("\n\n"),
  body: {
    name: "Redelivering",
    fields: {
      since: {
        description:
          "Only events that happened then or later, in Unix seconds. `missed` needs this or `after_seq`. Not after `until`.",
        examples: [TIME],
      },
      until: {
        description: "Only events that happened then or before, in Unix seconds. Left out, it is now.",
        examples: [TIME + 600],
      },
      after_seq: { description: "Only events with a higher `seq`: the `next_after_seq` of the answer before." },
      status: {
        description:
          "Only deliveries of these statuses, each named once; `missed` are events of a type that the webhook wants, without a delivery to it. Left out, failed and pending ones.",
        examples: [["failed", "missed"]],
      },
      dry_run: { description: "Counts, and changes nothing. Left out, it is false." },
    },
  },
  response: {
    name: "RedeliveredEvents",
    fields: {
      matched: count("How many fit, among those that this call has read.", 12),
      queued: count("How many are on their way now: all that fit, or 0 with `dry_run`.", 12),
      until: time("The `until` for the next call.", TIME + 600),
      next_after_seq: count("The `after_seq` for the next call; null when all was read.", 5042),
    },
  },
  answered: "The events are on their way.",
  also: { status: 200, description: "What a call without `dry_run` would send again. Nothing was changed." },
});
