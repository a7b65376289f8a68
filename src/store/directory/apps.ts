import { and, asc, eq, getTableColumns, gt, isNull, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../runtime.ts";
import { type Author, auditOf, CHANGED, ONE_ROW } from "../audit-log.ts";
import { withRetries } from "../run-batch.ts";
import { apps } from "../schema.ts";

type App = typeof apps.$inferSelect;

const { name, createdAt, ...RECORD } = getTableColumns(apps);

/** An app as stored, secrets sealed. Times are Unix seconds. */
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
 * False when the appid is taken.
 *
 * @param app `secret` sealed; `brought` is what the operator chose instead of having it issued
 */
export async function insertApp(
  db: D1Database,
  {
    brought,
    ...app
  }: Pick<App, "appid" | "siteId" | "name" | "version" | "secret"> & {
    brought: ("appid" | "secret")[];
  },
  by: Author,
): Promise<boolean> {
  const store = drizzle(db);
  const audited = {
    siteId: sql`${app.siteId}`,
    action: brought.length === 0 ? ("app.issued" as const) : ("app.brought_along" as const),
    subject: sql`${app.appid}`,
    details: sql`${JSON.stringify({ name: app.name, brought })}`,
  };
  const [inserted] = await store.batch([
    store
      .insert(apps)
      .values({ ...app, createdAt: by.now })
      .onConflictDoNothing(),
    auditOf(db, by, audited, ONE_ROW, CHANGED),
  ]);
  return inserted.meta.changes === 1;
}

/** `previousVersion` is that of the secret that was in place when the rotation began. */
type Rotation = Pick<App, "appid" | "version" | "secret"> & {
  previousVersion: string;
  previousSecret: string;
  previousExpiresAt: number;
};

/** Puts a rotated record in place if nobody rotated or revoked since `previousVersion` was read; false when somebody did. */
export async function replaceSecret(
  runtime: Runtime,
  db: D1Database,
  { appid, ...change }: Rotation,
  by: Author,
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
      auditOf(db, by, audited, apps, and(eq(apps.appid, appid), CHANGED)),
    ]);
  const [replaced] = await withRetries(runtime, batch);
  return replaced.meta.changes === 1;
}

/** Revokes for good; an earlier revocation keeps its time. False when there is no such app. */
export async function markRevoked(db: D1Database, appid: string, by: Author): Promise<boolean> {
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
      .set({ revokedAt: by.now })
      .where(and(named, isNull(apps.revokedAt))),
    auditOf(db, by, audited, apps, and(named, CHANGED)),
    store.select({ appid: apps.appid }).from(apps).where(named),
  ]);
  return found.length === 1;
}

/** Undefined when the site has no such app. */
export function findAppOfSite(db: D1Database, siteId: number, appid: string): Promise<AppSummary | undefined> {
  const named = and(eq(apps.appid, appid), eq(apps.siteId, siteId));
  return drizzle(db).select(SUMMARY).from(apps).where(named).get();
}

/** A site's apps by appid, from the one after `after`; without secrets. */
export function listApps(db: D1Database, siteId: number, after: string, limit: number): Promise<AppSummary[]> {
  return drizzle(db)
    .select(SUMMARY)
    .from(apps)
    .where(and(eq(apps.siteId, siteId), gt(apps.appid, after)))
    .orderBy(asc(apps.appid))
    .limit(limit)
    .all();
}
