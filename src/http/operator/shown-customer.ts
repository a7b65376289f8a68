import type { ExportedCustomer } from "../../services/customers.ts";
import type { CustomerErasure } from "../../services/erase-customer.ts";
import { SESSION_FIELDS } from "../../services/sessions.ts";

/** What both surfaces of operators hand out of a customer, as JSON. */

export const shownExport = ({ customer, sessions, events, nextCursor }: ExportedCustomer) => ({
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

/** A receipt that the operator keeps. Settling a restored home takes it back as it is. */
export const shownReceipt = ({
  erasureId,
  siteId,
  hash,
  until,
  chatIds,
}: NonNullable<CustomerErasure["receipts"]>[number]) => ({
  erasure_id: erasureId,
  site_id: siteId,
  hash,
  highest_chat_id: until,
  chat_ids: chatIds,
});
