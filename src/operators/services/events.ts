import * as z from "zod/mini";
import { invalidInput, ServiceError } from "../../core/errors.ts";
import { newEventId } from "../../core/signed/event-id.ts";
import { DELIVERY_STATUSES } from "../../core/store/event-schema.ts";
import type { Site } from "../store/directory/sites.ts";
import {
  type Delivery,
  type DeliveryStatus,
  type EventRow,
  insertPing,
  selectDeliveries,
  selectEvents,
} from "../store/home/events.ts";
import {
  DUE_PER_SECOND,
  REDELIVERED_STATUSES,
  type RedeliveredStatus,
  renewDeliveries,
} from "../store/home/redeliver-many.ts";
import { renewDelivery } from "../store/home/redeliver-one.ts";
import { beforeId, type Page, type PageInput, pageOf, pageQuerySchema, unixSecondsSchema } from "./page.ts";
import { eventUnknown, webhookDisabled, webhookUnknown } from "./refusals.ts";
import { authorOf, homeOf, notifyQueueOf, type ServiceContext } from "./service-context.ts";
import { isWebhookEnabled, requireEnabled, type WebhookOf } from "./webhooks.ts";

export type { FailureCause } from "../../core/store/event-schema.ts";
export { DELIVERY_STATUSES } from "../../core/store/event-schema.ts";
export { FAILURE_WORDS } from "../../events/failure-text.ts";
export { causeText } from "../../events/post.ts";
export type { Delivery, DeliveryStatus } from "../store/home/events.ts";
export { REDELIVERED_STATUSES, type RedeliveredStatus } from "../store/home/redeliver-many.ts";

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
  await isWebhookEnabled(ctx, input);
  const rows = await selectDeliveries(homeOf(ctx, site), { siteId: site.id, id }, status, { before }, limit + 1);
  return pageOf(rows, limit, ({ seq }) => seq);
}

/** An event that is now due for a webhook. */
interface DueEvent {
  eventId: string;
  seq: number;
}

/**
 * Sends an event of type `ping` to one webhook, also when the webhook did not ask for this type or the site's events are off.
 *
 * @throws ServiceError `not_found`; `conflict`, reason `webhook_disabled`
 */
export async function pingWebhook(ctx: ServiceContext, webhookOf: WebhookOf): Promise<DueEvent> {
  await requireEnabled(ctx, webhookOf);
  const { site, webhookId: id } = webhookOf;
  const eventId = newEventId(ctx.runtime);
  const seq = await insertPing(homeOf(ctx, site), { siteId: site.id, id }, eventId, authorOf(ctx));
  if (seq === undefined) throw webhookDisabled();
  notifyQueueOf(ctx, site, id);
  return { eventId, seq };
}

/**
 * Delivers an event of the site to a webhook again, or for the first time. An attempt in flight goes on: if it fails, eight more
 * follow.
 *
 * @throws ServiceError `not_found`, reason `webhook_unknown` or `event_unknown`; `conflict`, reason `webhook_disabled` or `event_erased`
 */
export async function redeliver(ctx: ServiceContext, input: WebhookOf & { seq: number }): Promise<DueEvent> {
  await requireEnabled(ctx, input);
  const { site, webhookId: id, seq } = input;
  const event = await renewDelivery(ctx.runtime, homeOf(ctx, site), { siteId: site.id, id }, seq, authorOf(ctx));
  if (event === undefined) throw eventUnknown();
  if (!event.isEnabled) throw webhookDisabled();
  if (event.isErased) throw new ServiceError("conflict", { reason: "event_erased", detail: "The event was erased." });
  notifyQueueOf(ctx, site, id, 0, event.nextRetry);
  return { eventId: event.id, seq };
}

const SEQ_RULE = AFTER_RULE;
const STATUS_RULE = `must be a list of different ones of ${REDELIVERED_STATUSES.join(", ")}`;
const EACH_STATUS_RULE = `must be ${REDELIVERED_STATUSES.join(" or ")}`;

/** Body of POST /admin/sites/:site_id/webhooks/:webhook_id/redeliver. */
export const redeliveringSchema = z.strictObject({
  since: z.optional(unixSecondsSchema),
  until: z.optional(unixSecondsSchema),
  after_seq: z.optional(z.int(SEQ_RULE).check(z.minimum(0, SEQ_RULE))),
  status: z.optional(
    z.array(z.enum(REDELIVERED_STATUSES, EACH_STATUS_RULE), STATUS_RULE).check(
      z.minLength(1, STATUS_RULE),
      z.refine((list) => new Set(list).size === list.length, { error: STATUS_RULE, params: { uniqueItems: true } }),
    ),
  ),
  dry_run: z.optional(z.boolean("must be true or false")),
});

/** What to send again: the events of some seconds, both included, whose deliveries have one of the statuses. */
interface RedeliveryInput extends WebhookOf {
  /** By default failed and pending ones. `missed` needs `since` or `afterSeq`. */
  status?: readonly RedeliveredStatus[] | undefined;
  /** Unix seconds of the event's `createdAt`. */
  since?: number | undefined;
  /** By default now. */
  until?: number | undefined;
  /** Only events with a higher seq. */
  afterSeq?: number | undefined;
  /** Whether nothing is changed. */
  dryRun?: boolean | undefined;
}

interface RedeliveredStep {
  /** How many deliveries of the step fit, and how many were made due: all of them, or none in a dry run. */
  matched: number;
  queued: number;
  /** Must be given with each further step, so that all steps have the same end. */
  until: number;
  /** `afterSeq` of the next step; null after the last. */
  nextAfterSeq: number | null;
}

/**
 * Delivers events to a webhook again, in steps of up to 5,000 events: call again with the same input, and with `until` and `afterSeq` of
 * the step before, until `nextAfterSeq` is null. Each delivery gets eight new attempts and is due within seconds.
 *
 * @throws ServiceError `not_found`; `invalid_input` for contradicting fields; `conflict`, reason `webhook_disabled`
 */
export async function redeliverEvents(ctx: ServiceContext, input: RedeliveryInput): Promise<RedeliveredStep> {
  const { site, webhookId: id, since, until = ctx.now, afterSeq, dryRun = false } = input;
  const { status = ["failed", "pending"] } = input;
  if (status.includes("missed") && since === undefined && afterSeq === undefined)
    throw invalidInput([{ field: "status", message: "missed needs since or after_seq" }]);
  if (since !== undefined && since > until)
    throw invalidInput([{ field: "since", message: "must not be after until" }]);
  const keptUntil = ctx.now - ctx.config.eventRetentionDays * 86_400;
  const wantedDeliveries = { status, since, until, afterSeq, keptUntil };
  const [db, key, author] = [homeOf(ctx, site), { siteId: site.id, id }, authorOf(ctx)];
  const renewedStep = await renewDeliveries(ctx.runtime, db, key, wantedDeliveries, author, dryRun, ctx.answerBy);
  if (renewedStep === undefined) throw webhookUnknown();
  const { isEnabled, matched, queued, nextAfterSeq, nextRetry } = renewedStep;
  if (!isEnabled && queued === 0) throw webhookDisabled();
  if (queued > 0) notifyQueueOf(ctx, site, id, Math.floor((queued - 1) / DUE_PER_SECOND), nextRetry);
  return { matched, queued, until, nextAfterSeq };
}
