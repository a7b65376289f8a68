import type { Row } from "../../platform/database.ts";
import { FIRST_IN_LINE } from "../deliveries/leases.ts";
import type { OutboxModel } from "../events/outbox-model.ts";
import type { HomeModel } from "../home-model.ts";
import type { Shown } from "./admin-reads.ts";

/** What the reads about webhooks and events must show: docs/operating.md, "Events". */

export const webhookShown = (outbox: OutboxModel, row: Row, isViewer = false) => ({
  id: row.id,
  // The path may hold a token.
  url: isViewer ? (URL.parse(String(row.url))?.origin ?? "") : row.url,
  events: JSON.parse(String(row.events)) as string[],
  status: row.status,
  disabled_reason: row.disabled_reason,
  disabled_at: row.disabled_at,
  failing_since: row.failing_since,
  version: row.version,
  last_status: row.last_status,
  last_cause: row.last_cause,
  last_failed_at: row.last_failed_at,
  last_error: wordsOf(outbox, row),
  previous_expires_at: row.previous_expires_at,
  created_at: row.created_at,
});

/** What the receiver said when the webhook failed last, as that delivery has it. */
function wordsOf({ deliveries }: OutboxModel, { site_id, id, last_seq, last_status }: Row) {
  const delivery = deliveries.get(`${site_id}/${id}/${last_seq}`);
  return delivery?.last_status === last_status ? (delivery?.last_error ?? null) : null;
}

/** How many deliveries of a webhook are pending and have failed, and the time of the oldest pending one. */
function numbersOf(outbox: OutboxModel, webhook: Row) {
  const all = outbox.deliveriesOf(webhook);
  const pending = all.filter(({ status }) => status === "pending").sort((a, b) => Number(a.seq) - Number(b.seq));
  const failed = all.filter(({ status }) => status === "failed").length;
  return { pending: pending.length, failed, oldest_pending_at: pending[0]?.created_at ?? null };
}

/** The webhooks of a site, the oldest first. */
export const webhooksNow = ({ outbox }: HomeModel, siteId: number, isViewer: boolean): object[] =>
  outbox
    .webhooksOf(siteId)
    .sort((a, b) => Number(a.created_at) - Number(b.created_at) || (String(a.id) < String(b.id) ? -1 : 1))
    .map((row) => ({ ...webhookShown(outbox, row, isViewer), ...numbersOf(outbox, row) }));

/** The deliveries of a webhook, the newest first. */
export function deliveriesNow({ outbox }: HomeModel, webhook: Row, query: URLSearchParams): Shown[] {
  const [status, cursor] = ["status", "cursor"].map((name) => query.get(name));
  return outbox
    .deliveriesOf(webhook)
    .filter((row) => (status == null || row.status === status) && (cursor == null || Number(row.seq) < Number(cursor)))
    .sort((a, b) => Number(b.seq) - Number(a.seq))
    .map((row) => {
      // The event of a skipped delivery may be gone.
      const { id = null, type = null, session_id = null } = outbox.eventOf(row) ?? {};
      const { seq, status, attempts, last_status, last_error, created_at, last_attempt_at, duration_ms } = row;
      // A ping is due since it was made.
      const next_attempt_at = row.next_attempt_at === FIRST_IN_LINE ? created_at : row.next_attempt_at;
      const told = { event_id: id, seq, type, chat_id: session_id, status, attempts, next_attempt_at };
      return {
        key: Number(seq),
        item: { ...told, last_status, last_error, created_at, last_attempt_at, duration_ms },
      };
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
