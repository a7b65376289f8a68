import {
  customerErasureSchema,
  customerExportSchema,
  type ExportedCustomer,
  exportCustomer,
} from "../../services/customers.ts";
import { type CustomerErasure, eraseCustomer, type Recipient } from "../../services/erase-customer.ts";
import { SESSION_FIELDS } from "../../services/sessions.ts";
import { adminCall } from "./call.ts";

const shownExport = ({ customer, sessions, events, nextCursor }: ExportedCustomer) => ({
  customer: {
    sbs: customer.externalId,
    name: customer.name,
    ip: customer.ip,
    created_at: customer.createdAt,
    updated_at: customer.updatedAt,
  },
  sessions: sessions.map((session) => ({
    ...Object.fromEntries(SESSION_FIELDS.map(([column, name]) => [name, session[column]])),
    metadata: session.metadata ?? {},
    appid: session.appid,
    request_id: session.requestId,
    participants: session.participants.map((each) => ({
      agent_id: each.agentId,
      added_by: each.addedBy,
      added_at: each.addedAt,
    })),
    messages: session.messages.map((each) => ({
      sender: each.sender,
      sender_uid: each.senderUid,
      content: each.content,
      created_at: each.createdAt,
    })),
  })),
  events: events.map((event) => ({
    id: event.id,
    seq: event.seq,
    type: event.type,
    chat_id: event.sessionId,
    created_at: event.createdAt,
    data: event.data,
  })),
  next_cursor: nextCursor,
});

const shownRecipient = ({ id, url, delivered, inFlight, told }: Recipient) => ({
  id,
  url,
  delivered,
  in_flight: inFlight,
  told,
});

const shownErasure = ({
  id,
  erased,
  remaining,
  recipients,
  timeTravelUntil,
  keysUntil,
  receipts,
}: CustomerErasure) => ({
  erasure_id: id,
  erased,
  remaining,
  webhooks: recipients.map(shownRecipient),
  time_travel_until: timeTravelUntil,
  idempotency_keys_until: keysUntil,
  ...(receipts && {
    receipts: receipts.map((part) => ({
      erasure_id: part.erasureId,
      site_id: part.siteId,
      hash: part.hash,
      highest_chat_id: part.until,
      chat_ids: part.chatIds,
    })),
  }),
});

/** The customer is named in the body and never in the path: paths reach logs, and `..` would change one. */
export const customerCalls = [
  adminCall(
    {
      id: "exportCustomer",
      method: "post",
      path: "/sites/:site_id/customers/export",
      role: "owner",
      scope: "site",
      audit: ["customer.exported"],
      body: customerExportSchema,
      digitsOf: "sbs",
    },
    async (c, { site, body }) => c.json(shownExport(await exportCustomer(c.var.ctx, { site, ...body }))),
  ),

  adminCall(
    {
      id: "eraseCustomer",
      method: "post",
      path: "/sites/:site_id/customers/erase",
      role: "owner",
      scope: "site",
      audit: ["customer.erasure_begun", "customer.erased"],
      body: customerErasureSchema,
      digitsOf: "sbs",
    },
    async (c, { site, body }) => c.json(shownErasure(await eraseCustomer(c.var.ctx, { site, ...body }))),
  ),
];
