import { exportData, exportSchema } from "../../http/customer-data.ts";
import { customerExportSchema, exportCustomer } from "../../services/customers.ts";
import { adminCall } from "../admin-call.ts";
import { type CallDocumentation, ID_CURSOR, time } from "../words.ts";
import { exportedSession, sbs } from "./customer-words.ts";

/** The body names the customer, not the path: paths reach logs, and a customer's id may be `..`, which would change the path. */
export default adminCall(
  {
    id: "exportCustomer",
    method: "post",
    path: "/sites/:site_id/customers/export",
    role: "owner",
    scope: "site",
    audit: ["customer.exported"],
    body: customerExportSchema,
    exactField: "sbs",
    response: exportSchema,
  },
  async (c, { site, body }) => exportData(await exportCustomer(c.var.ctx, { site, ...body })),
);

export const documentation = (): CallDocumentation => ({
  summary: "Export everything stored about a customer",
  chinese: "导出一个客户的全部数据",
  description:
    "The customer, their sessions with all that was said, and the events of these sessions that are kept, 50 sessions at a time, the oldest first. The body names the customer, because paths reach logs. 503 while `main` is closed, because the row in the audit log needs a key that is there.",
  body: {
    name: "CustomerExport",
    fields: {
      sbs: sbs(),
      cursor: {
        description: "The `next_cursor` of the page before; leave out for the first page.",
        pattern: ID_CURSOR,
      },
    },
  },
  response: {
    name: "ExportedCustomer",
    fields: {
      customer: {
        properties: {
          sbs: {
            description: "The caller's identifier of the customer, an integer as its digits.",
            examples: ["customer_001"],
          },
          name: { description: "As the latest request gave it.", examples: ["Customer Name"] },
          ip: { description: "The customer's address.", examples: ["127.0.0.1"] },
          created_at: time("The first request."),
          updated_at: time("The latest request."),
        },
      },
      sessions: { description: "The oldest first.", items: { properties: exportedSession() } },
      events: {
        description: "The events of these sessions that are kept, the oldest first.",
        items: {
          properties: {
            id: {
              description: "The `webhook-id` of each attempt.",
              examples: ["evt_0d1c2b3a495867768594a3b2c1d0e0f1"],
            },
            seq: { description: "Counts the site's events.", minimum: 1, examples: [42] },
            type: { description: "What happened.", examples: ["session.created"] },
            chat_id: { description: "The session.", examples: [900220] },
            created_at: time("When."),
            data: {
              description: "As receivers got it; null once it is erased.",
              propertyNames: undefined,
              additionalProperties: undefined,
              examples: [{ seq: 42, chat_id: 900220 }],
            },
          },
        },
      },
      next_cursor: { description: "`cursor` of the next page; null on the last one.", examples: ["900269"] },
    },
  },
  answered: "A page of what is stored.",
});
