import { and, eq, getTableColumns } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../runtime.ts";
import { APP_ROW, type AppRow } from "../home/apps.ts";
import { withRetries } from "../run-batch.ts";
import { appRoutes, apps, sites } from "../schema.ts";

/** Where an app is. */
export interface Route {
  siteId: number;
  home: string;
  /** The app itself, when its home is the directory's own database and has it; else null. */
  app: AppRow | null;
}

/**
 * Finds where an app is, in one statement.
 *
 * @param answerBy see {@link withRetries}
 */
export async function findRoute(
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
      .where(eq(appRoutes.appid, appid))
      .get();
  return withRetries(runtime, find, answerBy);
}

/** Routes an appid to a site, unless it has a route. @returns the id of the site that it leads to */
export async function insertRoute(
  runtime: Runtime,
  db: D1Database,
  route: typeof appRoutes.$inferInsert,
): Promise<number> {
  const store = drizzle(db);
  const batch = () =>
    store.batch([
      store.insert(appRoutes).values(route).onConflictDoNothing(),
      store.select(getTableColumns(appRoutes)).from(appRoutes).where(eq(appRoutes.appid, route.appid)),
    ]);
  const [, [stored]] = await withRetries(runtime, batch);
  return stored?.siteId ?? route.siteId;
}
