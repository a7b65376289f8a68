import type { AdminCallId } from "../http/admin/calls.ts";
import { type CallWords, ID_CURSOR, QUERY_WORDS } from "./admin-call.ts";

/** The words for the calls of the admin API about events and webhooks. */
export const webhookWords = {
  listEvents: {
    summary: "Pull a site's events",
    description:
      "For those who would rather pull than be posted to. Give the highest `seq` that you have as `after`. Events are kept 30 days unless the operator set another time, the newest one always.",
    query: {
      after: { description: "Only events with a higher `seq`." },
      limit: QUERY_WORDS.limit,
    },
    answer: { status: 200, schema: "EventList" },
    description200: "The events, the oldest first.",
  },
  addWebhook: {
    summary: "Add a webhook to a site",
    description:
      "Has the site's events posted to a URL from now on. The first webhook of a site turns the site's events on. A site has at most 10.",
    body: "NewWebhook",
    answer: { status: 201, schema: "AddedWebhook" },
    description200: "The webhook was added, enabled. The secret is shown here only.",
  },
  listWebhooks: {
    summary: "List a site's webhooks",
    answer: { status: 200, schema: "WebhookPage" },
    description200: "All webhooks of the site, the oldest first; never with a secret.",
  },
  changeWebhook: {
    summary: "Move, disable or enable a webhook, or choose its events",
    body: "WebhookChange",
    answer: { status: 200, schema: "Webhook" },
    description200: "The webhook as it is now.",
  },
  deleteWebhook: {
    summary: "Delete a webhook and its deliveries",
    answer: { status: 204 },
    description200: "The webhook is deleted: nothing is posted to it any more.",
  },
  rotateWebhookSecret: {
    summary: "Rotate a webhook's secret",
    description:
      "Gives the webhook a new secret. Until the overlap ends each event has a signature of both; rotating again ends the oldest. The body may be left out.",
    body: "WebhookRotation",
    answer: { status: 200, schema: "RotatedWebhook" },
    description200: "The webhook has a new secret, shown here only.",
  },
  pingWebhook: {
    summary: "Send a ping to a webhook",
    description: "An event of type `ping`, to this webhook alone, also while the site's events are off.",
    answer: { status: 202, schema: "SentPing" },
    description200: "The ping is on its way.",
  },
  listDeliveries: {
    summary: "List the deliveries to a webhook",
    query: { ...ID_CURSOR, status: { description: "Only deliveries of this status." } },
    answer: { status: 200, schema: "DeliveryPage" },
    description200: "A page of deliveries, newest event first.",
  },
  redeliver: {
    summary: "Deliver an event again",
    description:
      "Any event that is kept, also one that this webhook never had. It begins anew, with 8 attempts; an attempt that is under way goes on.",
    answer: { status: 202, schema: "Redelivery" },
    description200: "The event is on its way.",
  },
} satisfies Partial<Record<AdminCallId, CallWords>>;
