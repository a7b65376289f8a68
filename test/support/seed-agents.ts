import { databaseOf } from "./homes.ts";

/**
 * Adds agents to the world's site in the database, without one admin call for each. Those of a site of the same id are replaced: a test
 * that restores the directory leaves them in their home.
 */
export async function seedAgents(
  { siteId, home }: { siteId: number; home: string },
  normal: number[],
  disabled: number[] = [],
): Promise<void> {
  await databaseOf(home)
    .prepare(
      `INSERT OR REPLACE INTO agents (site_id, id, name, status)
    SELECT ?1, value, 'Agent ' || value, 'normal' FROM json_each(?2)
    UNION ALL SELECT ?1, value, 'Agent ' || value, 'disabled' FROM json_each(?3)`,
    )
    .bind(siteId, JSON.stringify(normal), JSON.stringify(disabled))
    .run();
}
