import * as z from "zod/mini";
import { ServiceError } from "../errors.ts";
import type { Site } from "../store/directory/sites.ts";
import {
  type Delivery,
  type DeliveryStatus,
  type EventRow,
  insertPing,
  renewDelivery,
  renewFailedDeliveries,
  selectDeliveries,
  selectEvents,
} from "../store/home/events.ts";
import { DELIVERY_STATUSES } from "../store/schema.ts";
import { newEventId } from "../webhooks/event-id.ts";
import { beforeId, type Page, type PageInput, pageOf, pageQuerySchema } from "./page.ts";
import { eventUnknown, webhookDisabled } from "./refusals.ts";
import { homeOf, notifyQueueOf, type ServiceContext } from "./service-context.ts";
import { findWebhook, requireEnabled, type WebhookOf } from "./webhooks.ts";

export type { Delivery, DeliveryStatus } from "../store/home/events.ts";
export { DELIVERY_STATUSES } from "../store/schema.ts";

const AFTER_RULE = "must be an integer from 0 to 9007199254740991";

/** Query of GET /admin/sites/:site_id/events. */
export const eventQuerySchema = z.strictObject({
  after: z._default(
    z.pipe(
      z.string().check(z.regex(/^\d{1,16}$/, AFTER_RULE)),
      z.pipe(z.transform(Number), z.int(AFTER_RULE).check(z.minimum(0, AFTER_RULE))),
    ),
    0,
  ),
  limit: pageQuerySchema.shape.limit,
});

/** An event of a site. `data` is null once it is erased. */
export type SiteEvent = Omit<EventRow, "data"> & { data: Record<string, unknown> | null };

/** A site's events with a seq above `after`, the oldest first: for receivers that pull instead of waiting for webhooks. */
export async function listEvents(
  ctx: ServiceContext,
  { site, after, limit }: { site: Site; after: number; limit: number },
): Promise<SiteEvent[]> {
  const rows = await selectEvents(homeOf(ctx, site), site.id, after, limit);
  return rows.map((row) => ({ ...row, data: JSON.parse(row.data ?? "null") as SiteEvent["data"] }));
}

/** Query of the list of deliveries. */
export const deliveryQuerySchema = z.extend(pageQuerySchema, {
  status: z.optional(z.enum(DELIVERY_STATUSES, `must be ${DELIVERY_STATUSES.join(" or ")}`)),
});

/**
 * A page of the deliveries to a webhook, newest event first. With a status, only deliveries in this status.
 *
 * @throws ServiceError `not_found`; `invalid_input` for a malformed cursor
 */
export async function listDeliveries(
  ctx: ServiceContext,
  input: WebhookOf & PageInput & { status?: DeliveryStatus | undefined },
): Promise<Page<Delivery>> {
  const { site, webhookId: id, status, limit } = input;
  const before = beforeId(input);
  await findWebhook(ctx, input);
  const rows = await selectDeliveries(homeOf(ctx, site), { siteId: site.id, id }, status, before, limit + 1);
  return pageOf(rows, limit, ({ seq }) => seq);
}

/** An event that is now due for a webhook. */
interface Told {
  eventId: string;
  seq: number;
}

/**
 * Sends an event of type `ping` to one webhook, also when the webhook did not ask for this type or the site's events are off.
 *
 * @throws ServiceError `not_found`; `conflict`, reason `webhook_disabled`
 */
export async function pingWebhook(ctx: ServiceContext, which: WebhookOf): Promise<Told> {
  await requireEnabled(ctx, which);
  const { site, webhookId: id } = which;
  const eventId = newEventId(ctx.runtime);
  const seq = await insertPing(homeOf(ctx, site), { siteId: site.id, id }, eventId, ctx.now);
  if (seq === undefined) throw webhookDisabled();
  notifyQueueOf(ctx, site, id);
  return { eventId, seq };
}

/**
 * Delivers an event of the site to a webhook again, or for the first time. An attempt in flight is not stopped.
 *
 * @throws ServiceError `not_found`, reason `webhook_unknown` or `event_unknown`; `conflict`, reason `webhook_disabled` or `event_erased`
 */
export async function redeliver(ctx: ServiceContext, input: WebhookOf & { seq: number }): Promise<Told> {
  await requireEnabled(ctx, input);
  const { site, webhookId: id, seq } = input;
  const event = await renewDelivery(ctx.runtime, homeOf(ctx, site), { siteId: site.id, id }, seq, ctx.now);
  if (event === undefined) throw eventUnknown();
  if (!event.isEnabled) throw webhookDisabled();
  if (event.isErased) throw new ServiceError("conflict", { reason: "event_erased", detail: "The event was erased." });
  notifyQueueOf(ctx, site, id);
  return { eventId: event.id, seq };
}

/**
 * Delivers failed events again, the oldest first, up to 1,000 in one call. Call again until `remaining` is 0.
 *
 * @throws ServiceError `not_found`; `conflict`, reason `webhook_disabled`
 */
export async function redeliverFailed(
  ctx: ServiceContext,
  which: WebhookOf,
): Promise<{ redelivered: number; remaining: number }> {
  await requireEnabled(ctx, which);
  const { site, webhookId: id } = which;
  const done = await renewFailedDeliveries(homeOf(ctx, site), { siteId: site.id, id }, ctx.now);
  notifyQueueOf(ctx, site, id);
  return done;
}
