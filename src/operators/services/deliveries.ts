import { webhookBody } from "../../events/body.ts";
import { type Delivery, type DeliveryStatus, selectDeliveries, selectDelivery } from "../store/home/events.ts";
import { type RecentDeliveries, selectRecents } from "../store/home/recent-deliveries.ts";
import { eventUnknown } from "./refusals.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";
import type { Webhook, WebhookOf } from "./webhooks.ts";

export { PING } from "../../core/store/event-schema.ts";
export { MOST_ATTEMPTS } from "../../events/schedule.ts";
export { MOST_IN_FLIGHT_FAILING } from "../../events/store/deliveries.ts";
export type { Delivery } from "../store/home/events.ts";
export { MOST_RECENT, type RecentDeliveries } from "../store/home/recent-deliveries.ts";

/** This file reads what only the console shows of deliveries. */

const DAY_SECONDS = 86_400;

/** For each of some webhooks of a site, the results of the last 24 hours, in the order of the webhooks. */
export const recentDeliveries = (
  ctx: ServiceContext,
  { site, webhooks }: Pick<WebhookOf, "site"> & { webhooks: Webhook[] },
): Promise<RecentDeliveries[]> => selectRecents(homeOf(ctx, site), site.id, webhooks, ctx.now - DAY_SECONDS);

/** A page of the deliveries to a webhook, newest event first. */
export interface DeliveryPage {
  items: Delivery[];
  isNewest: boolean;
  isOldest: boolean;
}

/**
 * A page of the deliveries to a webhook, for lists with pages in both directions. With a status, only deliveries in this status.
 *
 * @param input the page begins next to the event `before` or `after`. After 0 is the oldest page. Without both, it is the newest page. It
 *   is also the newest page when too few events come after `after` to fill a page
 */
export async function pageOfDeliveries(
  ctx: ServiceContext,
  input: WebhookOf & {
    status?: DeliveryStatus | undefined;
    before?: number | undefined;
    after?: number | undefined;
    limit: number;
  },
): Promise<DeliveryPage> {
  const { site, webhookId: id, status, before, after, limit } = input;
  const [db, key] = [homeOf(ctx, site), { siteId: site.id, id }];
  if (after !== undefined) {
    const rows = await selectDeliveries(db, key, status, { after }, limit + 1);
    if (rows.length > limit) return { items: rows.slice(1), isNewest: false, isOldest: after === 0 };
  }
  const isNewest = after !== undefined || before === undefined;
  const place = { before: isNewest ? Number.MAX_SAFE_INTEGER : (before ?? 0) };
  const rows = await selectDeliveries(db, key, status, place, limit + 1);
  return { items: rows.slice(0, limit), isNewest, isOldest: rows.length <= limit };
}

/** An event and how it was delivered to a webhook. */
export interface ReadDelivery {
  seq: number;
  /** The fields of the event are null when it is pruned. The body is null also when it is erased. */
  eventId: string | null;
  type: string | null;
  chatId: number | null;
  /** The body that every attempt sends. */
  body: string | null;
  createdAt: number;
  /** Undefined when the event was never meant for the webhook: the webhook was disabled, did not exist yet, or does not want this type. */
  delivery: Delivery | undefined;
}

/** @throws ServiceError `not_found`, reason `event_unknown`, when neither the event nor its delivery is stored */
export async function readDelivery(ctx: ServiceContext, input: WebhookOf & { seq: number }): Promise<ReadDelivery> {
  const { site, webhookId: id, seq } = input;
  const { event, delivery } = await selectDelivery(homeOf(ctx, site), { siteId: site.id, id }, seq);
  const createdAt = event?.createdAt ?? delivery?.createdAt;
  if (createdAt === undefined) throw eventUnknown();
  const { data = null } = event ?? {};
  const body =
    event === undefined || data === null ? null : webhookBody({ type: event.type, at: event.createdAt, data });
  const { id: eventId = null, type = null, chatId = null } = event ?? {};
  return { seq, eventId, type, chatId, body, createdAt, delivery };
}
