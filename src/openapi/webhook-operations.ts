import { deliveryQuerySchema, eventQuerySchema } from "../services/events.ts";
import { ID_CURSOR, operation, parametersIn, QUERY_WORDS, query } from "./admin-call.ts";

/** The admin API's paths about events and webhooks. */
export const webhookPaths = {
  "/admin/sites/{site_id}/events": {
    parameters: parametersIn("site_id"),
    get: operation({
      id: "listEvents",
      summary: "Pull a site's events",
      description:
        "For those who would rather pull than be posted to. Give the highest `seq` that you have as `after`. Events are kept 30 days unless the operator set another time, the newest one always.",
      query: query(eventQuerySchema, {
        after: { description: "Only events with a higher `seq`." },
        limit: QUERY_WORDS.limit,
      }),
      answer: { status: 200, schema: "EventList" },
      refusals: [404, 409],
      description200: "The events, the oldest first.",
    }),
  },
  "/admin/sites/{site_id}/webhooks": {
    parameters: parametersIn("site_id"),
    post: operation({
      id: "addWebhook",
      summary: "Add a webhook to a site",
      description:
        "Has the site's events posted to a URL from now on. The first webhook of a site turns the site's events on. A site has at most 10.",
      body: "NewWebhook",
      answer: { status: 201, schema: "AddedWebhook" },
      refusals: [404, 409],
      description200: "The webhook was added, enabled. The secret is shown here only.",
    }),
    get: operation({
      id: "listWebhooks",
      summary: "List a site's webhooks",
      answer: { status: 200, schema: "WebhookPage" },
      refusals: [404, 409],
      description200: "All webhooks of the site, the oldest first; never with a secret.",
    }),
  },
  "/admin/sites/{site_id}/webhooks/{webhook_id}": {
    parameters: parametersIn("site_id", "webhook_id"),
    patch: operation({
      id: "changeWebhook",
      summary: "Move, disable or enable a webhook, or choose its events",
      body: "WebhookChange",
      answer: { status: 200, schema: "Webhook" },
      refusals: [404, 409],
      description200: "The webhook as it is now.",
    }),
    delete: operation({
      id: "deleteWebhook",
      summary: "Delete a webhook and its deliveries",
      answer: { status: 204 },
      refusals: [404, 409],
      description200: "The webhook is deleted: nothing is posted to it any more.",
    }),
  },
  "/admin/sites/{site_id}/webhooks/{webhook_id}/rotate": {
    parameters: parametersIn("site_id", "webhook_id"),
    post: operation({
      id: "rotateWebhookSecret",
      summary: "Rotate a webhook's secret",
      description:
        "Gives the webhook a new secret. Until the overlap ends each event has a signature of both; rotating again ends the oldest. The body may be left out.",
      body: "WebhookRotation",
      bodyOptional: true,
      answer: { status: 200, schema: "RotatedWebhook" },
      refusals: [404, 409],
      description200: "The webhook has a new secret, shown here only.",
    }),
  },
  "/admin/sites/{site_id}/webhooks/{webhook_id}/ping": {
    parameters: parametersIn("site_id", "webhook_id"),
    post: operation({
      id: "pingWebhook",
      summary: "Send a ping to a webhook",
      description: "An event of type `ping`, to this webhook alone, also while the site's events are off.",
      answer: { status: 202, schema: "SentPing" },
      refusals: [404, 409],
      description200: "The ping is on its way.",
    }),
  },
  "/admin/sites/{site_id}/webhooks/{webhook_id}/deliveries": {
    parameters: parametersIn("site_id", "webhook_id"),
    get: operation({
      id: "listDeliveries",
      summary: "List the deliveries to a webhook",
      query: query(deliveryQuerySchema, { ...ID_CURSOR, status: { description: "Only deliveries of this status." } }),
      answer: { status: 200, schema: "DeliveryPage" },
      refusals: [404, 409],
      description200: "A page of deliveries, newest event first.",
    }),
  },
  "/admin/sites/{site_id}/webhooks/{webhook_id}/deliveries/{seq}/redeliver": {
    parameters: parametersIn("site_id", "webhook_id", "seq"),
    post: operation({
      id: "redeliver",
      summary: "Deliver an event again",
      description:
        "Any event that is kept, also one that this webhook never had. It begins anew, with 8 attempts; an attempt that is under way goes on.",
      answer: { status: 202, schema: "Redelivery" },
      refusals: [404, 409],
      description200: "The event is on its way.",
    }),
  },
};
