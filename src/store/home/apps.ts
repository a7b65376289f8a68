import { and, asc, eq, getTableColumns, gt, isNull, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../runtime.ts";
import { type Author, auditOf, CHANGED, ONE_ROW } from "../audit-log.ts";
import { withRetries } from "../run-batch.ts";
import { apps } from "../schema.ts";

type App = typeof apps.$inferSelect;

/** An app is named by its site too: the same appid in another home is another app. */
export type AppKey = Pick<App, "siteId" | "appid">;

const { name, createdAt, ...ROW } = getTableColumns(apps);

/** The columns of an {@link AppRow}. */
export const APP_ROW = ROW;

/** An app as stored, with sealed secrets. Times are Unix seconds. */
export type AppRow = Pick<App, keyof typeof ROW>;

const { siteId, appid, version, previousExpiresAt, revokedAt } = ROW;
const SUMMARY = { appid, siteId, name, version, previousExpiresAt, revokedAt, createdAt };

/** An app as operators see it. */
export type AppSummary = Pick<App, keyof typeof SUMMARY>;

const isApp = (key: AppKey) => and(eq(apps.siteId, key.siteId), eq(apps.appid, key.appid));

/** @param answerBy see {@link withRetries} */
export async function findApp(
  runtime: Runtime,
  db: D1Database,
  key: AppKey,
  answerBy?: number,
): Promise<AppRow | undefined> {
  return withRetries(runtime, () => drizzle(db).select(ROW).from(apps).where(isApp(key)).get(), answerBy);
}

/**
 * Inserts an app. The site must be in this home.
 *
 * @param app `secret` sealed; `imported` names what the operator gave instead of having it issued
 * @returns false when the site has this appid already
 */
export async function insertApp(
  runtime: Runtime,
  db: D1Database,
  {
    imported,
    ...app
  }: AppKey &
    Pick<App, "name" | "version" | "secret"> & {
      imported: ("appid" | "secret")[];
    },
  author: Author,
): Promise<boolean> {
  const store = drizzle(db);
  const audited = {
    siteId: sql`${app.siteId}`,
    action: imported.length === 0 ? ("app.issued" as const) : ("app.imported" as const),
    subject: sql`${app.appid}`,
    details: sql`${JSON.stringify({ name: app.name, imported })}`,
  };
  const batch = () =>
    store.batch([
      store
        .insert(apps)
        .values({ ...app, createdAt: author.now })
        .onConflictDoNothing(),
      auditOf(db, author, audited, ONE_ROW, CHANGED),
      store.select({ version }).from(apps).where(isApp(app)),
    ]);
  // The version was drawn for this call: a try whose answer was lost finds its own.
  const [, , [stored]] = await withRetries(runtime, batch);
  return stored?.version === app.version;
}

/** `previousVersion` is the version that the app had when the rotation began. */
type Rotation = AppKey &
  Pick<App, "version" | "secret"> & {
    previousVersion: string;
    previousSecret: string;
    previousExpiresAt: number;
  };

/**
 * Stores a rotation.
 *
 * @param answerBy see {@link withRetries}
 * @returns false when the app was rotated or revoked since `previousVersion` was read
 */
export async function replaceSecret(
  runtime: Runtime,
  db: D1Database,
  { siteId, appid, ...change }: Rotation,
  author: Author,
  answerBy?: number,
): Promise<boolean> {
  const store = drizzle(db);
  const key = { siteId, appid };
  const audited = {
    siteId: apps.siteId,
    action: "app.rotated" as const,
    subject: apps.appid,
    details: sql`json_object('version', ${apps.version}, 'previous_expires_at', ${apps.previousExpiresAt})`,
  };
  const unchanged = and(isApp(key), eq(apps.version, change.previousVersion), isNull(apps.revokedAt));
  const batch = () =>
    store.batch([
      store.update(apps).set(change).where(unchanged),
      auditOf(db, author, audited, apps, and(isApp(key), CHANGED)),
    ]);
  const [replaced] = await withRetries(runtime, batch, answerBy);
  return replaced.meta.changes === 1;
}

/**
 * Revokes an app for good; an earlier revocation keeps its time.
 *
 * @returns the app as it is now; undefined when there is no such app
 */
export async function markRevoked(
  runtime: Runtime,
  db: D1Database,
  key: AppKey,
  author: Author,
): Promise<AppRow | undefined> {
  const store = drizzle(db);
  const audited = {
    siteId: apps.siteId,
    action: "app.revoked" as const,
    subject: apps.appid,
    details: sql`json_object('name', ${apps.name})`,
  };
  const batch = () =>
    store.batch([
      store
        .update(apps)
        .set({ revokedAt: author.now })
        .where(and(isApp(key), isNull(apps.revokedAt))),
      auditOf(db, author, audited, apps, and(isApp(key), CHANGED)),
      store.select(ROW).from(apps).where(isApp(key)),
    ]);
  const [, , [revoked]] = await withRetries(runtime, batch);
  return revoked;
}

/** Undefined when the site has no such app. */
export function findAppSummary(db: D1Database, key: AppKey): Promise<AppSummary | undefined> {
  return drizzle(db).select(SUMMARY).from(apps).where(isApp(key)).get();
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
