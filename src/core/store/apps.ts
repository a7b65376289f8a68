import { and, eq, getTableColumns, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../runtime.ts";
import { type Watch, withRetries } from "./run-batch.ts";
import { apps, homeSites } from "./schema.ts";

export type App = typeof apps.$inferSelect;

/** The site belongs to an app's key: the same appid in another home is another app. */
export type AppKey = Pick<App, "siteId" | "appid">;

const { name, createdAt, ...ROW } = getTableColumns(apps);

/**
 * Whether the app's site has events. A subquery, so that it fits into every read of `apps`. Its names are raw: where drizzle reads from
 * one table, it leaves the table out of the name of a column.
 */
const events = sql<boolean>`(SELECT home_sites.events FROM home_sites WHERE home_sites.site_id = apps.site_id)`
  .mapWith(homeSites.events)
  .as("site_events");

export const APP_ROW = { ...ROW, events };

/** An app as stored, with sealed secrets, and whether its site has events. Times are Unix seconds. */
export type AppRow = Pick<App, keyof typeof ROW> & { events: boolean };

export const isApp = (key: AppKey) => and(eq(apps.siteId, key.siteId), eq(apps.appid, key.appid));

/**
 * An app of this home; undefined when the home does not have it.
 *
 * @param answerBy see {@link withRetries}
 * @param watch    see {@link withRetries}
 */
export async function selectApp(
  runtime: Runtime,
  db: D1Database,
  key: AppKey,
  answerBy?: number,
  watch?: Watch,
): Promise<AppRow | undefined> {
  const find = () => drizzle(db).select(APP_ROW).from(apps).where(isApp(key)).get();
  return withRetries(runtime, find, answerBy, 0, watch);
}
