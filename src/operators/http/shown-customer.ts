import type { ExportedCustomer } from "../services/customers.ts";
import type { CustomerErasure } from "../services/erase-customer.ts";
import { SESSION_FIELDS, type SessionField } from "../services/sessions.ts";

/** What both surfaces of operators hand out of a customer, as JSON. */

type StoredCustomer = Pick<ExportedCustomer["customer"], "externalId" | "name" | "ip" | "createdAt" | "updatedAt">;

export const shownCustomer = ({ externalId, name, ip, createdAt, updatedAt }: StoredCustomer) => ({
  sbs: externalId,
  name,
  ip,
  created_at: createdAt,
  updated_at: updatedAt,
});

export const shownSession = ({ participants, messages, ...session }: ExportedCustomer["sessions"][number]) => ({
  ...(Object.fromEntries(SESSION_FIELDS.map(([column, name]) => [name, session[column]])) as Record<
    SessionField,
    unknown
  >),
  metadata: session.metadata ?? {},
  appid: session.appid,
  request_id: session.requestId,
  participants: participants.map((each) => ({
    agent_id: each.agentId,
    added_by: each.addedBy,
    added_at: each.addedAt,
  })),
  messages: messages.map((each) => ({
    sender: each.sender,
    sender_uid: each.senderUid,
    content: each.content,
    created_at: each.createdAt,
  })),
});

export const shownExport = ({ customer, sessions, events, nextCursor }: ExportedCustomer) => ({
  customer: shownCustomer(customer),
  sessions: sessions.map(shownSession),
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
