import { type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { firstRequestIdAt } from "../../../core/request-id.ts";
import { homeSites, nonces } from "../../../core/store/schema.ts";
import { isOfThisHome, type Refusal } from "../home/refusals.ts";
import { refusals } from "../journal-schema.ts";
import { eachRow, rowField } from "../json-rows.ts";
import { counters, folds, usage, WHOLE_HOME } from "../usage-schema.ts";
import { AROUND_SECONDS, FOLDS_ID, idAt, passRefusals } from "./folds.ts";

/**
 * This file counts signed calls into `usage` and `counters`. Each statement must be in a batch after which its calls cannot be counted
 * again. So each call is counted once, even when a batch is repeated.
 */

const HOUR = 3_600;

/** The current value of `copies`. */
export const copiesNow = sql`coalesce((SELECT ${folds.copies} FROM ${folds} WHERE ${folds.id} = ${FOLDS_ID}), 0)`;

/** How many networks an hour has for each outcome and secret. */
const MOST_NETWORKS = 8;

/** Adds calls to their hours and counters. @param calls a SELECT of site_id, appid, operation, outcome, secret, client, calls and at */
function addCounts(db: D1Database, calls: SQL) {
  const store = drizzle(db);
  const hour = sql`at - at % ${HOUR}`;
  // Anybody can send calls that no secret verifies, so their networks are left out.
  const byNetwork = sql`SELECT site_id, appid, operation, outcome, secret, CASE WHEN secret <> '' THEN client END AS network, sum(calls) AS calls,
      max(at) AS last_at, ${hour} AS hour,
      row_number() OVER (PARTITION BY site_id, appid, operation, outcome, secret, ${hour} ORDER BY max(at) DESC) AS place
    FROM (${calls}) GROUP BY site_id, appid, operation, outcome, secret, hour, network`;
  const bySecret = sql`SELECT site_id, appid, operation, outcome, secret, sum(calls), max(last_at), hour,
      nullif(json_group_object(network, last_at) FILTER (WHERE network IS NOT NULL AND place <= ${MOST_NETWORKS}), '{}')
    FROM (${byNetwork}) GROUP BY site_id, appid, operation, outcome, secret, hour HAVING sum(calls) > 0`;
  const newestOfBoth = sql`SELECT json_group_object(key, last_at) FROM (SELECT key, max(value) AS last_at FROM (
      SELECT key, value FROM json_each(${usage.networks}) UNION ALL SELECT key, value FROM json_each(excluded.networks))
    GROUP BY key ORDER BY last_at DESC LIMIT ${MOST_NETWORKS})`;
  const isWhole = sql`of.whole = 1`;
  // The calls are grouped before they are counted for the site and for the home: that takes half the time.
  const byOutcome = sql`WITH of_app AS MATERIALIZED (
      SELECT site_id, appid, operation, outcome, sum(calls) AS calls FROM (${calls}) GROUP BY site_id, appid, operation, outcome)
    SELECT CASE WHEN ${isWhole} THEN ${WHOLE_HOME} ELSE site_id END AS site, 'calls',
      CASE WHEN ${isWhole} THEN '' ELSE appid END AS app, operation, outcome, sum(calls), ${copiesNow}
    FROM of_app CROSS JOIN (SELECT 0 AS whole UNION ALL SELECT 1) AS of
    GROUP BY site, app, operation, outcome HAVING sum(calls) > 0`;
  return {
    hours: store
      .insert(usage)
      .select(bySecret)
      .onConflictDoUpdate({
        target: [usage.siteId, usage.appid, usage.hour, usage.operation, usage.outcome, usage.secret],
        set: {
          count: sql`${usage.count} + excluded.count`,
          lastAt: sql`max(${usage.lastAt}, excluded.last_at)`,
          networks: sql`CASE WHEN excluded.networks IS NULL THEN ${usage.networks} ELSE (${newestOfBoth}) END`,
        },
      }),
    counters: addToCounters(db, byOutcome),
  };
}

/** Adds to counters. @param rows a SELECT of all columns, with one row for each key */
export const addToCounters = (db: D1Database, rows: SQL) =>
  drizzle(db)
    .insert(counters)
    .select(rows)
    .onConflictDoUpdate({
      target: [counters.siteId, counters.name, counters.appid, counters.kind, counters.outcome],
      set: { count: sql`${counters.count} + excluded.count`, roseIn: sql`excluded.rose_in` },
    });

/** What counting needs to know of the contract. */
export interface CallRules {
  /** How long a nonce is kept, in seconds. */
  nonceSeconds: number;
  /** The reasons of refused calls that a nonce counts. */
  nonceReasons: readonly string[];
}

/**
 * Counts the calls of nonces, before they are deleted in the same batch. When the database gave no answer, a call may have been refused
 * although it was carried out. Then its row of the journal is marked, because the call is counted here.
 *
 * @param expired condition for the nonces, at `now` (Unix seconds). Nonces without an operation, of earlier releases, are not counted
 */
export function countNonces(
  db: D1Database,
  expired: SQL | undefined,
  now: number,
  { nonceSeconds, nonceReasons }: CallRules,
) {
  const calls = sql`SELECT site_id, appid, operation, outcome, coalesce(secret, '') AS secret, client, 1 AS calls,
      expires_at - ${nonceSeconds} AS at
    FROM ${nonces} WHERE ${expired} AND operation IS NOT NULL`;
  const until = now - nonceSeconds;
  // Refusals for any reason, because an earlier try of the call may have committed late. When there are none, no nonce is looked at.
  const refusedIds = sql`SELECT request_id FROM ${homeSites} CROSS JOIN ${refusals} AS call WHERE call.site_id = ${homeSites.siteId}
    AND call.request_id >= ${firstUncounted(until - AROUND_SECONDS - FIRST_READING_SECONDS)}
    AND call.request_id < ${firstRequestIdAt(until + AROUND_SECONDS)} AND ${isCountedHere(nonceReasons)}`;
  const isUndone = sql`${refusals.done} IS NULL AND (${refusals.siteId}, ${refusals.requestId}) IN (
    SELECT site_id, owner FROM ${nonces} WHERE EXISTS (${refusedIds}) AND ${expired} AND owner IN (${refusedIds}))`;
  return { ...addCounts(db, calls), marked: drizzle(db).update(refusals).set({ done: 1 }).where(isUndone) };
}

/** How long the first reading of all nonces may take. Counting refused calls begins after it. */
const FIRST_READING_SECONDS = 3_600;

/** An id below all ids of calls that are not counted yet. Before counting begins, `until` is the limit: earlier calls are never counted. */
const firstUncounted = (until: number) =>
  sql`coalesce((SELECT ${idAt(sql`${folds.refusalsUntil} + 1`)} FROM ${folds} WHERE ${folds.id} = ${FOLDS_ID}), ${firstRequestIdAt(until)})`;

const isCountedHere = (nonceReasons: readonly string[]) =>
  sql`reason NOT IN (SELECT value FROM json_each(${JSON.stringify(nonceReasons)}))`;

/**
 * Counts the refused calls after `from` up to `to` (Unix seconds) and moves `refusals_until` there. Does nothing when `refusals_until` is
 * no longer `from`: another run has counted these calls.
 */
export function countRefusals(db: D1Database, from: number, to: number, { nonceReasons }: CallRules) {
  const isStillThere = sql`EXISTS (SELECT 1 FROM ${folds} WHERE ${folds.id} = ${FOLDS_ID} AND ${folds.refusalsUntil} = ${from})`;
  const calls = sql`SELECT ${refusals.siteId} AS site_id, appid, operation, reason AS outcome, coalesce(secret, '') AS secret, client,
      skipped + (done IS NULL) AS calls, at
    FROM ${homeSites} CROSS JOIN ${refusals} WHERE ${isStillThere} AND ${refusals.siteId} = ${homeSites.siteId}
      AND ${refusals.requestId} >= ${firstRequestIdAt(from + 1)} AND ${refusals.requestId} < ${firstRequestIdAt(to + 1)}
      AND ${isCountedHere(nonceReasons)}`;
  return { ...addCounts(db, calls), passed: passRefusals(db, from, to) };
}

/** Counts rows of the journal that come too late for {@link countRefusals}, before they are inserted in the same batch. */
export function countLate(db: D1Database, rows: unknown[], { nonceReasons }: CallRules) {
  const columnOf = (name: keyof Refusal) => rowField(`$.${name}`);
  const isRefusalStored = sql`EXISTS (SELECT 1 FROM ${refusals} WHERE ${refusals.siteId} = ${columnOf("siteId")}
    AND ${refusals.requestId} = ${columnOf("requestId")})`;
  const calls = sql`SELECT site_id, appid, operation, reason AS outcome, coalesce(secret, '') AS secret, client, skipped + 1 AS calls, at
    FROM (SELECT ${columnOf("siteId")} AS site_id, ${columnOf("appid")} AS appid, ${columnOf("operation")} AS operation, ${columnOf("reason")} AS reason,
        ${columnOf("secret")} AS secret, ${columnOf("client")} AS client, ${columnOf("skipped")} AS skipped, ${columnOf("at")} AS at
      FROM ${eachRow(rows)}
      WHERE NOT ${isRefusalStored} AND ${isOfThisHome(sql`each_row.value`)} AND ${columnOf("requestId")} IS NOT NULL AND ${columnOf("status")} IS NOT NULL
        AND ${columnOf("at")} <= (SELECT ${folds.refusalsUntil} FROM ${folds} WHERE ${folds.id} = ${FOLDS_ID})
      GROUP BY ${columnOf("siteId")}, ${columnOf("requestId")})
    WHERE ${isCountedHere(nonceReasons)} AND operation IS NOT NULL AND skipped >= 0`;
  return addCounts(db, calls);
}
