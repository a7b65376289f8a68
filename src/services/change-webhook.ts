import * as z from "zod/mini";
import { updateWebhook, type Webhook, type WebhookChange } from "../store/home/webhooks.ts";
import { WEBHOOK_STATUSES } from "../store/schema.ts";
import { requirePostable, webhookDetails, webhookEvents, webhookUrl } from "./add-webhook.ts";
import type { WebhookOf } from "./find-webhook.ts";
import { webhookUnknown } from "./refusals.ts";
import { authorOf, homeOf, type ServiceContext } from "./service-context.ts";

/** Body of PATCH /admin/sites/:site_id/webhooks/:webhook_id. */
export const webhookChangeSchema = z
  .strictObject({
    url: z.optional(webhookUrl),
    events: z.optional(webhookEvents),
    status: z.optional(z.enum(WEBHOOK_STATUSES, 'must be "enabled" or "disabled"')),
  })
  .check(
    z.refine((change) => Object.values(change).some((value) => value !== undefined), {
      error: "must change url, events or status",
      params: { minProperties: 1 },
    }),
  );

/**
 * Changes a webhook. What is pending goes to the new URL. Disabling it ends what is pending as failed, and enabling it sends nothing
 * again: `redeliver` does.
 *
 * @throws ServiceError `not_found`; `invalid_input` for a URL that events cannot be posted to; `conflict`, reason `changed_meanwhile`
 */
export async function changeWebhook(
  ctx: ServiceContext,
  { change, site, webhookId: id }: WebhookOf & { change: WebhookChange },
): Promise<Webhook> {
  if (change.url !== undefined) requirePostable(ctx, change.url);
  const events = change.events && [...new Set(change.events)];
  const key = { siteId: site.id, id };
  const wanted = { ...change, events };
  const [db, author] = [homeOf(ctx, site), authorOf(ctx)];
  const now = await updateWebhook(ctx.runtime, db, key, wanted, webhookDetails, author, ctx.answerBy);
  if (now === undefined) throw webhookUnknown();
  return now;
}
