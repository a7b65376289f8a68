import { and, asc, eq, getTableColumns, gt, isNull, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../runtime.ts";
import { type Author, auditOf, CHANGED, ONE_ROW } from "../audit-log.ts";
import { withRetries } from "../run-batch.ts";
import { apps } from "../schema.ts";

type App = typeof apps.$inferSelect;

const { name, createdAt, ...RECORD } = getTableColumns(apps);

/** An app as stored, with sealed secrets. Times are Unix seconds. */
export type AppRecord = Pick<App, keyof typeof RECORD>;

const { appid, siteId, version, previousExpiresAt, revokedAt } = RECORD;
const SUMMARY = { appid, siteId, name, version, previousExpiresAt, revokedAt, createdAt };

/** An app as operators see it. */
export type AppSummary = Pick<App, keyof typeof SUMMARY>;

/** @param answerBy see {@link withRetries} */
export async function findApp(
  runtime: Runtime,
  db: D1Database,
  appid: string,
  answerBy?: number,
): Promise<AppRecord | null> {
  const found = () => drizzle(db).select(RECORD).from(apps).where(eq(apps.appid, appid)).get();
  return (await withRetries(runtime, found, answerBy)) ?? null;
}

/**
 * Inserts an app.
 *
 * @param app `secret` sealed; `imported` names what the operator gave instead of having it issued
 * @returns false when the appid is taken
 */
export async function insertApp(
  db: D1Database,
  {
    imported,
    ...app
  }: Pick<App, "appid" | "siteId" | "name" | "version" | "secret"> & {
    imported: ("appid" | "secret")[];
  },
  author: Author,
): Promise<boolean> {
  const store = drizzle(db);
  const audited = {
    siteId: sql`${app.siteId}`,
    action: imported.length === 0 ? ("app.issued" as const) : ("app.brought_along" as const),
    subject: sql`${app.appid}`,
    details: sql`${JSON.stringify({ name: app.name, brought: imported })}`,
  };
  const [inserted] = await store.batch([
    store
      .insert(apps)
      .values({ ...app, createdAt: author.now })
      .onConflictDoNothing(),
    auditOf(db, author, audited, ONE_ROW, CHANGED),
  ]);
  return inserted.meta.changes === 1;
}

/** `previousVersion` is the version that the app had when the rotation began. */
type Rotation = Pick<App, "appid" | "version" | "secret"> & {
  previousVersion: string;
  previousSecret: string;
  previousExpiresAt: number;
};

/** Stores a rotation. @returns false when the app was rotated or revoked since `previousVersion` was read */
export async function replaceSecret(
  runtime: Runtime,
  db: D1Database,
  { appid, ...change }: Rotation,
  author: Author,
): Promise<boolean> {
  const store = drizzle(db);
  const audited = {
    siteId: apps.siteId,
    action: "app.rotated" as const,
    subject: apps.appid,
    details: sql`json_object('version', ${apps.version}, 'previous_expires_at', ${apps.previousExpiresAt})`,
  };
  const unchanged = and(eq(apps.appid, appid), eq(apps.version, change.previousVersion), isNull(apps.revokedAt));
  const batch = () =>
    store.batch([
      store.update(apps).set(change).where(unchanged),
      auditOf(db, author, audited, apps, and(eq(apps.appid, appid), CHANGED)),
    ]);
  const [replaced] = await withRetries(runtime, batch);
  return replaced.meta.changes === 1;
}

/** Revokes an app for good; an earlier revocation keeps its time. @returns false when there is no such app */
export async function markRevoked(db: D1Database, appid: string, author: Author): Promise<boolean> {
  const store = drizzle(db);
  const named = eq(apps.appid, appid);
  const audited = {
    siteId: apps.siteId,
    action: "app.revoked" as const,
    subject: apps.appid,
    details: sql`json_object('name', ${apps.name})`,
  };
  const [, , found] = await store.batch([
    store
      .update(apps)
      .set({ revokedAt: author.now })
      .where(and(named, isNull(apps.revokedAt))),
    auditOf(db, author, audited, apps, and(named, CHANGED)),
    store.select({ appid: apps.appid }).from(apps).where(named),
  ]);
  return found.length === 1;
}

/** Undefined when the site has no such app. */
export function findAppOfSite(db: D1Database, siteId: number, appid: string): Promise<AppSummary | undefined> {
  const named = and(eq(apps.appid, appid), eq(apps.siteId, siteId));
  return drizzle(db).select(SUMMARY).from(apps).where(named).get();
}

/** A site's apps with an appid above `after`, in the order of their appids, without secrets. */
export function listApps(db: D1Database, siteId: number, after: string, limit: number): Promise<AppSummary[]> {
  return drizzle(db)
    .select(SUMMARY)
    .from(apps)
    .where(and(eq(apps.siteId, siteId), gt(apps.appid, after)))
    .orderBy(asc(apps.appid))
    .limit(limit)
    .all();
}
