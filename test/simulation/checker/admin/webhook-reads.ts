import type { Row } from "../../platform/database.ts";
import type { HomeModel } from "../home-model.ts";
import type { Shown } from "./admin-reads.ts";

/** What the reads about webhooks and events must show: docs/operating.md, "Events". */

export const webhookShown = (row: Row) => ({
  id: row.id,
  url: row.url,
  events: JSON.parse(String(row.events)) as string[],
  status: row.status,
  disabled_reason: row.disabled_reason,
  failing_since: row.failing_since,
  previous_expires_at: row.previous_expires_at,
  created_at: row.created_at,
});

/** The webhooks of a site, the oldest first. */
export const webhooksNow = ({ outbox }: HomeModel, siteId: number): object[] =>
  outbox
    .webhooksOf(siteId)
    .sort((a, b) => Number(a.created_at) - Number(b.created_at) || (String(a.id) < String(b.id) ? -1 : 1))
    .map(webhookShown);

/** The deliveries of a webhook, the newest first. */
export function deliveriesNow({ outbox }: HomeModel, webhook: Row, query: URLSearchParams): Shown[] {
  const [status, cursor] = ["status", "cursor"].map((name) => query.get(name));
  return outbox
    .deliveriesOf(webhook)
    .filter((row) => (status == null || row.status === status) && (cursor == null || Number(row.seq) < Number(cursor)))
    .sort((a, b) => Number(b.seq) - Number(a.seq))
    .flatMap((row) => {
      const event = outbox.eventOf(row);
      if (event === undefined) return [];
      const { seq, attempts, last_status, last_error, next_attempt_at } = row;
      const { id: event_id, type, session_id: chat_id } = event;
      const told = { event_id, seq, type, chat_id, status: row.status };
      return [{ key: Number(seq), item: { ...told, attempts, last_status, last_error, next_attempt_at } }];
    });
}

/** The events after a seq, the oldest first. */
export const eventsNow = ({ outbox }: HomeModel, siteId: number, query: URLSearchParams, limit: number): object[] =>
  [...outbox.events.values()]
    .filter(({ site_id, seq }) => site_id === siteId && Number(seq) > Number(query.get("after") ?? 0))
    .sort((a, b) => Number(a.seq) - Number(b.seq))
    .slice(0, limit)
    .map(({ id, seq, type, created_at, data }) => {
      const parsed = data === null ? null : (JSON.parse(String(data)) as object);
      return { id, seq, type, created_at, data: parsed };
    });
