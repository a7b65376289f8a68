import { newWebhookSecret } from "../../events/secret.ts";
import { selectSealedWebhook, type WebhookRow } from "../store/home/read-webhooks.ts";
import { webhookUnknown } from "./refusals.ts";
import { endOverlapOf, type RotationInput, readSecretOf, rotateOwnerSecret, type SecretOwnerOf } from "./rotation.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";
import type { WebhookOf } from "./webhooks.ts";

/** Until the overlap ends, events are signed with the secret in use too. @throws as {@link rotateOwnerSecret} does */
export const rotateWebhookSecret = (ctx: ServiceContext, { site, webhookId, ...input }: WebhookOf & RotationInput) =>
  rotateOwnerSecret(ctx, ownerOf(ctx, { site, webhookId }), input);

/** @throws as {@link endOverlapOf} does */
export const endWebhookOverlap = (
  ctx: ServiceContext,
  { site, webhookId, ...input }: WebhookOf & { expectedVersion?: string | undefined },
) => endOverlapOf(ctx, ownerOf(ctx, { site, webhookId }), input);

/**
 * The secret of a webhook in clear text, for the operator who just added the webhook or rotated its secret.
 *
 * @throws ServiceError `not_found`; and as {@link readSecretOf} does
 */
export async function readWebhookSecret(
  ctx: ServiceContext,
  { site, webhookId, version }: WebhookOf & { version: string },
): Promise<string> {
  const webhook = await ownerOf(ctx, { site, webhookId }).read();
  return readSecretOf(ctx, { siteId: site.id, webhookId }, webhook, version);
}

const ownerOf = (ctx: ServiceContext, { site, webhookId }: WebhookOf): SecretOwnerOf<"webhooks", WebhookRow> => ({
  owners: "webhooks",
  name: webhookId,
  read: async () =>
    knownWebhook(await selectSealedWebhook(ctx.runtime, homeOf(ctx, site), { siteId: site.id, id: webhookId })),
  db: () => homeOf(ctx, site),
  sealPlaceOf: () => ({ siteId: site.id, webhookId }),
  newSecret: newWebhookSecret,
  changed: () => {},
  ended: knownWebhook,
});

/** @throws ServiceError `not_found` */
function knownWebhook<Webhook>(webhook: Webhook | undefined): Webhook {
  if (webhook === undefined) throw webhookUnknown();
  return webhook;
}
