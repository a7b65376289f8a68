import type { Site } from "../store/directory/sites.ts";
import * as webhooks from "../store/home/webhooks.ts";
import { webhookDisabled, webhookUnknown } from "./refusals.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

/** A webhook of a site. */
export interface WebhookOf {
  site: Site;
  webhookId: string;
}

/** @throws ServiceError `not_found`, reason `webhook_unknown` */
export async function findWebhook(ctx: ServiceContext, { site, webhookId }: WebhookOf): Promise<webhooks.Webhook> {
  const webhook = await webhooks.selectWebhook(homeOf(ctx, site), { siteId: site.id, id: webhookId });
  if (webhook === undefined) throw webhookUnknown();
  return webhook;
}

/** @throws ServiceError `not_found`; `conflict`, reason `webhook_disabled` */
export async function requireEnabled(ctx: ServiceContext, input: WebhookOf): Promise<void> {
  if ((await findWebhook(ctx, input)).status === "disabled") throw webhookDisabled();
}
