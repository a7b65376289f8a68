import { DOCUMENTED } from "../../core/operations/index.ts";
import type { Documentation } from "../../core/operations/operation.ts";
import {
  OWN_EVENT_TYPES,
  type OwnEventType,
  PING,
  SESSION_ERASED,
  WEBHOOK_DISABLED,
  WEBHOOK_FAILING,
} from "../../core/store/event-schema.ts";
import { eventName } from "../../operators/admin/events/event.ts";
import { integer, orNull, strictObject, string } from "./components.ts";
import type { JsonSchema } from "./json-schema.ts";

/** The events that the service posts to webhooks. Most belong to operations: each accepted call writes an event. */

const AT = "2026-06-17T07:59:04.000Z";
const APPID = "42d7c13c16e7ed0479f2418eb8894310";
const SEQ = integer(
  "Counts a site's events, from 1: attempts may arrive in another order. 0 in the pings of a drill, which are stored nowhere.",
  {
    minimum: 0,
    examples: [42],
  },
);

type Words = Documentation["event"];
type Event = Words & { type: string };

const WEBHOOK_ID = string("The webhook.", { examples: ["wh_5f0c1e7a9b3d4c2e8f6a7b1d0c9e3f42"] });

const aboutWebhook = (
  summary: string,
  description: string,
  [reason, lastStatus]: [string, number | null],
  reasons: string[],
): Words => ({
  summary,
  description,
  properties: {
    webhook_id: WEBHOOK_ID,
    reason: string("Why: `gone` after a 410, or `failing`.", { enum: reasons, examples: [reason] }),
    failing_since: orNull(
      integer("The time of the first failure since the last success, in Unix seconds.", { examples: [1_781_683_145] }),
    ),
    last_status: orNull(integer("The HTTP status of the last failure; null without an answer.", { examples: [503] })),
  },
  example: {
    webhook_id: "wh_5f0c1e7a9b3d4c2e8f6a7b1d0c9e3f42",
    reason,
    failing_since: 1_781_683_145,
    last_status: lastStatus,
  },
});

/** The words of the events that no signed call leaves. `npm run tables` writes them into docs/receiving.md. */
const OWN_EVENT_WORDS: Record<OwnEventType | typeof PING, Words> = {
  [SESSION_ERASED]: {
    summary: "A customer's sessions were erased",
    description: "An operator erased a customer with these sessions and all that belongs to them: do the same.",
    properties: {
      chat_ids: {
        type: "array",
        description: "The sessions, up to 250 in one event.",
        items: { type: "integer" },
        examples: [[900220]],
      },
    },
    example: { chat_ids: [900220, 900221] },
  },
  [WEBHOOK_DISABLED]: aboutWebhook(
    "The service disabled another webhook of the site",
    "Its receiver answered 410, or nothing succeeded for 5 days and it is behind. It gets no more events until an operator enables it.",
    ["gone", 410],
    ["gone", "failing"],
  ),
  [WEBHOOK_FAILING]: aboutWebhook(
    "Another webhook of the site fails",
    "Comes once for each outage, 5 minutes after the first failure.",
    ["failing", 503],
    ["failing"],
  ),
  [PING]: {
    summary: "An operator tries a webhook",
    description: "Comes to one webhook only, and only when it is asked for, whatever types the webhook gets.",
    properties: { webhook_id: WEBHOOK_ID },
    example: { webhook_id: "wh_5f0c1e7a9b3d4c2e8f6a7b1d0c9e3f42" },
  },
};

const EVENTS: Event[] = [
  ...DOCUMENTED.map(({ operation, documentation: { event } }) => ({
    ...event,
    type: operation.eventType,
    properties: { appid: string("The app whose call it was.", { examples: [APPID] }), ...event.properties },
    example: { appid: APPID, ...event.example },
  })),
  ...([...OWN_EVENT_TYPES, PING] as const).map((type) => ({ ...OWN_EVENT_WORDS[type], type })),
];

const nameOf = ({ type }: Event) => eventName(type);

export const eventSchemas: Record<string, JsonSchema> = Object.fromEntries(
  EVENTS.flatMap((event) => [
    [`${nameOf(event)}Data`, strictObject({ seq: SEQ, ...event.properties })],
    [
      `${nameOf(event)}Event`,
      strictObject({
        type: string("What happened.", { const: event.type }),
        timestamp: string("When it happened, ISO 8601 in UTC.", { format: "date-time", examples: [AT] }),
        data: { $ref: `#/components/schemas/${nameOf(event)}Data` },
      }),
    ],
  ]),
);

const headerParameter = (name: string, description: string, example: string, more: JsonSchema = {}) => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string", ...more },
  example,
});

const HEADERS = [
  headerParameter(
    "webhook-id",
    "The event's id, the same at each attempt: know by it what you have had already.",
    "evt_0d1c2b3a495867768594a3b2c1d0e0f1",
    { pattern: "^evt_[0-9a-f]{32}$" },
  ),
  headerParameter(
    "webhook-timestamp",
    "When this attempt was made, in Unix seconds. Refuse what is more than 5 minutes off.",
    "1781683145",
    { pattern: "^[0-9]{1,12}$" },
  ),
  headerParameter(
    "webhook-signature",
    "`v1,` and the base64 of HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<body>`, keyed with the bytes that the secret holds in base64 after `whsec_`. While the previous secret is valid there are two, separated by a space: accept when one matches.",
    "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    { pattern: "^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)?$" },
  ),
];

const RESPONSES = {
  "2XX": { description: "Taken. Answer within 15 s; of the body at most 4 KB or one second is read." },
  410: { description: "No longer wanted: the webhook is disabled." },
  "4XX": { description: "Not taken: it is tried again, as after 3XX, which is not followed, and 5XX." },
  default: {
    description:
      "Not taken: it is tried again after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 12 h, or after `Retry-After` when that is longer, at most 12 h.",
  },
};

/** The section `webhooks` of openapi.json. */
export const eventWebhooks = Object.fromEntries(
  EVENTS.map((event) => [
    event.type,
    {
      post: {
        tags: ["Events"],
        security: [],
        operationId: `on${nameOf(event)}`,
        summary: event.summary,
        description: event.description,
        parameters: HEADERS,
        requestBody: {
          required: true,
          description: "The same bytes at each attempt.",
          content: {
            "application/json": {
              schema: { $ref: `#/components/schemas/${nameOf(event)}Event` },
              example: { type: event.type, timestamp: AT, data: { seq: 42, ...event.example } },
            },
          },
        },
        responses: RESPONSES,
      },
    },
  ]),
);
