import * as z from "zod/mini";
import { DELIVERY_STATUSES, deliveryQuerySchema, listDeliveries } from "../../services/events.ts";
import { adminCall } from "../admin-call.ts";
import { eventId, eventType, seq, TYPES } from "../events/event.ts";
import { pageSchema } from "../page.ts";
import { webhookIdOf } from "../webhooks/webhook.ts";
import { type CallDocumentation, count, ID_CURSOR, page, pageQuery, time } from "../words.ts";

const deliverySchema = z.object({
  event_id: z.nullable(z.string()),
  seq: z.int(),
  type: z.nullable(z.enum(TYPES)),
  chat_id: z.nullable(z.int()),
  status: z.enum(DELIVERY_STATUSES),
  attempts: z.int(),
  last_status: z.nullable(z.int()),
  last_error: z.nullable(z.string()),
  next_attempt_at: z.nullable(z.int()),
  created_at: z.int(),
  last_attempt_at: z.nullable(z.int()),
  duration_ms: z.nullable(z.int()),
});

export default adminCall(
  {
    id: "listDeliveries",
    method: "get",
    path: "/sites/:site_id/webhooks/:webhook_id/deliveries",
    role: "viewer",
    scope: "site",
    audit: [],
    query: deliveryQuerySchema,
    response: pageSchema(deliverySchema),
  },
  (c, { site, query }) => listDeliveries(c.var.ctx, { site, webhookId: webhookIdOf(c), ...query }),
);

export const documentation = (): CallDocumentation => ({
  summary: "List the deliveries to a webhook",
  chinese: "列出 Webhook 的投递记录",
  query: { ...pageQuery(ID_CURSOR), status: { description: "Only deliveries of this status." } },
  response: page("DeliveryPage"),
  parts: [
    {
      name: "Delivery",
      schema: deliverySchema,
      fields: {
        event_id: eventId(),
        seq: seq(),
        type: eventType(),
        chat_id: {
          description:
            "The session that it is about; null for a ping and for an event about a webhook. Null, as are `event_id` and `type`, once the event is kept no more.",
          examples: [900220],
        },
        status: {
          description:
            "`pending` until it is `delivered`, or `failed` after 8 attempts or because the webhook was disabled; `skipped` when its data was erased before.",
          examples: ["delivered"],
        },
        attempts: count("How many attempts were begun.", 1),
        last_status: { description: "The HTTP status of the last answer; null without one.", examples: [200] },
        last_error: {
          description:
            "Why the last attempt failed, with the start of what was answered; null when it did not, and after it was sent again.",
          examples: ["HTTP 500: oops"],
        },
        next_attempt_at: time("When it is tried next; null unless it is pending."),
        created_at: time("When the event happened."),
        last_attempt_at: time("When the last attempt began; null before the first."),
        duration_ms: count("How long the last attempt took, in milliseconds; null while it is under way.", 212),
      },
    },
  ],
  answered: "A page of deliveries, newest event first.",
});
