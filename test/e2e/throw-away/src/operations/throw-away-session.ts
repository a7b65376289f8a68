import { sql } from "drizzle-orm";
import * as z from "zod/mini";
import { rule } from "../../../../../src/fields.ts";
import { type Documentation, defineOperation } from "../../../../../src/operations/operation.ts";
import { updateAccepted } from "../../../../../src/store/home/claim.ts";
import { nonces, sessions } from "../../../../../src/store/schema.ts";
import type { Placeholders } from "../../../../../src/store/statement.ts";

type Values = Placeholders<{ siteId: number; chatId: number }>;

const session = (v: Values) => sql`${sessions.siteId} = ${v.siteId} AND ${sessions.id} = ${v.chatId}`;

/** Throws a session away. Nobody will build it: it tries the recipe for an operation, in a copy of the tree. */
export default defineOperation({
  name: "throw_away_session",
  wireName: "throw_away_gd",

  fields: z.object({ chat_id: z.int(rule("must be an integer")) }),
  read: (fields) => ({ sessionId: fields.chat_id }),
  bind: (input) => ({ chatId: input.sessionId }),

  sessionId: (v) => sql`${v.chatId}`,
  mayBeItself: (v) => sql`${nonces.sessionId} = ${v.chatId}`,

  refusals: {
    session_not_found: {
      when: (v) => sql`NOT EXISTS (SELECT 1 FROM ${sessions} WHERE ${session(v)})`,
      code: "session_not_found",
      detail: () => "chat_id: no such session on this site",
      past: "The site had no such session.",
    },
    binned_before: {
      when: (v) => sql`EXISTS (SELECT 1 FROM ${sessions} WHERE ${session(v)} AND ${sessions.status} = 'binned')`,
      code: "state_forbids",
      detail: () => "chat_id: the session was thrown away before",
      past: "The session was thrown away before.",
    },
  },

  writes: [(v) => updateAccepted(v, sessions, { status: sql`'binned'` }, session(v))],

  event: {
    type: "session.thrown_away",
    data: () => ({ chat_id: sessions.id, status: sessions.status }),
    join: (v) => sql`CROSS JOIN ${sessions} ON ${session(v)}`,
  },

  answer: () => "",
});

export const documentation: Documentation = {
  summary: "Throw a session away",
  description: "Throws a session of this app's site away.",
  fields: { chat_id: { description: "The session, as `create_gd` answered it.", examples: [900220] } },
  examples: { one: { summary: "One session", fields: { chat_id: 900220 } } },
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
  refusals: {
    session_not_found: {
      cause: "No session of this app's site has this `chat_id`.",
      cure: "Use the `chat_id` that `create_gd` answered to an app of the same site.",
    },
    binned_before: { cause: "The session was thrown away before.", cure: "Nothing to repeat." },
  },
};
