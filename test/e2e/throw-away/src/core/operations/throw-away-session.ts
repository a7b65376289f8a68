import { sql } from "drizzle-orm";
import * as z from "zod/mini";
import { defineOperation } from "../../../../../../src/core/operations/define-operation.ts";
import type { Documentation } from "../../../../../../src/core/operations/operation.ts";
import {
  chatIdField,
  isSession,
  onSession,
  SESSION_NOT_FOUND,
  sessionNotFound,
} from "../../../../../../src/core/operations/session-rules.ts";
import type { RuleName } from "../../../../../../src/core/rules.ts";
import { updateAccepted } from "../../../../../../src/core/store/claim.ts";
import { sessions } from "../../../../../../src/core/store/schema.ts";

/** The rule that the recipe adds to core/rules.ts. */
const NOT_BINNED = "not_binned" as RuleName;

/** Throws a session away. This operation only tries the recipe, in a copy of the tree. */
export default defineOperation({
  name: "throw_away_session",
  wireName: "throw_away_gd",

  fields: z.object({ chat_id: chatIdField }),
  read: (fields) => ({ sessionId: fields.chat_id }),
  bind: (input) => ({ chatId: input.sessionId }),

  ...onSession,

  refusals: {
    session_not_found: sessionNotFound,
    binned_before: {
      when: (v) => sql`EXISTS (SELECT 1 FROM ${sessions} WHERE ${isSession(v)} AND ${sessions.status} = 'binned')`,
      code: "state_forbids",
      violation: () => ({ field: "chat_id", rule: NOT_BINNED }),
      past: "The session was thrown away before.",
    },
  },

  writes: [(v) => updateAccepted(v, sessions, { status: sql`'binned'` }, isSession(v))],

  event: {
    type: "session.thrown_away",
    data: () => ({ chat_id: sessions.id, status: sessions.status }),
    join: (v) => sql`CROSS JOIN ${sessions} ON ${isSession(v)}`,
  },

  answer: () => "",
});

export const documentation: Documentation = {
  summary: "Throw a session away",
  description: "Throws a session of this app's site away. An extension of this service; the contract does not have it.",
  fields: { chat_id: { description: "The session, as `create_gd` answered it.", examples: [900220] } },
  examples: {
    one: {
      summary: "One session",
      fields: { chat_id: 900220 },
      fingerprint: "ad631d0aec5810e8a6df791d02f0c7154cb9dc277d154ab20a9c262e2618e0d3",
    },
  },
  answer: { schema: { type: "string", description: "Always empty.", const: "" }, example: "" },
  event: {
    summary: "A session was thrown away",
    description: "Names the session.",
    properties: {
      chat_id: { type: "integer", description: "The session.", minimum: 1, examples: [900220] },
      status: { type: "string", description: "Its status from now on.", const: "binned" },
    },
    example: { chat_id: 900220, status: "binned" },
  },
  statuses: { waiting: "accepted", replied: "accepted", binned: "binned_before" } as NonNullable<
    Documentation["statuses"]
  >,
  refusals: {
    session_not_found: SESSION_NOT_FOUND,
    binned_before: { cause: "The session is thrown away already.", cure: "Nothing to repeat." },
  },
};
