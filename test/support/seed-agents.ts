import { env } from "cloudflare:workers";
import type { World } from "./world.ts";

/** Adds agents to the world's site, without a call of the admin API for each. */
export async function seedAgents(
  { siteId }: Pick<World, "siteId">,
  ids: number[],
  status: "normal" | "disabled" = "normal",
): Promise<void> {
  await env.DB.prepare(
    "INSERT INTO agents (site_id, id, name, status) SELECT ?1, value, 'Agent ' || value, ?3 FROM json_each(?2)",
  )
    .bind(siteId, JSON.stringify(ids), status)
    .run();
}
