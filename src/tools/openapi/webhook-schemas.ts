import { DELIVERY_STATUSES, FAILURE_CAUSES, PING, WEBHOOK_STATUSES } from "../../core/store/event-schema.ts";
import { redeliveringSchema } from "../../operators/services/events.ts";
import { rotationSchema } from "../../operators/services/rotation.ts";
import { EVENT_TYPES, MOST_COUNTED, newWebhookSchema, webhookChangeSchema } from "../../operators/services/webhooks.ts";
import { listOf, pageSchema, ROTATION_WORDS, TIME, version } from "./admin-schemas.ts";
import { exactly, integer, orNull, string, time } from "./components.ts";
import { eventDataNames } from "./event-webhooks.ts";
import { jsonSchemaOf } from "./json-schema.ts";

const URL_WORDS = {
  description:
    "Where events are posted to: `https`, a public host name, port 443, no user and no password, no IP address, no fragment.",
  format: "uri",
  examples: ["https://hooks.example.com/sessions"],
};
const EVENTS_WORDS = {
  description: "The types of events that it gets. A `ping` always comes when it is asked for.",
  examples: [EVENT_TYPES],
};

const seq = integer("Counts a site's events, from 1.", { minimum: 1, examples: [42] });
const eventId = string("The event's id: the `webhook-id` of each attempt.", {
  examples: ["evt_0d1c2b3a495867768594a3b2c1d0e0f1"],
});
const type = string("What happened.", { enum: [...EVENT_TYPES, PING], examples: ["session.created"] });
const secret = string("The secret that its events are signed with. Shown in this answer and never again.", {
  examples: ["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazRJh9QYjb8="],
});

const COUNTED = { minimum: 0, maximum: MOST_COUNTED, examples: [0] };

const webhook = {
  id: string("The webhook's id.", { examples: ["wh_5f0c1e7a9b3d4c2e8f6a7b1d0c9e3f42"] }),
  url: string("Where events are posted to. A viewer gets the scheme and the host alone: the path may hold a token.", {
    examples: URL_WORDS.examples,
  }),
  events: {
    type: "array",
    description: EVENTS_WORDS.description,
    items: { type: "string", enum: EVENT_TYPES },
    examples: [EVENT_TYPES],
  },
  status: string("A disabled one gets nothing.", { enum: WEBHOOK_STATUSES, examples: ["enabled"] }),
  disabled_reason: orNull(
    string("Why the service disabled it: `gone` after a 410, `failing` after 5 days without a success; else null.", {
      examples: ["gone"],
    }),
  ),
  disabled_at: orNull(time("When it was disabled; null when it is enabled.", TIME)),
  failing_since: orNull(time("The first failure since the last success; null without one.", TIME)),
  last_status: orNull(
    integer("The HTTP status of the last failure since the last success; null without an answer or a failure.", {
      examples: [500],
    }),
  ),
  last_cause: {
    ...orNull(
      string(
        "Why that failed: `no_answer` in time, `no_connection`, or the `status` that was answered; null without a failure.",
      ),
    ),
    enum: [...FAILURE_CAUSES, null],
    examples: ["status"],
  },
  last_failed_at: orNull(time("When that failed; null without a failure, or when it is not known.", TIME)),
  last_error: orNull(
    string(
      "The same with the start of what was answered, as the delivery has it: null once the delivery is gone, was sent again or lost its data.",
      { examples: ["HTTP 500: oops"] },
    ),
  ),
  pending: integer("How many deliveries are pending, up to 10000.", COUNTED),
  failed: integer("How many deliveries failed, up to 10000.", COUNTED),
  oldest_pending_at: orNull(
    time("When the event of the oldest pending delivery happened, among those counted; null without one.", TIME),
  ),
  version,
  previous_expires_at: orNull(time("Until when the previous secret signs too; null when there is none.", TIME)),
  created_at: time("When it was added.", TIME),
};

/** The bodies of the admin API's calls that are about events and webhooks. */
export const webhookSchemas = {
  NewWebhook: jsonSchemaOf(newWebhookSchema, {
    url: URL_WORDS,
    events: {
      ...EVENTS_WORDS,
      description: `${EVENTS_WORDS.description} Left out, it gets all types that there are now.`,
    },
  }),
  WebhookChange: jsonSchemaOf(webhookChangeSchema, {
    url: URL_WORDS,
    events: EVENTS_WORDS,
    status: {
      description: "Disabling it ends what is pending as `failed`. Enabling it sends nothing again: redeliver does.",
      examples: ["disabled"],
    },
  }),
  WebhookRotation: jsonSchemaOf(rotationSchema, ROTATION_WORDS("signs too")),
  Webhook: exactly(webhook),
  AddedWebhook: exactly({ ...webhook, secret }),
  WebhookPage: pageSchema("Webhook"),
  RotatedWebhook: exactly({
    secret,
    version,
    previous_expires_at: orNull(time("Until when the previous secret signs too; null when none does.", TIME)),
  }),
  SentPing: exactly({ event_id: eventId }),
  Redelivery: exactly({ event_id: eventId, seq }),
  Redelivering: jsonSchemaOf(redeliveringSchema, {
    since: {
      description:
        "Only events that happened then or later, in Unix seconds. `missed` needs this or `after_seq`. Not after `until`.",
      examples: [TIME],
    },
    until: {
      description: "Only events that happened then or before, in Unix seconds. Left out, it is now.",
      examples: [TIME + 600],
    },
    after_seq: { description: "Only events with a higher `seq`: the `next_after_seq` of the answer before." },
    status: {
      description:
        "Only deliveries of these statuses, each named once; `missed` are events of a type that the webhook wants, without a delivery to it. Left out, failed and pending ones.",
      examples: [["failed", "missed"]],
    },
    dry_run: { description: "Counts, and changes nothing. Left out, it is false." },
  }),
  RedeliveredEvents: exactly({
    matched: integer("How many fit, among those that this call has read.", { minimum: 0, examples: [12] }),
    queued: integer("How many are on their way now: all that fit, or 0 with `dry_run`.", {
      minimum: 0,
      examples: [12],
    }),
    until: time("The `until` for the next call.", TIME + 600),
    next_after_seq: orNull(
      integer("The `after_seq` for the next call; null when all was read.", { minimum: 0, examples: [5042] }),
    ),
  }),
  Delivery: exactly({
    event_id: orNull(eventId),
    seq,
    type: { ...orNull(type), enum: [...EVENT_TYPES, PING, null] },
    chat_id: orNull(
      integer(
        "The session that it is about; null for a ping and for an event about a webhook. Null, as are `event_id` and `type`, once the event is kept no more.",
        {
          examples: [900220],
        },
      ),
    ),
    status: string(
      "`pending` until it is `delivered`, or `failed` after 8 attempts or because the webhook was disabled; `skipped` when its data was erased before.",
      { enum: DELIVERY_STATUSES, examples: ["delivered"] },
    ),
    attempts: integer("How many attempts were begun.", { minimum: 0, examples: [1] }),
    last_status: orNull(integer("The HTTP status of the last answer; null without one.", { examples: [200] })),
    last_error: orNull(
      string(
        "Why the last attempt failed, with the start of what was answered; null when it did not, and after it was sent again.",
        {
          examples: ["HTTP 500: oops"],
        },
      ),
    ),
    next_attempt_at: orNull(time("When it is tried next; null unless it is pending.", TIME)),
    created_at: time("When the event happened.", TIME),
    last_attempt_at: orNull(time("When the last attempt began; null before the first.", TIME)),
    duration_ms: orNull(
      integer("How long the last attempt took, in milliseconds; null while it is under way.", {
        minimum: 0,
        examples: [212],
      }),
    ),
  }),
  DeliveryPage: pageSchema("Delivery"),
  Event: exactly({
    id: eventId,
    seq,
    type,
    created_at: time("When it happened.", TIME),
    data: {
      description: "What webhooks get as `data`; null once it was erased.",
      anyOf: [...eventDataNames.map((name) => ({ $ref: `#/components/schemas/${name}` })), { type: "null" }],
    },
  }),
  EventList: exactly({ items: listOf("At most `limit` of them.", "Event") }),
};
