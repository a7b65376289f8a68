import { pathId } from "../http/path-id.ts";
import {
  type Delivery,
  deliveryQuerySchema,
  listDeliveries,
  pingWebhook,
  redeliver,
  redeliverEvents,
  redeliveringSchema,
} from "../services/events.ts";
import { eventUnknown } from "../services/refusals.ts";
import { adminCall } from "./call.ts";
import { shownPage } from "./page.ts";
import { webhookIdOf } from "./webhooks.ts";

const shownDelivery = (each: Delivery) => ({
  event_id: each.eventId,
  seq: each.seq,
  type: each.type,
  chat_id: each.chatId,
  status: each.status,
  attempts: each.attempts,
  last_status: each.lastStatus,
  last_error: each.lastError,
  next_attempt_at: each.nextAttemptAt,
  created_at: each.createdAt,
  last_attempt_at: each.lastAttemptAt,
  duration_ms: each.durationMs,
});

export const deliveryCalls = [
  adminCall(
    {
      id: "pingWebhook",
      method: "post",
      path: "/sites/:site_id/webhooks/:webhook_id/ping",
      role: "operator",
      scope: "site",
      audit: ["webhook.pinged"],
    },
    async (c, { site }) => {
      const { eventId } = await pingWebhook(c.var.ctx, { site, webhookId: webhookIdOf(c) });
      return c.json({ event_id: eventId }, 202);
    },
  ),

  adminCall(
    {
      id: "listDeliveries",
      method: "get",
      path: "/sites/:site_id/webhooks/:webhook_id/deliveries",
      role: "viewer",
      scope: "site",
      audit: [],
      query: deliveryQuerySchema,
    },
    async (c, { site, query }) => {
      const deliveries = await listDeliveries(c.var.ctx, { site, webhookId: webhookIdOf(c), ...query });
      return c.json(shownPage(deliveries, shownDelivery));
    },
  ),

  adminCall(
    {
      id: "redeliverEvents",
      method: "post",
      path: "/sites/:site_id/webhooks/:webhook_id/redeliver",
      role: "operator",
      scope: "site",
      audit: ["webhook.redelivered"],
      body: redeliveringSchema,
      bodyOptional: true,
    },
    async (c, { site, body: { after_seq: afterSeq, dry_run: dryRun = false, ...wanted } }) => {
      const which = { site, webhookId: webhookIdOf(c) };
      const step = await redeliverEvents(c.var.ctx, { ...which, ...wanted, afterSeq, dryRun });
      const { matched, queued, until, nextAfterSeq } = step;
      return c.json({ matched, queued, until, next_after_seq: nextAfterSeq }, dryRun ? 200 : 202);
    },
  ),

  adminCall(
    {
      id: "redeliver",
      method: "post",
      path: "/sites/:site_id/webhooks/:webhook_id/deliveries/:seq/redeliver",
      role: "operator",
      scope: "site",
      audit: ["webhook.redelivered"],
    },
    async (c, { site }) => {
      const which = { site, webhookId: webhookIdOf(c), seq: pathId(c, "seq", eventUnknown) };
      const { eventId, seq } = await redeliver(c.var.ctx, which);
      return c.json({ event_id: eventId, seq }, 202);
    },
  ),
];
