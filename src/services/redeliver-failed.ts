import * as events from "../store/home/events.ts";
import { requireEnabled, type WebhookOf } from "./find-webhook.ts";
import { homeOf, type ServiceContext, wakeWebhook } from "./service-context.ts";

/**
 * Delivers again what failed, the oldest first, up to 1,000 events; call again until `remaining` is 0.
 *
 * @throws ServiceError `not_found`; `conflict`, reason `webhook_disabled`
 */
export async function redeliverFailed(
  ctx: ServiceContext,
  which: WebhookOf,
): Promise<{ redelivered: number; remaining: number }> {
  await requireEnabled(ctx, which);
  const { site, webhookId: id } = which;
  const done = await events.renewFailedDeliveries(homeOf(ctx, site), { siteId: site.id, id }, ctx.now);
  wakeWebhook(ctx, site, id);
  return done;
}
