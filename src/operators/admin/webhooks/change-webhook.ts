import { changeWebhook, webhookChangeSchema } from "../../services/webhooks.ts";
import { adminCall } from "../admin-call.ts";
import type { CallDocumentation } from "../words.ts";
import { eventTypes, newUrl, webhook, webhookIdOf, webhookSchema } from "./webhook.ts";

export default adminCall(
  {
    id: "changeWebhook",
    method: "patch",
    path: "/sites/:site_id/webhooks/:webhook_id",
    role: "operator",
    scope: "site",
    audit: ["webhook.changed", "webhook.enabled", "webhook.disabled"],
    body: webhookChangeSchema,
    response: webhookSchema,
  },
  (c, { site, body }) => changeWebhook(c.var.ctx, { site, webhookId: webhookIdOf(c), change: body }),
);

export const documentation = (): CallDocumentation => ({
  summary: "Move, disable or enable a webhook, or choose its events",
  chinese: "更改 Webhook：更换地址、停用或启用、选择事件",
  description:
    "With another `url`, what is pending goes there at once. Enabling is 409 while what was pending when the webhook was disabled is still being ended, for minutes at most: wait until `pending` is 0.",
  body: {
    name: "WebhookChange",
    fields: {
      url: newUrl(),
      events: eventTypes(),
      status: {
        description: "Disabling it ends what is pending as `failed`. Enabling it sends nothing again: redeliver does.",
        examples: ["disabled"],
      },
    },
  },
  response: webhook(),
  answered: "The webhook as it is now.",
});
