import { deleteWebhook } from "../../services/webhooks.ts";
import { adminCall } from "../admin-call.ts";
import type { CallDocumentation } from "../words.ts";
import { webhookIdOf } from "./webhook.ts";

export default adminCall(
  {
    id: "deleteWebhook",
    method: "delete",
    path: "/sites/:site_id/webhooks/:webhook_id",
    role: "operator",
    scope: "site",
    audit: ["webhook.deleted"],
  },
  (c, { site }) => deleteWebhook(c.var.ctx, { site, webhookId: webhookIdOf(c) }),
);

export const documentation = (): CallDocumentation => ({
  summary: "Delete a webhook and its deliveries",
  chinese: "删除 Webhook 及其投递记录",
  answered: "The webhook is deleted: nothing is posted to it any more.",
});
