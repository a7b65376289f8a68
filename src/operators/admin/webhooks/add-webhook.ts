import * as z from "zod/mini";
import { addWebhook, newWebhookSchema } from "../../services/webhooks.ts";
import { adminCall } from "../admin-call.ts";
import type { CallDocumentation } from "../words.ts";
import { eventTypes, newUrl, webhook, webhookSchema, webhookSecret } from "./webhook.ts";

export default adminCall(
  {
    id: "addWebhook",
    method: "post",
    path: "/sites/:site_id/webhooks",
    role: "operator",
    scope: "site",
    audit: ["webhook.added", "site.events_on"],
    body: newWebhookSchema,
    status: 201,
    response: z.extend(webhookSchema, { secret: z.string() }),
  },
  (c, { site, body }) => addWebhook(c.var.ctx, { site, ...body }),
);

export const documentation = (): CallDocumentation => ({
  summary: "Add a webhook to a site",
  chinese: "向站点添加 Webhook",
  description:
    "Has the site's events posted to a URL from now on. The first webhook of a site turns the site's events on. A site has at most 10. 400 names `url` when events cannot be posted there.",
  body: {
    name: "NewWebhook",
    fields: { url: newUrl(), events: eventTypes(" Left out, it gets all types that there are now.") },
  },
  response: { name: "AddedWebhook", fields: { ...webhook().fields, secret: webhookSecret() } },
  answered: "The webhook was added, enabled. The secret is shown here only.",
});
