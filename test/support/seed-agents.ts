import { databaseOf } from "./homes.ts";

/**
 * Stores agents of the world's site without an admin call for each. It replaces agents of an earlier site with the same id, which a
 * test that restores the directory may leave in the home.
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
