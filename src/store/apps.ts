import { and, asc, eq, gt, isNull, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { withRetries } from "./run-batch.ts";
import { apps } from "./schema.ts";
import { statement } from "./statement.ts";

/** An app as stored, secrets sealed. Times are Unix seconds. */
export type AppRecord = {
  appid: string;
  siteId: number;
  version: number;
  secret: string;
  previousSecret: string | null;
  previousExpiresAt: number | null;
  revokedAt: number | null;
};

const selectApp = statement<{ appid: string }>(
  (v) => sql`SELECT ${apps.appid} AS "appid", ${apps.siteId} AS "siteId", ${apps.version} AS "version",
    ${apps.secret} AS "secret", ${apps.previousSecret} AS "previousSecret",
    ${apps.previousExpiresAt} AS "previousExpiresAt", ${apps.revokedAt} AS "revokedAt"
  FROM ${apps} WHERE ${apps.appid} = ${v.appid}`,
);

export function findApp(db: D1Database, appid: string): Promise<AppRecord | null> {
  return withRetries(() => selectApp(db, { appid }).first<AppRecord>());
}

/** False when the appid is taken. */
export async function insertApp(db: D1Database, app: typeof apps.$inferInsert): Promise<boolean> {
  const inserted = await drizzle(db).insert(apps).values(app).onConflictDoNothing().returning({ appid: apps.appid });
  return inserted.length === 1;
}

/** Puts a rotated record in place if nobody rotated or revoked since `version` was read; false when somebody did. */
export async function replaceSecret(
  db: D1Database,
  change: { appid: string; version: number; secret: string; previousSecret: string; previousExpiresAt: number },
): Promise<boolean> {
  const { appid, version, ...next } = change;
  const changed = await drizzle(db)
    .update(apps)
    .set({ ...next, version: version + 1 })
    .where(and(eq(apps.appid, appid), eq(apps.version, version), isNull(apps.revokedAt)))
    .returning({ appid: apps.appid });
  return changed.length === 1;
}

/** Revokes for good; an earlier revocation keeps its time. False when there is no such app. */
export async function markRevoked(db: D1Database, appid: string, now: number): Promise<boolean> {
  const changed = await drizzle(db)
    .update(apps)
    .set({ revokedAt: sql`coalesce(${apps.revokedAt}, ${now})` })
    .where(eq(apps.appid, appid))
    .returning({ appid: apps.appid });
  return changed.length === 1;
}

/** A site's apps by appid, from the one after `after`; without secrets. */
export function listApps(db: D1Database, siteId: number, after: string, limit: number) {
  return drizzle(db)
    .select({
      appid: apps.appid,
      name: apps.name,
      previousExpiresAt: apps.previousExpiresAt,
      revokedAt: apps.revokedAt,
      createdAt: apps.createdAt,
    })
    .from(apps)
    .where(and(eq(apps.siteId, siteId), gt(apps.appid, after)))
    .orderBy(asc(apps.appid))
    .limit(limit);
}
