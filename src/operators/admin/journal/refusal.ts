import * as z from "zod/mini";
import { OPERATIONS, REFUSAL_REASONS, type Refusal, wireNameOf } from "../../services/journal.ts";
import { type JsonSchema, REQUEST_ID_EXAMPLE, type SchemaWords, time } from "../words.ts";

export const refusalSchema = z.object({
  request_id: z.string(),
  at: z.int(),
  appid: z.string(),
  operation: z.string(),
  status: z.int(),
  reason: z.string(),
  detail: z.nullable(z.string()),
  secret: z.nullable(z.string()),
  client: z.nullable(z.string()),
  skipped: z.int(),
  drill: z.nullable(z.string()),
});

/** A stored call, with the operation's name on the wire instead of its stored name. */
export const withWireName = <Call extends Pick<Refusal, "operation">>(call: Call) => ({
  ...call,
  operation: wireNameOf(call.operation),
});

export const caller = (): JsonSchema => ({
  description: "The app that called.",
  examples: ["42d7c13c16e7ed0479f2418eb8894310"],
});

export const operation = (): JsonSchema => ({
  description: "The call.",
  enum: OPERATIONS.map(({ wireName }) => wireName),
  examples: ["create_gd"],
});

export const refusal = (): SchemaWords => ({
  request_id: {
    description: "The `x-request-id` of the call's answer. Ids sort by time.",
    examples: [REQUEST_ID_EXAMPLE],
  },
  at: time("When the call came."),
  appid: caller(),
  operation: operation(),
  status: { description: "The HTTP status of the answer.", minimum: 200, maximum: 599, examples: [400] },
  reason: {
    description: "Why it was refused, in one word; docs/operating/watching.md has the list.",
    enum: REFUSAL_REASONS,
    examples: ["fields_invalid"],
  },
  detail: {
    description:
      "Which field broke which rule, in English. An item is named by its position: never a text of the caller.",
    maxLength: 500,
    examples: ["fzr_uid: must be one of kefu_id"],
  },
  secret: {
    description: "The version of the secret that verified the signature; null when none did.",
    examples: ["9f2c4e6a8b0d1f3e5a7c9b1d3f5e7a90"],
  },
  client: {
    description: "The network that the call came from: /24 of IPv4, /48 of IPv6.",
    examples: ["192.0.2.0/24"],
  },
  skipped: {
    description: "How many earlier calls of this app, operation and reason were left out of the list.",
    minimum: 0,
    examples: [0],
  },
  drill: { description: "What the caller drilled by `x-drill`; null for any other call.", examples: ["busy"] },
});
