import { insertPing } from "../store/home/events.ts";
import { newEventId } from "../webhooks/event-id.ts";
import { requireEnabled, type WebhookOf } from "./find-webhook.ts";
import { webhookDisabled } from "./refusals.ts";
import { homeOf, type ServiceContext, wakeWebhook } from "./service-context.ts";

/** An event that was given to a webhook. */
export interface Told {
  eventId: string;
  seq: number;
}

/**
 * Sends an event of type `ping` to one webhook, whatever types it asked for, also while the site's events are off.
 *
 * @throws ServiceError `not_found`; `conflict`, reason `webhook_disabled`
 */
export async function pingWebhook(ctx: ServiceContext, which: WebhookOf): Promise<Told> {
  await requireEnabled(ctx, which);
  const { site, webhookId: id } = which;
  const eventId = newEventId(ctx.runtime);
  const seq = await insertPing(homeOf(ctx, site), { siteId: site.id, id }, eventId, ctx.now);
  if (seq === undefined) throw webhookDisabled();
  wakeWebhook(ctx, site, id);
  return { eventId, seq };
}
