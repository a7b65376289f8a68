import type { ExportedCustomer } from "../../services/customers.ts";
import type { Receipt } from "../../services/erase-customer.ts";
import { SESSION_FIELDS } from "../../services/sessions.ts";

/** What is stored of a customer, as the admin API answers it and as the console's file has it. */
export const shownCustomer = ({ customer, sessions, events, nextCursor }: ExportedCustomer) => ({
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

/** A receipt that the operator keeps, as settling a restored home takes it. */
export const shownReceipt = ({ erasureId, siteId, hash, until, chatIds }: Receipt) => ({
  erasure_id: erasureId,
  site_id: siteId,
  hash,
  highest_chat_id: until,
  chat_ids: chatIds,
});
