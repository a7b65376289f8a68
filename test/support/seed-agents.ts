import { env } from "cloudflare:workers";
import type { World } from "./world.ts";

/** Adds agents to the world's site, without a call of the admin API for each. */
export async function seedAgents(
  { siteId }: Pick<World, "siteId">,
  normal: number[],
  disabled: number[] = [],
): Promise<void> {
  await env.DB.prepare(
    `INSERT INTO agents (site_id, id, name, status)
    SELECT ?1, value, 'Agent ' || value, 'normal' FROM json_each(?2)
    UNION ALL SELECT ?1, value, 'Agent ' || value, 'disabled' FROM json_each(?3)`,
  )
    .bind(siteId, JSON.stringify(normal), JSON.stringify(disabled))
    .run();
}
