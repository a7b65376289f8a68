import { OPERATIONS } from "../../core/operations/index.ts";
import { REFUSAL_REASONS } from "../../core/signed/refusal-reasons.ts";
import { pageSchema, TIME } from "./admin-schemas.ts";
import { exactly, integer, orNull, string, time } from "./components.ts";

const requestId = string("The `x-request-id` of the call's answer. Ids sort by time.", {
  examples: ["019a0b1c-2d3e-7f40-8a51-6b7c8d9e0f12"],
});
const appid = string("The app that called.", { examples: ["42d7c13c16e7ed0479f2418eb8894310"] });
const operation = string("The call.", { enum: OPERATIONS.map(({ wireName }) => wireName), examples: ["create_gd"] });

const refusal = {
  request_id: requestId,
  at: time("When the call came.", TIME),
  appid,
  operation,
  status: integer("The HTTP status of the answer.", { minimum: 200, maximum: 599, examples: [400] }),
  reason: string("Why it was refused, in one word; docs/operating.md has the list.", {
    enum: REFUSAL_REASONS,
    examples: ["fields_invalid"],
  }),
  detail: orNull(
    string("Which field broke which rule, in English. An item is named by its position: never a text of the caller.", {
      maxLength: 500,
      examples: ["fzr_uid: must be one of kefu_id"],
    }),
  ),
  secret: orNull(
    string("The version of the secret that verified the signature; null when none did.", {
      examples: ["9f2c4e6a8b0d1f3e5a7c9b1d3f5e7a90"],
    }),
  ),
  client: orNull(
    string("The network that the call came from: /24 of IPv4, /48 of IPv6.", { examples: ["192.0.2.0/24"] }),
  ),
  skipped: integer("How many earlier calls of this app, operation and reason were left out of the list.", {
    minimum: 0,
    examples: [0],
  }),
};

/** The answers about refused calls. */
export const journalSchemas = {
  Refusal: exactly(refusal),
  RefusalPage: pageSchema("Refusal"),
  RefusalOfSite: exactly({ site_id: integer("The site's id.", { minimum: 1, examples: [1] }), ...refusal }),
  AcceptedCall: exactly({
    outcome: string(
      "`repeated`: an earlier call under the same Idempotency-Key was accepted, and its answer was given again.",
      {
        enum: ["ok", "repeated"],
        examples: ["ok"],
      },
    ),
    chat_id: integer("The session that it opened or changed.", { minimum: 1, examples: [900220] }),
    at: time("When the call came.", TIME),
    appid,
    operation,
  }),
  RefusedCall: {
    ...exactly(refusal),
    properties: {
      ...refusal,
      chat_id: integer(
        "There only when the call was done although it was refused: the session of a call whose answer was 503.",
        {
          minimum: 1,
          examples: [900220],
        },
      ),
    },
  },
  FoundCall: { oneOf: [{ $ref: "#/components/schemas/RefusedCall" }, { $ref: "#/components/schemas/AcceptedCall" }] },
};
