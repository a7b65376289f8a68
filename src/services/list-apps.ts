import { listApps } from "../store/directory/apps.ts";
import { page } from "./page.ts";

/** A page of a site's apps, as operators see them, by appid. */
export async function listAppsOfSite(db: D1Database, siteId: number, after: string, limit: number) {
  const rows = await listApps(db, siteId, after, limit + 1);
  return page(
    rows,
    limit,
    (app) => app.appid,
    ({ appid, name, version, previousExpiresAt, revokedAt, createdAt }) => ({
      appid,
      name,
      version,
      previous_expires_at: previousExpiresAt,
      revoked_at: revokedAt,
      created_at: createdAt,
    }),
  );
}
