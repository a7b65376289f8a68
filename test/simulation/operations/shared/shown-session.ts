import type { Row } from "../../platform/database.ts";

/**
 * A session as the admin API shows it, and as its event contains it: SessionDetail of openapi.json.
 *
 * @param columns the columns that are shown under their own names
 */
export function shownSession(
  row: Row,
  customer: Row,
  participants: Row[],
  messages: Row[],
  columns: readonly string[],
): object {
  const { id: chat_id, kind, status, responsible_agent_id, created_at, auto_title, metadata } = row;
  const { name, ip } = customer;
  const joined = participants.toSorted((a, b) => Number(a.agent_id) - Number(b.agent_id));
  return {
    chat_id,
    kind,
    status,
    responsible_agent_id,
    created_at,
    ...Object.fromEntries(columns.map((column) => [column, row[column]])),
    auto_title,
    metadata: metadata == null ? {} : (JSON.parse(String(metadata)) as object),
    customer: { sbs: row.customer_external_id, name, ip },
    participants: joined.map(({ agent_id, added_by }) => ({ agent_id, added_by })),
    messages: messages.map(({ sender, sender_uid, content }) => ({ sender, sender_uid, content })),
  };
}
