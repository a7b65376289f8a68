import { listWebhooks } from "../../services/webhooks.ts";
import { adminCall } from "../admin-call.ts";
import { pageSchema } from "../page.ts";
import { type CallDocumentation, page } from "../words.ts";
import { webhook, webhookSchema } from "./webhook.ts";

export default adminCall(
  {
    id: "listWebhooks",
    method: "get",
    path: "/sites/:site_id/webhooks",
    role: "viewer",
    scope: "site",
    audit: [],
    response: pageSchema(webhookSchema),
  },
  async (c, { site }) => ({ items: await listWebhooks(c.var.ctx, { site }), nextCursor: null }),
);

export const documentation = (): CallDocumentation => ({
  summary: "List a site's webhooks",
  chinese: "列出站点的 Webhook",
  response: page("WebhookPage"),
  parts: [webhook()],
  answered: "All webhooks of the site, the oldest first; never with a secret.",
});
