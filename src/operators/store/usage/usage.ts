import { and, asc, eq, gte, lte, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { apps } from "../../../core/store/schema.ts";
import { usage, usageDays } from "../usage-schema.ts";

/** This file reads usage: only counts, never the calls themselves. */

/** Calls of one app, operation and outcome in an hour or a day. */
export interface UsageItem {
  /** When the hour or the day begins, in Unix seconds. */
  at: number;
  appid: string;
  /** The operation's name. */
  operation: string;
  /** The outcome of a nonce, or the reason of a refusal. */
  outcome: string;
  count: number;
}

/** The wanted part of a site's usage. Both times are included. */
interface UsageRange {
  appid: string | undefined;
  since: number;
  until: number;
  limit: number;
}

const DAY = 86_400;

/** The query begins with the site's apps, because the tables are in the order of apps and then of time. */
const rowsOf = (
  table: typeof usage | typeof usageDays,
  siteId: number,
  appid: string | undefined,
  inRange: SQL | undefined,
) =>
  and(
    eq(apps.siteId, siteId),
    appid === undefined ? undefined : eq(apps.appid, appid),
    eq(table.siteId, apps.siteId),
    eq(table.appid, apps.appid),
    inRange,
  );

/** A site's usage by hours, in the order of time. */
export function selectHours(
  db: D1Database,
  siteId: number,
  { appid, since, until, limit }: UsageRange,
): Promise<UsageItem[]> {
  const { hour, operation, outcome, count } = usage;
  return drizzle(db)
    .select({ at: hour, appid: usage.appid, operation, outcome, count: sql<number>`sum(${count})`.as("calls") })
    .from(apps)
    .crossJoin(usage)
    .where(rowsOf(usage, siteId, appid, and(gte(hour, since), lte(hour, until))))
    .groupBy(hour, usage.appid, operation, outcome)
    .orderBy(asc(hour), asc(usage.appid), asc(operation), asc(outcome))
    .limit(limit)
    .all();
}

/** A site's usage by days of UTC, in the order of time. The newest days are still in hours. */
export function selectDays(
  db: D1Database,
  siteId: number,
  { appid, since, until, limit }: UsageRange,
): Promise<UsageItem[]> {
  const store = drizzle(db);
  const hours = store
    .select({ ...keyOf(usage), at: sql<number>`${usage.hour} - ${usage.hour} % ${DAY}`.as("day") })
    .from(apps)
    .crossJoin(usage)
    .where(rowsOf(usage, siteId, appid, and(gte(usage.hour, since), lte(usage.hour, until + DAY - 1))));
  const days = store
    .select({ ...keyOf(usageDays), at: usageDays.day })
    .from(apps)
    .crossJoin(usageDays)
    .where(rowsOf(usageDays, siteId, appid, and(gte(usageDays.day, since), lte(usageDays.day, until))));
  return store.all(sql`SELECT day AS at, appid, operation, outcome, sum(count) AS count FROM (${hours.getSQL()} UNION ALL ${days.getSQL()})
    WHERE day >= ${since} AND day <= ${until} GROUP BY day, appid, operation, outcome ORDER BY day, appid, operation, outcome LIMIT ${limit}`);
}

const keyOf = ({ appid, operation, outcome, count }: typeof usage | typeof usageDays) => ({
  appid,
  operation,
  outcome,
  count,
});

/** The number of calls of one operation with one outcome, of one app or of all apps of a site. */
export type OutcomeCount = Pick<UsageItem, "at" | "operation" | "outcome" | "count">;

/**
 * The calls of a site by days of UTC, operation and outcome.
 *
 * @param since when the first hour begins, in Unix seconds
 * @param until when the last hour begins
 */
export function selectOutcomes(
  db: D1Database,
  siteId: number,
  { appid, since, until }: Pick<UsageRange, "appid" | "since" | "until">,
): Promise<OutcomeCount[]> {
  const { hour, operation, outcome, count } = usage;
  const day = sql<number>`${hour} - ${hour} % ${DAY}`;
  return drizzle(db)
    .select({ at: day.as("day"), operation, outcome, count: sql<number>`sum(${count})`.as("calls") })
    .from(apps)
    .crossJoin(usage)
    .where(rowsOf(usage, siteId, appid, and(gte(hour, since), lte(hour, until))))
    .groupBy(day, operation, outcome)
    .all();
}

/** When an app's secrets were last used, in Unix seconds; null for never, as far as usage is stored. */
export interface LastUse {
  appid: string;
  /** The last call that a secret of the app has verified. */
  lastUsedAt: number | null;
  /** The last call that its previous secret has verified; null also when it has none. */
  previousSecretUsedAt: number | null;
}

/** The last uses of a site's apps, in the order of the appids. Reads each app from its newest hour back. */
export async function selectLastUses(db: D1Database, siteId: number, appid: string | undefined): Promise<LastUse[]> {
  const lastUse = (table: typeof usage | typeof usageDays, start: string, verified: SQL) =>
    sql`(SELECT ${table.lastAt} FROM ${table} WHERE ${table.siteId} = ${apps.siteId} AND ${table.appid} = ${apps.appid} AND ${verified}
      ORDER BY ${sql.identifier(start)} DESC, ${table.lastAt} DESC LIMIT 1)`;
  const lastOf = (verified: (table: typeof usage | typeof usageDays) => SQL) =>
    sql`coalesce(${lastUse(usage, "hour", verified(usage))}, ${lastUse(usageDays, "day", verified(usageDays))})`;
  const isAskedApp = appid === undefined ? undefined : eq(apps.appid, appid);
  return drizzle(
    db,
  ).all(sql`SELECT ${apps.appid} AS "appid", ${lastOf(({ secret }) => sql`${secret} <> ''`)} AS "lastUsedAt",
      CASE WHEN ${apps.previousVersion} IS NOT NULL THEN ${lastOf(({ secret }) => sql`${secret} = ${apps.previousVersion}`)} END
        AS "previousSecretUsedAt"
    FROM ${apps} WHERE ${and(eq(apps.siteId, siteId), isAskedApp)} ORDER BY ${apps.appid}`);
}

/** The secrets of an app as its operators know them: the one in use, the one before it while it is stored, and any other. */
export type NamedSecret = "current" | "previous" | "ended";

/** The last call that a secret has verified from a network, as far as usage by hours is stored. */
export interface NetworkUse {
  secret: NamedSecret;
  /** /24 of IPv4, /48 of IPv6. */
  network: string;
  /** Unix seconds. */
  lastUsedAt: number;
}

/** From which networks an app's secrets were used, the last use first. Each hour knows only the newest networks. */
export function selectNetworkUses(
  db: D1Database,
  siteId: number,
  { appid, since, limit }: Omit<UsageRange, "until">,
): Promise<NetworkUse[]> {
  return drizzle(
    db,
  ).all(sql`SELECT CASE ${usage.secret} WHEN ${apps.version} THEN 'current' WHEN ${apps.previousVersion} THEN 'previous' ELSE 'ended' END
      AS "secret", network.key AS "network", max(network.value) AS "lastUsedAt"
    FROM ${apps} CROSS JOIN ${usage} CROSS JOIN json_each(${usage.networks}) AS network
    WHERE ${rowsOf(usage, siteId, appid, gte(usage.hour, since))}
    GROUP BY 1, network.key ORDER BY "lastUsedAt" DESC, network.key LIMIT ${limit}`);
}
