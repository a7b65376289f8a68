import * as z from "zod/mini";
import { pingWebhook } from "../../services/events.ts";
import { adminCall } from "../admin-call.ts";
import { eventId } from "../events/event.ts";
import { webhookIdOf } from "../webhooks/webhook.ts";
import type { CallDocumentation } from "../words.ts";

export default adminCall(
  {
    id: "pingWebhook",
    method: "post",
    path: "/sites/:site_id/webhooks/:webhook_id/ping",
    role: "operator",
    scope: "site",
    audit: ["webhook.pinged"],
    status: 202,
    response: z.object({ event_id: z.string() }),
  },
  (c, { site }) => pingWebhook(c.var.ctx, { site, webhookId: webhookIdOf(c) }),
);

export const documentation = (): CallDocumentation => ({
  summary: "Send a ping to a webhook",
  chinese: "向 Webhook 发送 ping",
  description:
    "An event of type `ping`, to this webhook alone, also while the site's events are off. 409 when the webhook is disabled.",
  response: { name: "SentPing", fields: { event_id: eventId() } },
  answered: "The ping is on its way.",
});
