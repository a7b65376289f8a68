import { and, eq, notInArray } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../runtime.ts";
import { APP_ROW, type AppRow } from "./apps.ts";
import { withRetries } from "./run-batch.ts";
import { appRoutes, apps, ENDED_STATUSES, sites } from "./schema.ts";

/** Condition: a site is not being deleted. */
export const hasNotEnded = notInArray(sites.status, [...ENDED_STATUSES]);

export interface Route {
  siteId: number;
  home: string;
  /** The app itself, when its home is the directory's own database; else null. Also null when that home does not have the app. */
  app: AppRow | null;
}

/**
 * Finds the site and the home of an app, in one statement. The apps of a site that ends are unknown.
 *
 * @param answerBy see {@link withRetries}
 */
export async function selectRoute(
  runtime: Runtime,
  db: D1Database,
  appid: string,
  answerBy?: number,
): Promise<Route | undefined> {
  const here = and(eq(apps.siteId, appRoutes.siteId), eq(apps.appid, appRoutes.appid));
  const find = () =>
    drizzle(db)
      .select({ siteId: appRoutes.siteId, home: sites.home, app: APP_ROW })
      .from(appRoutes)
      .innerJoin(sites, eq(sites.id, appRoutes.siteId))
      .leftJoin(apps, here)
      .where(and(eq(appRoutes.appid, appid), hasNotEnded))
      .get();
  return withRetries(runtime, find, answerBy);
}
