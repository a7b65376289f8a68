import { SHOWN } from "../shown-time.ts";
import { digits, insertRows, pick, range } from "./rows.ts";
import { OF_NOTE, openedAt, SESSIONS } from "./sessions.ts";

const HOUR = 3_600;

/** The URLs of the webhooks, by the webhook's state. */
const URLS = {
  healthy: "https://hooks.northwind.example.com/agent-session",
  failing: "https://crm.northwind.example.com/incoming/support-events",
  hanging: "https://warehouse.northwind.example.com/hook",
  gone: "https://old-crm.northwind.example.com/events",
  tired: "https://reports.northwind.example.com/v1/ingest",
  paused: "https://staging.northwind.example.com/hook",
  long: `https://integrations.example.com/${"customer-support-".repeat(14)}?token=0123456789abcdef`,
  misplaced: "https://integrations.example.com/orders",
} as const;

export type SeededWebhooks = Record<keyof typeof URLS, string>;

/** A receiver's answer that is not a text for people. */
const PAGE =
  'HTTP 500: <html><head><title>Internal error</title></head><body><h1>500</h1>"database is locked"</body></html>';

/** The results of attempts: HTTP status, error, milliseconds. */
const OUTCOMES = {
  good: [200, null, 184],
  broken: [500, PAGE, 92],
  hung: [null, "no answer in 15 s", 15_000],
  refused: [521, "HTTP 521: the host refuses connections", 31],
  gone: [410, "HTTP 410: gone", 77],
  never: [null, null, null],
} as const;

/** Makes the webhooks of a site, the events of its newest sessions, and many deliveries in each state. Nothing is posted. */
export async function seedWebhooks(
  admin: <T>(method: string, path: string, body?: unknown) => Promise<T>,
  db: D1Database,
  siteId: number,
): Promise<SeededWebhooks> {
  const ids: Partial<SeededWebhooks> = {};
  for (const [name, url] of Object.entries(URLS) as [keyof typeof URLS, string][]) {
    const path = `/admin/sites/${siteId}/webhooks`;
    ids[name] = (await admin<{ id: string }>("POST", path, { url })).id;
  }
  const idOf = ids as SeededWebhooks;
  const events = eventsOf(siteId);
  await insertRows(db, "events", events);
  const newest = events.toReversed();
  await insertRows(db, "deliveries", [
    ...newest.map((event, index) => delivery(event, idOf.healthy, stateOfHealthy(index))),
    ...newest.slice(0, 60).map((event, index) => delivery(event, idOf.failing, index < 48 ? "retrying" : "failed")),
    ...newest.slice(60, 90).map((event) => delivery(event, idOf.failing, "delivered")),
    ...newest.slice(0, 35).map((event, index) => delivery(event, idOf.hanging, index < 5 ? "waiting" : "hanging")),
    ...newest.slice(35, 80).map((event) => delivery(event, idOf.hanging, "delivered")),
    ...newest.slice(80, 110).map((event) => delivery(event, idOf.gone, "skipped")),
    ...newest.slice(40, 140).map((event, index) => delivery(event, idOf.tired, index < 30 ? "failed" : "delivered")),
    ...newest.slice(100, 120).map((event) => delivery(event, idOf.paused, "delivered")),
  ]);
  const set = (id: string, changes: string, ...values: unknown[]) =>
    db
      .prepare(`UPDATE webhooks SET ${changes} WHERE id = ?`)
      .bind(...values, id)
      .run();
  await db
    .prepare("UPDATE webhooks SET created_at = ? WHERE site_id = ?")
    .bind(SHOWN - 40 * 86_400, siteId)
    .run();
  const rotate = `/admin/sites/${siteId}/webhooks/${idOf.paused}/rotate`;
  await admin("POST", rotate, { overlap_seconds: 86_400 });
  const failing = "failing_since = ?, failing_told_at = ?, last_status = ?, last_cause = ?, last_failed_at = ?";
  await set(idOf.failing, failing, SHOWN - 3 * HOUR, SHOWN - 3 * HOUR + 300, 500, "status", SHOWN - 60);
  await set(idOf.hanging, failing, SHOWN - 26 * HOUR, SHOWN - 26 * HOUR + 300, null, "no_answer", SHOWN - 60);
  await set(idOf.misplaced, failing, SHOWN - 120, null, 404, "status", SHOWN - 60);
  const disabled = "status = 'disabled', disabled_reason = ?, disabled_at = ?, last_status = ?, last_cause = ?";
  await set(idOf.gone, disabled, "gone", SHOWN - 50 * HOUR, 410, "status");
  await set(idOf.tired, disabled, "failing", SHOWN - 9 * HOUR, 521, "status");
  await set(idOf.paused, disabled, null, SHOWN - 12 * 24 * HOUR, null, null);
  return idOf;
}

interface SeededEvent {
  site_id: number;
  seq: number;
  created_at: number;
}

/** Makes an event for each of the newest sessions, and more events for two of these. */
function eventsOf(siteId: number) {
  const starts = range(220).map((index) => ({ sessionId: SESSIONS - 219 + index, type: "session.created", later: 0 }));
  const more = range(12).flatMap((index) =>
    [OF_NOTE.metadata, OF_NOTE.crowded].map((sessionId) => ({
      sessionId,
      type: "session.agents_added",
      later: index * 5 + 2,
    })),
  );
  return [...starts, ...more]
    .map(({ sessionId, type, later }) => ({ sessionId, type, at: openedAt(sessionId) + later }))
    .sort((a, b) => a.at - b.at)
    .map(({ sessionId, type, at }, index) => ({
      site_id: siteId,
      seq: index + 1,
      id: `evt_${digits(`event ${index}`)}`,
      type,
      session_id: sessionId,
      created_at: at,
      data: JSON.stringify({ chat_id: sessionId }),
    }));
}

type DeliveryState = "delivered" | "failed" | "skipped" | "retrying" | "hanging" | "waiting";

/** The newest deliveries are in flight, one in ten has failed, and some were skipped while the webhook was off. */
const stateOfHealthy = (index: number): DeliveryState => {
  if (index < 3) return "waiting";
  if (index % 10 === 6) return "failed";
  return index % 17 === 11 ? "skipped" : "delivered";
};

function delivery({ site_id, seq, created_at }: SeededEvent, webhook_id: string, state: DeliveryState) {
  const [status, attempts, wait, outcome] = (
    {
      delivered: ["delivered", pick([1, 1, 1, 2], seq), null, OUTCOMES.good],
      failed: ["failed", 8, null, pick([OUTCOMES.broken, OUTCOMES.hung, OUTCOMES.refused], seq)],
      skipped: ["skipped", 1, null, OUTCOMES.gone],
      retrying: ["pending", 3 + (seq % 4), 600 + seq * 7, OUTCOMES.broken],
      // These are due, and wait: three are sent at a time while the webhook fails.
      hanging: ["pending", 2 + (seq % 2), -900 - seq, OUTCOMES.hung],
      waiting: ["pending", 0, 0, OUTCOMES.never],
    } as const
  )[state];
  const [last_status, last_error, duration_ms] = outcome;
  return {
    site_id,
    webhook_id,
    seq,
    status,
    attempts,
    created_at,
    next_attempt_at: wait === null ? null : SHOWN + wait,
    last_status,
    last_error,
    duration_ms,
    last_attempt_at: attempts === 0 ? null : Math.min(SHOWN - 20, created_at + attempts * 40),
  };
}
