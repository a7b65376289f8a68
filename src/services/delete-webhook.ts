import * as webhooks from "../store/home/webhooks.ts";
import { webhookDetails } from "./add-webhook.ts";
import { findWebhook, type WebhookOf } from "./find-webhook.ts";
import { authorOf, homeOf, type ServiceContext } from "./service-context.ts";

/** Deletes a webhook with its deliveries: nothing is posted to it any more. @throws ServiceError `not_found` */
export async function deleteWebhook(ctx: ServiceContext, which: WebhookOf): Promise<void> {
  const { site, webhookId: id } = which;
  const details = webhookDetails(await findWebhook(ctx, which));
  await webhooks.deleteWebhookRow(ctx.runtime, homeOf(ctx, site), { siteId: site.id, id }, details, authorOf(ctx));
}
