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
  row: "200 `{secret, version, previous_expires_at}`. Until `previous_expires_at` each attempt has a signature by both secrets; `overlap_seconds` is 0 to 604800, default 86400. With 0 the new secret alone signs, and `previous_expires_at` is null. 409 if the webhook has another version than expected, or an overlap runs and nothing says [which secret ends](operating/sites-and-secrets.md#rotating-a-secret-once)",
  answered: "The webhook has a new secret, shown here only.",
});
