import * as z from "zod/mini";
import { pathId } from "../../http/path-id.ts";
import { sessionFields, sessionShape } from "../../http/session-data.ts";
import { sessionUnknown } from "../../services/refusals.ts";
import { readSession, SESSION_PROPERTIES } from "../../services/sessions.ts";
import { adminCall } from "../admin-call.ts";
import type { CallDocumentation } from "../words.ts";

const participantSchema = z.object({ agent_id: z.int(), added_by: z.int() });

const messageSchema = z.object({
  sender: z.enum(["visitor", "agent"]),
  sender_uid: z.nullable(z.int()),
  content: z.string(),
});

export default adminCall(
  {
    id: "readSession",
    method: "get",
    path: "/sites/:site_id/sessions/:chat_id",
    role: "viewer",
    scope: "site",
    audit: [],
    response: z.object({
      ...sessionShape,
      customer: z.object({ sbs: z.string(), name: z.string(), ip: z.string() }),
      participants: z.array(participantSchema),
      messages: z.array(messageSchema),
    }),
  },
  async (c, { site }) => {
    const chatId = pathId(c, "chat_id", sessionUnknown);
    const { session, customer, ...rest } = await readSession(c.var.ctx, { site, chatId });
    return { ...sessionFields(session), customer: { ...customer, sbs: customer.externalId }, ...rest };
  },
);

export const documentation = (): CallDocumentation => ({
  summary: "Read everything stored about a session",
  chinese: "读取会话的全部内容",
  response: { name: "Session", fields: SESSION_PROPERTIES },
  parts: [
    {
      name: "Participant",
      schema: participantSchema,
      fields: {
        agent_id: { description: "The agent's id, as the operator gave it.", minimum: 1, examples: [10411] },
        added_by: { description: "The responsible agent at the time.", minimum: 1 },
      },
    },
    {
      name: "Message",
      schema: messageSchema,
      fields: {
        sender: { description: "The side it is from." },
        sender_uid: { description: "The agent's id; 0 when the system wrote it; null for the visitor." },
        content: { description: "The text, as it was sent." },
      },
    },
  ],
  answered: "The session.",
});
