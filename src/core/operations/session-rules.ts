import { sql } from "drizzle-orm";
import * as z from "zod/mini";
import { rule } from "../fields.ts";
import { nonces, sessions } from "../store/schema.ts";
import type { Placeholders } from "../store/statement.ts";
import type { Definition, RefusalRule } from "./operation.ts";

/** Shared by all operations on one session. Such an operation has the field `chat_id` and binds it as `chatId`. */

export const chatIdField = z.int(rule("integer"));

/** Condition for the session's row. */
export const isSession = (v: Placeholders<{ siteId: number; chatId: number }>) =>
  sql`${sessions.siteId} = ${v.siteId} AND ${sessions.id} = ${v.chatId}`;

/** The parts of a definition that say which session the request is about. */
export const onSession: Pick<Definition<never, never, { chatId: number }>, "sessionId" | "mayBeItself"> = {
  sessionId: (v) => sql`${v.chatId}`,
  mayBeItself: (v) => sql`${nonces.sessionId} = ${v.chatId}`,
};

/** Put it first among the refusals, under the name `session_not_found`. */
export const sessionNotFound: RefusalRule<{ chatId: number }> = {
  when: (v) => sql`NOT EXISTS (SELECT 1 FROM ${sessions} WHERE ${isSession(v)})`,
  code: "session_not_found",
  violation: () => ({ field: "chat_id", rule: "session_known" }),
  past: "The site had no such session.",
};

/** The documentation of {@link sessionNotFound}. */
export const SESSION_NOT_FOUND = {
  cause: "No session of this app's site has this `chat_id`. Another site's session is not found either.",
  cure: "Use the `chat_id` that `create_gd` gave to an app of the same site.",
};
