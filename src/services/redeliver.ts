import { ServiceError } from "../errors.ts";
import * as events from "../store/home/events.ts";
import { requireEnabled, type WebhookOf } from "./find-webhook.ts";
import type { Told } from "./ping-webhook.ts";
import { eventUnknown, webhookDisabled } from "./refusals.ts";
import { homeOf, type ServiceContext, wakeWebhook } from "./service-context.ts";

/**
 * Delivers an event of the site to a webhook again, or for the first time. An attempt that is under way goes on.
 *
 * @throws ServiceError `not_found`, reason `webhook_unknown` or `event_unknown`; `conflict`, reason `webhook_disabled` or `event_erased`
 */
export async function redeliver(ctx: ServiceContext, input: WebhookOf & { seq: number }): Promise<Told> {
  await requireEnabled(ctx, input);
  const { site, webhookId: id, seq } = input;
  const event = await events.renewDelivery(ctx.runtime, homeOf(ctx, site), { siteId: site.id, id }, seq, ctx.now);
  if (event === undefined) throw eventUnknown();
  if (!event.isEnabled) throw webhookDisabled();
  if (event.isErased) throw new ServiceError("conflict", { reason: "event_erased", detail: "The event was erased." });
  wakeWebhook(ctx, site, id);
  return { eventId: event.id, seq };
}
