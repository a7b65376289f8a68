import { and, asc, eq, gt } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { agents } from "./schema.ts";

export type Agent = { id: number; name: string; status: "normal" | "disabled" };

const AGENT = { id: agents.id, name: agents.name, status: agents.status };

/** Undefined when the site has an agent of this id. */
export async function insertAgent(db: D1Database, siteId: number, agent: Agent): Promise<Agent | undefined> {
  const [inserted] = await drizzle(db)
    .insert(agents)
    .values({ siteId, ...agent })
    .onConflictDoNothing()
    .returning(AGENT);
  return inserted;
}

/** Undefined when the site has no such agent. */
export async function updateAgent(
  db: D1Database,
  siteId: number,
  id: number,
  change: { [K in "name" | "status"]?: Agent[K] | undefined },
): Promise<Agent | undefined> {
  const [updated] = await drizzle(db)
    .update(agents)
    .set(change)
    .where(and(eq(agents.siteId, siteId), eq(agents.id, id)))
    .returning(AGENT);
  return updated;
}

/** A site's agents by id, from the one after `after`. */
export function listAgents(db: D1Database, siteId: number, after: number, limit: number): Promise<Agent[]> {
  return drizzle(db)
    .select(AGENT)
    .from(agents)
    .where(and(eq(agents.siteId, siteId), gt(agents.id, after)))
    .orderBy(asc(agents.id))
    .limit(limit);
}
