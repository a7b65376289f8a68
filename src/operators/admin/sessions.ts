import { pathId } from "../http/path-id.ts";
import { sessionUnknown } from "../services/refusals.ts";
import {
  listSessions,
  readSession,
  SESSION_FIELDS,
  type SessionRow,
  type StoredSession,
  sessionQuerySchema,
} from "../services/sessions.ts";
import { adminCall } from "./call.ts";
import { shownPage } from "./page.ts";

const shownSessionEntry = (row: SessionRow) => ({
  chat_id: row.id,
  kind: row.kind,
  status: row.status,
  responsible_agent_id: row.responsibleAgentId,
  customer: { sbs: row.customerExternalId, name: row.customerName },
  created_at: row.createdAt,
});

/** Everything stored of one session. SESSION_FIELDS names the fields of the session itself. */
const shownSession = ({ session, customer, participants, messages }: StoredSession) => ({
  ...Object.fromEntries(SESSION_FIELDS.map(([column, name]) => [name, session[column]])),
  customer: { sbs: customer.externalId, name: customer.name, ip: customer.ip },
  participants: participants.map((each) => ({ agent_id: each.agentId, added_by: each.addedBy })),
  messages: messages.map((each) => ({ sender: each.sender, sender_uid: each.senderUid, content: each.content })),
});

export const sessionCalls = [
  adminCall(
    {
      id: "listSessions",
      method: "get",
      path: "/sites/:site_id/sessions",
      role: "viewer",
      scope: "site",
      audit: [],
      query: sessionQuerySchema,
    },
    async (c, { site, query }) =>
      c.json(shownPage(await listSessions(c.var.ctx, { site, ...query }), shownSessionEntry)),
  ),

  adminCall(
    {
      id: "readSession",
      method: "get",
      path: "/sites/:site_id/sessions/:chat_id",
      role: "viewer",
      scope: "site",
      audit: [],
    },
    async (c, { site }) => {
      const chatId = pathId(c, "chat_id", sessionUnknown);
      return c.json(shownSession(await readSession(c.var.ctx, { site, chatId })));
    },
  ),
];
