import { rotationSchema } from "../../services/rotation.ts";
import { rotateWebhookSecret } from "../../services/webhook-secrets.ts";
import { adminCall } from "../admin-call.ts";
import { rotatedFields, rotatedSchema, rotation, rotationOf } from "../rotation.ts";
import type { CallDocumentation } from "../words.ts";
import { webhookIdOf, webhookSecret } from "./webhook.ts";

export default adminCall(
  {
    id: "rotateWebhookSecret",
    method: "post",
    path: "/sites/:site_id/webhooks/:webhook_id/rotate",
    role: "operator",
    scope: "site",
    audit: ["webhook.rotated"],
    body: rotationSchema,
    bodyOptional: true,
    response: rotatedSchema,
  },
  (c, { site, body }) => rotateWebhookSecret(c.var.ctx, { site, webhookId: webhookIdOf(c), ...rotationOf(body) }),
);

export const documentation = (): CallDocumentation => ({
  summary: "Rotate a webhook's secret",
  chinese: "轮换 Webhook 的密钥",
  description:
    "Gives the webhook a new secret. Until the overlap ends each event has a signature of both. While an overlap runs, another rotation is 409 unless `ends` says which secret ends, or `overlap_seconds` is 0. Give `expected_version`, so that a call repeated after a lost answer rotates once. The body may be left out.",
  body: { name: "WebhookRotation", fields: rotation("signs too") },
  response: { name: "RotatedWebhook", fields: rotatedFields(webhookSecret(), "signs") },
  answered: "The webhook has a new secret, shown here only.",
});
