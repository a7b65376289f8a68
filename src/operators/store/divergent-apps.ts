import { and, asc, eq, gt, isNull, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { notEndedCondition } from "../../core/store/app-routes.ts";
import { appRoutes, apps, sites } from "../../core/store/schema.ts";
import { eachRow, rowField, rowPlace } from "./json-rows.ts";

/** This file finds apps about which the directory and a home differ. It writes nothing. */

export type Route = Pick<typeof appRoutes.$inferSelect, "appid" | "siteId">;

/** The routes of a home's apps, in order, after the given one. */
export function selectAppsAfter(db: D1Database, { siteId, appid }: Route, limit: number): Promise<Route[]> {
  return drizzle(db)
    .select({ siteId: apps.siteId, appid: apps.appid })
    .from(apps)
    .where(sql`(${apps.siteId}, ${apps.appid}) > (${siteId}, ${appid})`)
    .orderBy(asc(apps.siteId), asc(apps.appid))
    .limit(limit)
    .all();
}

/** The apps among `rows` that the directory does not route to their home, in the same order. */
export function selectUnroutedOf(directory: D1Database, home: string, rows: Route[]): Promise<Route[]> {
  const route = and(eq(appRoutes.appid, rowField("appid")), eq(appRoutes.siteId, rowField("siteId")));
  return drizzle(directory)
    .select({ appid: sql<string>`${rowField("appid")}`, siteId: sql<number>`${rowField("siteId")}` })
    .from(eachRow(rows))
    .leftJoin(appRoutes, route)
    .leftJoin(sites, and(eq(sites.id, appRoutes.siteId), eq(sites.home, home)))
    .where(isNull(sites.id))
    .orderBy(rowPlace)
    .all();
}

/** The directory's routes to a home, without those of deleted sites, with an appid above `after`, in the order of their appids. */
export function selectRoutesAfter(directory: D1Database, home: string, after: string, limit: number): Promise<Route[]> {
  return drizzle(directory)
    .select({ appid: appRoutes.appid, siteId: appRoutes.siteId })
    .from(appRoutes)
    .innerJoin(sites, eq(sites.id, appRoutes.siteId))
    .where(and(eq(sites.home, home), notEndedCondition, gt(appRoutes.appid, after)))
    .orderBy(asc(appRoutes.appid))
    .limit(limit)
    .all();
}

/** An app as a home has it. Nulls when the home does not have the app. */
export interface RoutedApp extends Route {
  version: string | null;
  revokedAt: number | null;
}

/** The apps that these routes lead to, in the same order. */
export function selectAppsOf(db: D1Database, routes: Route[]): Promise<RoutedApp[]> {
  const isListedApp = and(eq(apps.siteId, rowField("siteId")), eq(apps.appid, rowField("appid")));
  return drizzle(db)
    .select({
      appid: sql<string>`${rowField("appid")}`,
      siteId: sql<number>`${rowField("siteId")}`,
      version: apps.version,
      revokedAt: apps.revokedAt,
    })
    .from(eachRow(routes))
    .leftJoin(apps, isListedApp)
    .orderBy(rowPlace)
    .all();
}
