import { and, asc, eq, getTableColumns, gt, gte, isNull, notExists, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../../core/runtime.ts";
import { APP_ROW, type App, type AppKey, type AppRow, isApp } from "../../../core/store/apps.ts";
import { inOneBatch } from "../../../core/store/batch.ts";
import { withRetries } from "../../../core/store/run-batch.ts";
import { apps, homeSites } from "../../../core/store/schema.ts";
import { type Author, auditOf, CHANGED, ONE_ROW } from "../audit.ts";
import { endOf } from "./site-deletions.ts";

const { name, createdAt } = getTableColumns(apps);
const { siteId, appid, version, previousExpiresAt, revokedAt } = APP_ROW;
const SUMMARY = { appid, siteId, name, version, previousExpiresAt, revokedAt, createdAt };

/** An app as operators see it. */
export type AppSummary = Pick<App, keyof typeof SUMMARY>;

/** The first apps of a site by appid, with their names and sealed secrets. */
export function selectFirstApps(db: D1Database, siteId: number, limit: number): Promise<(AppRow & { name: string })[]> {
  return drizzle(db)
    .select({ ...APP_ROW, name })
    .from(apps)
    .where(eq(apps.siteId, siteId))
    .orderBy(asc(apps.appid))
    .limit(limit)
    .all();
}

/** A new app of a site of `home`. `secret` is sealed. `imported` says whether the operator brought the appid, the secret or both. */
export type NewApp = AppKey &
  Pick<App, "name" | "version" | "secret"> & { home: string; imported: ("appid" | "secret")[] };

/**
 * Inserts an app, unless its site's revision is not `revision`: then the route of the appid may have been released.
 *
 * @param answerBy see {@link withRetries}
 * @returns `taken` when the site already has this appid, `stale` when the site has another revision, or its deletion has begun
 */
export async function insertApp(
  runtime: Runtime,
  db: D1Database,
  { imported, ...app }: NewApp,
  revision: number,
  author: Author,
  answerBy?: number,
): Promise<"inserted" | "taken" | "stale"> {
  const store = drizzle(db);
  const audited = {
    siteId: sql`${app.siteId}`,
    action: imported.length === 0 ? ("app.issued" as const) : ("app.imported" as const),
    subject: sql`${app.appid}`,
    details: sql`${JSON.stringify({ name: app.name, imported })}`,
  };
  const batch = () =>
    inOneBatch(db, {
      inserted: store
        .insert(apps)
        .select((query) =>
          query
            .select({
              siteId: homeSites.siteId,
              appid: sql`${app.appid}`.as("appid"),
              name: sql`${app.name}`.as("app_name"),
              version: sql`${app.version}`.as("version"),
              secret: sql`${app.secret}`.as("secret"),
              previousVersion: sql`NULL`.as("previous_version"),
              previousSecret: sql`NULL`.as("previous_secret"),
              previousExpiresAt: sql`NULL`.as("previous_expires_at"),
              revokedAt: sql`NULL`.as("revoked_at"),
              createdAt: sql`${author.now}`.as("app_created_at"),
            })
            .from(homeSites)
            .where(and(eq(homeSites.siteId, app.siteId), eq(homeSites.revision, revision), notExists(endOf(db, app)))),
        )
        .onConflictDoNothing(),
      audited: auditOf(db, author, audited, ONE_ROW, CHANGED),
      stored: store.select({ version }).from(apps).where(isApp(app)),
    });
  // The version is random and drawn once per call, so a retry after a lost answer recognises its own row.
  const {
    stored: [storedApp],
  } = await withRetries(runtime, batch, answerBy);
  if (storedApp === undefined) return "stale";
  return storedApp.version === app.version ? "inserted" : "taken";
}

/**
 * Fences an appid: a call that read the site before can no longer make this app. Does nothing when the site has the app. Also does nothing
 * when the home's revision is lower than the directory's, as after a restore: a higher revision would make the restored row look newer than
 * the changes that the restore undid.
 *
 * @param least the revision that the directory knows
 * @returns `issued` when the site has the app, `behind` when the home's revision is lower than `least`
 */
export async function fenceAppid(
  runtime: Runtime,
  db: D1Database,
  key: AppKey,
  least: number,
): Promise<"fenced" | "issued" | "behind"> {
  const store = drizzle(db);
  const storedApp = store.select({ version }).from(apps).where(isApp(key));
  const isSite = eq(homeSites.siteId, key.siteId);
  const batch = () =>
    inOneBatch(db, {
      fenced: store
        .update(homeSites)
        .set({ revision: sql`${homeSites.revision} + 1` })
        .where(and(isSite, gte(homeSites.revision, least), notExists(storedApp))),
      storedApp,
      sites: store.select({ revision: homeSites.revision }).from(homeSites).where(isSite),
    });
  const {
    storedApp: [app],
    sites: [site],
  } = await withRetries(runtime, batch);
  if (app !== undefined) return "issued";
  return site !== undefined && site.revision >= least ? "fenced" : "behind";
}

/**
 * Revokes an app for good. An earlier revocation keeps its time.
 *
 * @returns the app as it is now; undefined when there is no such app
 */
export async function updateRevoked(
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
    inOneBatch(db, {
      revoked: store
        .update(apps)
        .set({ revokedAt: author.now })
        .where(and(isApp(key), isNull(apps.revokedAt))),
      audited: auditOf(db, author, audited, apps, and(isApp(key), CHANGED)),
      now: store.select(APP_ROW).from(apps).where(isApp(key)),
    });
  const { now } = await withRetries(runtime, batch);
  return now[0];
}

/** Undefined when the site has no such app. */
export function selectAppSummary(db: D1Database, key: AppKey): Promise<AppSummary | undefined> {
  return drizzle(db).select(SUMMARY).from(apps).where(isApp(key)).get();
}

/** A site's apps with an appid above `after`, in the order of their appids, without secrets. */
export function selectApps(db: D1Database, siteId: number, after: string, limit: number): Promise<AppSummary[]> {
  return drizzle(db)
    .select(SUMMARY)
    .from(apps)
    .where(and(eq(apps.siteId, siteId), gt(apps.appid, after)))
    .orderBy(asc(apps.appid))
    .limit(limit)
    .all();
}
