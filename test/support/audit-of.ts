import { databaseOf } from "./homes.ts";

/** The audit entries of all homes about a subject, the oldest first. Those of the directory come before those of other homes. */
export async function auditOf(subject: string) {
  const entries = [];
  for (const home of ["main", "apac"]) {
    const { results } = await databaseOf(home)
      .prepare("SELECT site_id, action, details FROM audit_log WHERE subject = ? ORDER BY id")
      .bind(subject)
      .all<{ site_id: number; action: string; details: string }>();
    entries.push(
      ...results.map(({ site_id: siteId, action, details }) => ({
        home,
        siteId,
        action,
        details: JSON.parse(details) as Record<string, unknown>,
      })),
    );
  }
  return entries;
}
