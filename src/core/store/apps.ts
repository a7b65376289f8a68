import { and, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import type { Runtime } from "../runtime.ts";
import { type TryWatch, withRetries } from "./run-batch.ts";
import { apps, homeSites } from "./schema.ts";
import { statement } from "./statement.ts";

export type App = typeof apps.$inferSelect;

/** The site belongs to an app's key: the same appid in another home is another app. */
export type AppKey = Pick<App, "siteId" | "appid">;

const { name, createdAt, ...APP_ROW_COLUMNS } = getTableColumns(apps);

/**
 * Whether the app's site has events. A subquery, so that it fits into every read of `apps`. Its names are raw: where drizzle reads from
 * one table, it leaves the table out of the name of a column.
 */
const EVENTS = sql<boolean>`(SELECT home_sites.events FROM home_sites WHERE home_sites.site_id = apps.site_id)`;

/** The columns of an {@link AppRow}, for drizzle's queries. */
export const APP_ROW = { ...APP_ROW_COLUMNS, events: EVENTS.mapWith(homeSites.events).as("site_events") };

/** An app as stored, with sealed secrets, and whether its site has events. Times are Unix seconds. */
export type AppRow = Pick<App, keyof typeof APP_ROW_COLUMNS> & { events: boolean };

/** An {@link AppRow} as {@link appColumns} read it. */
export type ReadApp = Omit<AppRow, "events"> & { events: number };

/** The columns of a {@link ReadApp}, for statements. */
export const appColumns: SQL = sql.join(
  [
    ...Object.entries(APP_ROW_COLUMNS).map(([name, column]) => sql`${column} AS ${sql.identifier(name)}`),
    sql`${EVENTS} AS events`,
  ],
  sql`, `,
);

export const appOf = ({ events, ...row }: ReadApp): AppRow => ({ ...row, events: events === 1 });

export const isApp = (key: AppKey) => and(eq(apps.siteId, key.siteId), eq(apps.appid, key.appid));

const findApp = statement<AppKey, ReadApp>(
  (v) => sql`SELECT ${appColumns} FROM ${apps} WHERE ${apps.siteId} = ${v.siteId} AND ${apps.appid} = ${v.appid}`,
);

/**
 * An app of this home; undefined when the home does not have it.
 *
 * @param answerBy see {@link withRetries}
 * @param watch    see {@link withRetries}
 */
export async function selectApp(
  runtime: Runtime,
  db: D1Database,
  { siteId, appid }: AppKey,
  answerBy?: number,
  watch?: TryWatch,
): Promise<AppRow | undefined> {
  const find = () => findApp(db, { siteId, appid }).all<ReadApp>();
  const [row] = (await withRetries(runtime, find, answerBy, 0, watch)).results;
  return row && appOf(row);
}
