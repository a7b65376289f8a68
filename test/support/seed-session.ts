import { databaseOf } from "./homes.ts";
import { NOW, type World } from "./world.ts";

/** Stores a session as an earlier request or another product would have stored it. @returns its id */
export async function seedSession(
  world: World,
  change: { id?: number; kind?: "ticket" | "chat"; responsibleAgentId?: number | null; metadata?: string } = {},
): Promise<number> {
  const { id = null, kind = "ticket", responsibleAgentId = 1, metadata = null } = change;
  const customer = `seeded-${crypto.randomUUID()}`;
  const db = databaseOf(world.home);
  await db
    .prepare(
      `INSERT INTO customers (site_id, external_id, name, ip, created_at, updated_at)
     VALUES (?1, ?2, 'Seeded', '127.0.0.1', ?3, ?3)`,
    )
    .bind(world.siteId, customer, NOW)
    .run();
  const session = await db
    .prepare(
      `INSERT INTO sessions (id, site_id, appid, kind, customer_external_id, responsible_agent_id, status, auto_title, created_at, metadata)
     VALUES (coalesce(?1, (SELECT coalesce(max(id), 0) + 1 FROM sessions WHERE site_id = ?2)), ?2, ?3, ?4, ?5, ?6, 'waiting', '', ?7, ?8)
     RETURNING id`,
    )
    .bind(id, world.siteId, world.appid, kind, customer, responsibleAgentId, NOW, metadata)
    .first<{ id: number }>();
  if (session === null) throw new Error("the session was not stored");
  return session.id;
}
