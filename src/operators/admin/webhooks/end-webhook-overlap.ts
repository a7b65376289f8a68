import { endOverlapSchema } from "../../services/rotation.ts";
import { endWebhookOverlap } from "../../services/webhook-secrets.ts";
import { adminCall } from "../admin-call.ts";
import { endedOverlap, endedOverlapSchema, overlapEnd } from "../rotation.ts";
import type { CallDocumentation } from "../words.ts";
import { webhookIdOf } from "./webhook.ts";

export default adminCall(
  {
    id: "endWebhookOverlap",
    method: "post",
    path: "/sites/:site_id/webhooks/:webhook_id/end-overlap",
    role: "operator",
    scope: "site",
    audit: ["webhook.overlap_ended"],
    body: endOverlapSchema,
    bodyOptional: true,
    response: endedOverlapSchema,
  },
  async (c, { site, body: { expected_version: expectedVersion } }) => {
    const { version } = await endWebhookOverlap(c.var.ctx, { site, webhookId: webhookIdOf(c), expectedVersion });
    return { version, previousExpiresAt: null };
  },
);

export const documentation = (): CallDocumentation => ({
  summary: "End the previous secret of a webhook",
  chinese: "让 Webhook 的旧密钥失效",
  description:
    "From now on, events are signed with the secret in use alone. No new secret is made. When there is no previous secret, nothing changes and the answer is the same. The body may be left out.",
  body: overlapEnd(),
  response: endedOverlap(),
  answered: "The webhook has one secret.",
});
