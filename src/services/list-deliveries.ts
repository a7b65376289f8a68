import * as z from "zod/mini";
import * as events from "../store/home/events.ts";
import { DELIVERY_STATUSES } from "../store/schema.ts";
import { findWebhook, type WebhookOf } from "./find-webhook.ts";
import { beforeId, type Page, type PageInput, pageOf, pageQuerySchema } from "./page.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

export type { Delivery, DeliveryStatus } from "../store/home/events.ts";
export { DELIVERY_STATUSES } from "../store/schema.ts";

/** Query of the list of deliveries. */
export const deliveryQuerySchema = z.extend(pageQuerySchema, {
  status: z.optional(z.enum(DELIVERY_STATUSES, `must be ${DELIVERY_STATUSES.join(" or ")}`)),
});

/**
 * A page of the deliveries to a webhook, newest event first, of one status when it is given.
 *
 * @throws ServiceError `not_found`; `invalid_input` for a malformed cursor
 */
export async function listDeliveries(
  ctx: ServiceContext,
  input: WebhookOf & PageInput & { status?: events.DeliveryStatus | undefined },
): Promise<Page<events.Delivery>> {
  const { site, webhookId: id, status, limit } = input;
  const before = beforeId(input);
  await findWebhook(ctx, input);
  const rows = await events.selectDeliveries(homeOf(ctx, site), { siteId: site.id, id }, status, before, limit + 1);
  return pageOf(rows, limit, ({ seq }) => seq);
}
