import { notInArray, sql } from "drizzle-orm";
import type { Runtime } from "../runtime.ts";
import { type AppRow, appColumns, appOf, type ReadApp } from "./apps.ts";
import { literal } from "./claim.ts";
import { withRetries } from "./run-batch.ts";
import { appRoutes, apps, ENDED_STATUSES, sites } from "./schema.ts";
import { statement } from "./statement.ts";

/** Condition: a site is not being deleted. */
export const notEndedCondition = notInArray(sites.status, [...ENDED_STATUSES]);

export interface Route {
  siteId: number;
  home: string;
  /** The app itself, when its home is the directory's own database. Null for another home, and when the directory has no such app. */
  app: AppRow | null;
}

/** What {@link findRoute} reads. The columns of the app are null when there is no app. */
type ReadRoute = { site: number; home: string } & (ReadApp | { [Name in keyof ReadApp]: null });

const findRoute = statement<{ appid: string }, ReadRoute>(
  (v) => sql`SELECT ${appRoutes.siteId} AS site, ${sites.home} AS home, ${appColumns}
    FROM ${appRoutes} JOIN ${sites} ON ${sites.id} = ${appRoutes.siteId}
      AND ${sites.status} NOT IN (${sql.join(ENDED_STATUSES.map(literal), sql`, `)})
    LEFT JOIN ${apps} ON ${apps.siteId} = ${appRoutes.siteId} AND ${apps.appid} = ${appRoutes.appid}
    WHERE ${appRoutes.appid} = ${v.appid}`,
);

/**
 * Finds the site and the home of an app, in one statement. The apps of a site that is being deleted are unknown.
 *
 * @param answerBy see {@link withRetries}
 */
export async function selectRoute(
  runtime: Runtime,
  db: D1Database,
  appid: string,
  answerBy?: number,
): Promise<Route | undefined> {
  const find = () => findRoute(db, { appid }).all<ReadRoute>();
  const [foundRoute] = (await withRetries(runtime, find, answerBy)).results;
  if (foundRoute === undefined) return undefined;
  const { site, home, ...app } = foundRoute;
  return { siteId: site, home, app: app.appid === null ? null : appOf(app) };
}
