import { type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { type FailureCause, webhooks } from "../../../core/store/event-schema.ts";
import { apps } from "../../../core/store/schema.ts";
import { eachRow } from "../json-rows.ts";
import { folds, usage } from "../usage-schema.ts";
import { LAST_WORDS } from "./read-webhooks.ts";

/** This file reads what needs an operator. Each list ends at a limit, because an operator with twenty troubles begins with the first. */

const MOST_WEBHOOKS = 20;

/** A webhook that the Worker has disabled, or that fails. */
export interface TroubledWebhook {
  siteId: number;
  id: string;
  url: string;
  /** Why the Worker disabled it; null while it only fails. */
  disabledReason: string | null;
  /** When it was disabled, or when it began to fail, in Unix seconds. */
  since: number;
  lastStatus: number | null;
  lastError: string | null;
  lastCause: FailureCause | null;
}

/** An app or a webhook whose old secret ends soon. */
export interface RunningOverlap {
  siteId: number;
  kind: "app" | "webhook";
  /** The appid, or the webhook's id. */
  id: string;
  /** The app's name, or the webhook's URL. */
  name: string;
  /** Unix seconds. */
  endsAt: number;
}

const isOfSites = (column: SQL, sites: readonly number[]) =>
  sql`${column} IN (SELECT value FROM ${eachRow([...sites])})`;

/** @param failingBefore webhooks that fail since this time or longer are in trouble, in Unix seconds */
export function selectTroubledWebhooks(
  db: D1Database,
  sites: readonly number[],
  failingBefore: number,
): Promise<TroubledWebhook[]> {
  const isDisabled = sql`${webhooks.status} = 'disabled' AND ${webhooks.disabledReason} IS NOT NULL`;
  const isFailing = sql`${webhooks.status} = 'enabled' AND ${webhooks.failingSince} <= ${failingBefore}`;
  const since = sql`CASE ${webhooks.status} WHEN 'disabled' THEN ${webhooks.disabledAt} ELSE ${webhooks.failingSince} END`;
  return drizzle(
    db,
  ).all<TroubledWebhook>(sql`SELECT ${webhooks.siteId} AS siteId, ${webhooks.id} AS id, ${webhooks.url} AS url,
      ${webhooks.disabledReason} AS disabledReason, coalesce(${since}, 0) AS since,
      ${webhooks.lastStatus} AS lastStatus, ${webhooks.lastCause} AS lastCause, ${LAST_WORDS} AS lastError
    FROM ${webhooks} WHERE ${isOfSites(sql`${webhooks.siteId}`, sites)} AND (${isDisabled} OR ${isFailing})
    ORDER BY disabledReason IS NULL, since DESC LIMIT ${MOST_WEBHOOKS}`);
}

/** The overlaps of two secrets that run at `now` (Unix seconds), in the order of their ends. */
export function selectRunningOverlaps(
  db: D1Database,
  sites: readonly number[],
  now: number,
): Promise<RunningOverlap[]> {
  return drizzle(db).all<RunningOverlap>(sql`
    SELECT ${apps.siteId} AS siteId, 'app' AS kind, ${apps.appid} AS id, ${apps.name} AS name, ${apps.previousExpiresAt} AS endsAt
      FROM ${apps} WHERE ${isOfSites(sql`${apps.siteId}`, sites)} AND ${apps.previousExpiresAt} > ${now} AND ${apps.revokedAt} IS NULL
    UNION ALL
    SELECT ${webhooks.siteId}, 'webhook', ${webhooks.id}, ${webhooks.url}, ${webhooks.previousExpiresAt}
      FROM ${webhooks} WHERE ${isOfSites(sql`${webhooks.siteId}`, sites)} AND ${webhooks.previousExpiresAt} > ${now}
    ORDER BY endsAt LIMIT ${MOST_WEBHOOKS}`);
}

/** A reason for which clearly more calls of a site are refused than before. */
export interface RisenReason {
  siteId: number;
  reason: string;
  /** Counted refused calls of the last 24 hours, including the current hour. */
  count: number;
  /** Refused calls a day, as a mean of the seven days before. */
  daily: number;
}

/** The most apps of a home whose usage is read: each has some hundred rows a week. */
const MOST_APPS = 100;

/** Fewer refusals than this in 24 hours are no rise, even when there were none before. */
const LEAST_RISEN = 10;

/**
 * The reasons for which at least ten calls were refused in 24 hours, and at least twice as many as on a mean day of the week before. The
 * most frequent comes first. Empty before the first run of the cron.
 */
export function selectRisenReasons(db: D1Database, sites: readonly number[]): Promise<RisenReason[]> {
  const recent = sql`sum(CASE WHEN ${usage.hour} >= counted.until - 86400 THEN ${usage.count} ELSE 0 END)`;
  const before = sql`sum(CASE WHEN ${usage.hour} < counted.until - 86400 THEN ${usage.count} ELSE 0 END)`;
  // The query begins with the apps, because the table of usage is in the order of apps and then of time.
  return drizzle(db).all<RisenReason>(sql`
    SELECT ${usage.siteId} AS siteId, ${usage.outcome} AS reason, ${recent} AS count, ${before} / 7.0 AS daily
    FROM (SELECT ${folds.refusalsUntil} - ${folds.refusalsUntil} % 3600 + 3600 AS until FROM ${folds} WHERE ${folds.refusalsUntil} IS NOT NULL)
        AS counted
      CROSS JOIN (SELECT ${apps.siteId} AS site, ${apps.appid} AS app FROM ${apps}
        WHERE ${isOfSites(sql`${apps.siteId}`, sites)} AND ${apps.revokedAt} IS NULL LIMIT ${MOST_APPS}) AS looked CROSS JOIN ${usage}
    WHERE ${usage.siteId} = looked.site AND ${usage.appid} = looked.app
      AND ${usage.hour} >= counted.until - 8 * 86400 AND ${usage.hour} < counted.until
      AND ${usage.outcome} NOT IN ('accepted', 'repeated')
    GROUP BY ${usage.siteId}, ${usage.outcome}
    HAVING ${recent} >= ${LEAST_RISEN} AND ${recent} >= 2 * ${before} / 7.0
    ORDER BY count DESC, siteId, reason LIMIT ${MOST_WEBHOOKS}`);
}
