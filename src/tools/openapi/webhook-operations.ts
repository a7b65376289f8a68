import type { AdminCallId } from "../../operators/admin/calls.ts";
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
    description:
      "With another `url`, what is pending goes there at once. Enabling is 409 while what was pending when the webhook was disabled is still being ended, for minutes at most: wait until `pending` is 0.",
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
      "Gives the webhook a new secret. Until the overlap ends each event has a signature of both. While an overlap runs, another rotation is 409 unless `ends` says which secret ends, or `overlap_seconds` is 0. Give `expected_version`, so that a call repeated after a lost answer rotates once. The body may be left out.",
    body: "WebhookRotation",
    answer: { status: 200, schema: "RotatedWebhook" },
    description200: "The webhook has a new secret, shown here only.",
  },
  endWebhookOverlap: {
    summary: "End the previous secret of a webhook",
    description:
      "From now on, events are signed with the secret in use alone. No new secret is made. When there is no previous secret, nothing changes and the answer is the same. The body may be left out.",
    body: "OverlapEnd",
    answer: { status: 200, schema: "EndedOverlap" },
    description200: "The webhook has one secret.",
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
  redeliverEvents: {
    summary: "Deliver many events again",
    description: [
      "The failed and the pending deliveries, or those that the body asks for; also events that the webhook missed while it was disabled, or before it was there. Each begins anew, with 8 attempts, within seconds, in the order of `seq`; when one that is under way fails, the first of 8 follows. Never pings, erased events, events that are kept no more, and what was told about this very webhook.",
      "One call reads up to 5,000 events. Send the same body again with both `until` and `after_seq`, the `until` and the `next_after_seq` of the answer, until `next_after_seq` is null. The body may be left out.",
    ].join("\n\n"),
    body: "Redelivering",
    answer: { status: 202, schema: "RedeliveredEvents" },
    description200: "The events are on their way.",
    also: { status: 200, description: "What a call without `dry_run` would send again. Nothing was changed." },
  },
  redeliver: {
    summary: "Deliver an event again",
    description:
      "Any event that is kept, also one that this webhook never had. It begins anew, with 8 attempts; when an attempt is under way and fails, the first of 8 follows.",
    answer: { status: 202, schema: "Redelivery" },
    description200: "The event is on its way.",
  },
} satisfies Partial<Record<AdminCallId, CallWords>>;
