import * as z from "zod/mini";
import { listSessions, SESSION_PROPERTIES, SESSION_STATUSES, sessionQuerySchema } from "../../services/sessions.ts";
import { adminCall } from "../admin-call.ts";
import { pageSchema } from "../page.ts";
import { type CallDocumentation, ID_CURSOR, page, pageQuery, time } from "../words.ts";

const summarySchema = z.object({
  chat_id: z.int(),
  kind: z.enum(["ticket", "chat"]),
  status: z.enum(SESSION_STATUSES),
  responsible_agent_id: z.nullable(z.int()),
  customer: z.object({ sbs: z.string(), name: z.string() }),
  created_at: z.int(),
});

export default adminCall(
  {
    id: "listSessions",
    method: "get",
    path: "/sites/:site_id/sessions",
    role: "viewer",
    scope: "site",
    audit: [],
    query: sessionQuerySchema,
    response: pageSchema(summarySchema),
  },
  async (c, { site, query }) => {
    const { items, nextCursor } = await listSessions(c.var.ctx, { site, ...query });
    const summary = (row: (typeof items)[number]) => ({
      ...row,
      chatId: row.id,
      customer: { sbs: row.customerExternalId, name: row.customerName },
    });
    return { items: items.map(summary), nextCursor };
  },
);

export const documentation = (): CallDocumentation => {
  const { chat_id, kind, status, responsible_agent_id, customer } = SESSION_PROPERTIES;
  const { sbs, name } = customer.properties;
  return {
    summary: "List a site's sessions",
    chinese: "列出站点的会话",
    query: {
      ...pageQuery(ID_CURSOR),
      status: { description: "Only sessions of this status." },
      sbs: {
        description: "Only sessions of this customer. In a query a plus is written `%2B`: `?sbs=%2B4915112345678`.",
      },
    },
    response: page("SessionPage"),
    parts: [
      {
        name: "SessionSummary",
        schema: summarySchema,
        fields: {
          chat_id,
          kind,
          status,
          responsible_agent_id,
          customer: { properties: { sbs, name } },
          created_at: time("When it was created."),
        },
      },
    ],
    answered: "A page of sessions, newest first.",
  };
};
