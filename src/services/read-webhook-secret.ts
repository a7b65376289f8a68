import { ServiceError } from "../errors.ts";
import { selectSealedWebhook } from "../store/home/webhooks.ts";
import type { WebhookOf } from "./find-webhook.ts";
import { webhookUnknown } from "./refusals.ts";
import { openSecret } from "./secrets.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

/**
 * The secret of a webhook in clear text, for the operator who has just made it.
 *
 * @param input `version` of the wanted secret, so that a newer secret of another operator is not shown
 * @throws ServiceError `not_found`; `conflict`, reason `version_other`; `internal` when MASTER_KEY does not open it
 */
export async function readWebhookSecret(
  ctx: ServiceContext,
  { site, webhookId, version }: WebhookOf & { version: string },
): Promise<string> {
  const webhook = await selectSealedWebhook(ctx.runtime, homeOf(ctx, site), { siteId: site.id, id: webhookId });
  if (webhook === undefined) throw webhookUnknown();
  if (webhook.version !== version) throw new ServiceError("conflict", { reason: "version_other" });
  return openSecret(ctx, { siteId: site.id, webhookId, version }, "current", webhook.secret);
}
