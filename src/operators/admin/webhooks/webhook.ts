import * as z from "zod/mini";
import { EVENT_TYPES, FAILURE_CAUSES, MOST_COUNTED, WEBHOOK_STATUSES } from "../../services/webhooks.ts";
import type { AdminContext } from "../env.ts";
import { version } from "../rotation.ts";
import { type JsonSchema, type NamedSchema, time } from "../words.ts";

/** The webhook's id in the path. The webhook may not exist. */
export const webhookIdOf = (c: AdminContext): string => c.req.param("webhook_id") ?? "";

export const webhookSchema = z.object({
  id: z.string(),
  url: z.string(),
  events: z.array(z.enum(EVENT_TYPES)),
  status: z.enum(WEBHOOK_STATUSES),
  disabled_reason: z.nullable(z.string()),
  disabled_at: z.nullable(z.int()),
  failing_since: z.nullable(z.int()),
  last_status: z.nullable(z.int()),
  last_cause: z.nullable(z.enum(FAILURE_CAUSES)),
  last_failed_at: z.nullable(z.int()),
  last_error: z.nullable(z.string()),
  pending: z.int(),
  failed: z.int(),
  oldest_pending_at: z.nullable(z.int()),
  version: z.string(),
  previous_expires_at: z.nullable(z.int()),
  created_at: z.int(),
});

export const newUrl = (): JsonSchema => ({
  description:
    "Where events are posted to: `https`, a public host name, port 443, no user and no password, no IP address, no fragment.",
  format: "uri",
  examples: ["https://hooks.example.com/sessions"],
});

/** @param more a sentence about a body without types */
export const eventTypes = (more = ""): JsonSchema => ({
  description: `The types of events that it gets. A \`ping\` always comes when it is asked for.${more}`,
  examples: [EVENT_TYPES],
});

export const webhookSecret = (): JsonSchema => ({
  description: "The secret that its events are signed with. Shown in this answer and never again.",
  examples: ["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazRJh9QYjb8="],
});

const countSchema = (which: string): JsonSchema => ({
  description: `How many deliveries ${which}, up to ${MOST_COUNTED}.`,
  minimum: 0,
  maximum: MOST_COUNTED,
  examples: [0],
});

export const webhook = () =>
  ({
    name: "Webhook",
    schema: webhookSchema,
    fields: {
      id: { description: "The webhook's id.", examples: ["wh_5f0c1e7a9b3d4c2e8f6a7b1d0c9e3f42"] },
      url: {
        description:
          "Where events are posted to. A viewer gets the scheme and the host alone: the path may hold a token.",
        examples: ["https://hooks.example.com/sessions"],
      },
      events: eventTypes(),
      status: { description: "A disabled one gets nothing.", examples: ["enabled"] },
      disabled_reason: {
        description:
          "Why the service disabled it: `gone` after a 410, `failing` after 5 days without a success; else null.",
        examples: ["gone"],
      },
      disabled_at: time("When it was disabled; null when it is enabled."),
      failing_since: time("The first failure since the last success; null without one."),
      last_status: {
        description: "The HTTP status of the last failure since the last success; null without an answer or a failure.",
        examples: [500],
      },
      last_cause: {
        description:
          "Why that failed: `no_answer` in time, `no_connection`, or the `status` that was answered; null without a failure.",
        examples: ["status"],
      },
      last_failed_at: time("When that failed; null without a failure, or when it is not known."),
      last_error: {
        description:
          "The same with the start of what was answered, as the delivery has it: null once the delivery is gone, was sent again or lost its data.",
        examples: ["HTTP 500: oops"],
      },
      pending: countSchema("are pending"),
      failed: countSchema("failed"),
      oldest_pending_at: time(
        "When the event of the oldest pending delivery happened, among those counted; null without one.",
      ),
      version: version(),
      previous_expires_at: time("Until when the previous secret signs too; null when there is none."),
      created_at: time("When it was added."),
    },
  }) satisfies NamedSchema;
