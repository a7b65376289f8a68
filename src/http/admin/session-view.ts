import type { SessionRow, StoredSession } from "../../store/home/sessions.ts";

/** A session in a list, as operators see it. */
export function sessionSummary(row: SessionRow) {
  return {
    chat_id: row.id,
    kind: row.kind,
    status: row.status,
    responsible_agent_id: row.responsibleAgentId,
    customer: { sbs: row.customerExternalId, name: row.customerName },
    created_at: row.createdAt,
  };
}

/** Everything stored of one session, as operators see it. */
export function sessionDetail({ session, customer, participants, messages }: StoredSession) {
  return {
    chat_id: session.id,
    kind: session.kind,
    status: session.status,
    responsible_agent_id: session.responsibleAgentId,
    visitor_title: session.visitorTitle,
    agent_title: session.agentTitle,
    auto_title: session.autoTitle,
    metadata: session.metadata,
    created_at: session.createdAt,
    customer: { sbs: customer.externalId, name: customer.name, ip: customer.ip },
    participants: participants.map((each) => ({ agent_id: each.agentId, added_by: each.addedBy })),
    messages: messages.map((each) => ({ sender: each.sender, sender_uid: each.senderUid, content: each.content })),
  };
}
