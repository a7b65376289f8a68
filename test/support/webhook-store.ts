import type { Notice } from "../../src/core/config.ts";
import { call } from "./admin-calls.ts";
import { databaseOf } from "./homes.ts";
import type { World } from "./world.ts";

type Row = Record<string, unknown>;

/** All stored rows of a site's events, and its audit log. */
export async function eventStore({ siteId, home }: { siteId: number; home: string }) {
  const db = databaseOf(home);
  const allRows = (sql: string) => db.prepare(sql).bind(siteId);
  const [site, webhooks, deliveries, events, audit] = await db.batch<Row>([
    allRows("SELECT events, event_seq_floor, revision FROM home_sites WHERE site_id = ?"),
    allRows("SELECT * FROM webhooks WHERE site_id = ? ORDER BY created_at, id"),
    allRows("SELECT * FROM deliveries WHERE site_id = ? ORDER BY webhook_id, seq"),
    allRows("SELECT * FROM events WHERE site_id = ? ORDER BY seq"),
    allRows("SELECT action, actor, at, subject, details FROM audit_log WHERE site_id = ? ORDER BY id"),
  ]);
  const rows = (result: D1Result<Row> | undefined) => result?.results ?? [];
  const auditRows = rows(audit).filter(({ action }) => /^webhook\.|^site\.events/.test(String(action)));
  return {
    site: rows(site)[0],
    webhooks: rows(webhooks),
    deliveries: rows(deliveries),
    events: rows(events),
    audit: auditRows.map((entry): Row => ({ ...entry, details: JSON.parse(String(entry.details)) as unknown })),
  };
}

/** A queue that records its messages, with their delays in seconds. */
export function keepingQueue() {
  const notices: Notice[] = [];
  const delays: number[] = [];
  const sendBatch = async (messages: Iterable<{ body: Notice; delaySeconds?: number }>) => {
    for (const { body, delaySeconds = 0 } of messages) {
      notices.push(body);
      delays.push(delaySeconds);
    }
  };
  return { sent: notices, delays, EVENTS: { sendBatch } as unknown as Queue<Notice> };
}

interface AddedWebhook {
  id: string;
  secret: string;
}

export async function addWebhook(world: World, body: Row = {}): Promise<AddedWebhook> {
  const input = { url: "https://hooks.example.com/in?token=t", ...body };
  const answer = await call(world, "POST", `/admin/sites/${world.siteId}/webhooks`, input);
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body as AddedWebhook;
}
