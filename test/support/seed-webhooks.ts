import type { BuiltWorker } from "./built-worker.ts";

const LONG_URL = `https://integrations.example.com/${"customer-support-".repeat(14)}?token=0123456789abcdef`;
const PAGE = 'HTTP 500: <html><head><title>Internal error</title></head><body>"database is locked"</body></html>';
const WORD = `HTTP 502: ${"upstreamconnecterrorordisconnect".repeat(5)}`;

/**
 * Webhooks for pictures: one that fails, one whose receiver is gone, and one with a long URL. The first has deliveries in each status;
 * the event of the skipped one is not kept any more. Nothing is posted.
 *
 * @returns their ids
 */
export async function seedWebhooks({ admin, env }: BuiltWorker, siteId: number): Promise<string[]> {
  const db = env.DB as D1Database;
  const ids: string[] = [];
  for (const url of ["https://hooks.example.com/agent-session", "https://old.example.com/events", LONG_URL]) {
    ids.push((await admin<{ id: string }>("POST", `/admin/sites/${siteId}/webhooks`, { url })).id);
  }
  const now = Math.floor(Date.now() / 1000);
  const deliveries = [
    ["session.created", 1, "delivered", 1, null, 200, null],
    ["session.created", 2, "failed", 8, null, 500, PAGE],
    ["session.agents_added", 2, "failed", 8, null, null, "no answer in 15 s"],
    ["session.created", 3, "skipped", 1, null, null, null],
    ["ping", null, "delivered", 1, null, 204, null],
    ["session.created", 4, "pending", 3, now + 1_800, 502, WORD],
    ["session.created", 5, "pending", 1, now + 5, 302, "redirects are not followed"],
    ["session.created", 6, "pending", 0, now, null, null],
  ] as const;
  for (const [index, [type, chatId, status, attempts, next, code, error]] of deliveries.entries()) {
    const seq = index + 1;
    if (status !== "skipped") {
      await db
        .prepare(
          "INSERT INTO events (site_id, seq, id, type, session_id, created_at, data) VALUES (?, ?, ?, ?, ?, ?, '{}')",
        )
        .bind(siteId, seq, `evt_${seq}`, type, chatId, now)
        .run();
    }
    const [last, duration] = attempts === 0 ? [null, null] : [now, error === "no answer in 15 s" ? 15_000 : 180 + seq];
    await db
      .prepare(
        `INSERT INTO deliveries (site_id, webhook_id, seq, status, attempts, next_attempt_at, last_status, last_error,
            created_at, last_attempt_at, duration_ms)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .bind(siteId, ids[0], seq, status, attempts, next, code, error, now, last, duration)
      .run();
  }
  const set = (changes: string, id: string | undefined) =>
    db.prepare(`UPDATE webhooks SET ${changes} WHERE id = ?`).bind(id).run();
  await set(`failing_since = ${now - 7_200}, last_status = 502, last_error = '${WORD}'`, ids[0]);
  await set(`status = 'disabled', disabled_reason = 'gone', disabled_at = ${now}, last_status = 410`, ids[1]);
  return ids;
}
