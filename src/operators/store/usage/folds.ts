import { type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { firstRequestIdAt } from "../../../core/request-id.ts";
import { events } from "../../../core/store/event-schema.ts";
import { apps, homeSites } from "../../../core/store/schema.ts";
import { refusals } from "../journal-schema.ts";
import { countedEvents, folds, usage, usageDays } from "../usage-schema.ts";

/** This file stores how far counting is in a home. */

/** A text below the ids of calls at this time or later, and above the ids of earlier calls. @param at SQL, in Unix seconds */
export const idAt = (at: SQL) =>
  sql`(SELECT substr(id, 1, 8) || '-' || substr(id, 9) FROM (SELECT printf('%012x', (${at}) * 1000) AS id))`;

/**
 * How far a nonce's time may be from its call's id: it is taken when the body has arrived, and clocks differ. With less, a call that was
 * refused although it was carried out could be counted twice.
 */
export const AROUND_SECONDS = 60;

/** The id of the only row of `folds`. */
export const FOLDS_ID = 1;

/** How far counting is, in Unix seconds; null before it has begun. */
export interface CountedUntil {
  noncesUntil: number | null;
  refusalsUntil: number | null;
}

/** @returns null for both when nothing was counted yet */
export async function selectCounted(db: D1Database): Promise<CountedUntil> {
  const { noncesUntil, refusalsUntil } = folds;
  const fold = await drizzle(db).select({ noncesUntil, refusalsUntil }).from(folds).get();
  return fold ?? { noncesUntil: null, refusalsUntil: null };
}

/** What is to be counted or folded in a home: each is 1 or 0. */
export interface DueCounting extends CountedUntil {
  /** Whether there are refused calls after `refusalsUntil` up to `noncesUntil`. */
  hasRefusals: number;
  hasEvents: number;
  hasOldHours: number;
  hasOldDays: number;
}

/** Condition for a row of `folds`: see {@link DueCounting}. */
const hasRefusals = sql`EXISTS (SELECT 1 FROM ${homeSites} CROSS JOIN ${refusals} WHERE ${refusals.siteId} = ${homeSites.siteId}
  AND ${refusals.requestId} >= ${idAt(sql`${folds.refusalsUntil} + 1`)} AND ${refusals.requestId} < ${idAt(sql`${folds.noncesUntil} + 1`)})`;

const hasEvents = sql`EXISTS (SELECT 1 FROM ${homeSites} CROSS JOIN ${events} WHERE ${events.siteId} = ${homeSites.siteId}
  AND ${events.seq} > coalesce((SELECT ${countedEvents.seq} FROM ${countedEvents} WHERE ${countedEvents.siteId} = ${homeSites.siteId}), 0))`;

const startsBefore = (table: typeof usage | typeof usageDays, start: SQLiteColumn, before: number) =>
  sql`EXISTS (SELECT 1 FROM ${homeSites} CROSS JOIN ${apps} CROSS JOIN ${table} WHERE ${apps.siteId} = ${homeSites.siteId}
    AND ${table.siteId} = ${apps.siteId} AND ${table.appid} = ${apps.appid} AND ${start} < ${before})`;

/**
 * Finds all that is due in one query, which reads little when nothing is due.
 *
 * @param hoursSince the first stored hour, in Unix seconds
 * @param daysSince  the first stored day
 */
export async function selectDue(db: D1Database, hoursSince: number, daysSince: number): Promise<DueCounting> {
  return drizzle(
    db,
  ).get<DueCounting>(sql`SELECT ${folds.noncesUntil} AS "noncesUntil", ${folds.refusalsUntil} AS "refusalsUntil",
      ${hasRefusals} AS "hasRefusals", ${hasEvents} AS "hasEvents", ${startsBefore(usage, usage.hour, hoursSince)} AS "hasOldHours",
      ${startsBefore(usageDays, usageDays.day, daysSince)} AS "hasOldDays"
    FROM (SELECT 1) LEFT JOIN ${folds} ON ${folds.id} = ${FOLDS_ID}`);
}

/** Moves `refusals_until` over refused calls that the same batch counts, unless another run has moved it. */
export const passRefusals = (db: D1Database, from: number, to: number) =>
  drizzle(db)
    .update(folds)
    .set({ refusalsUntil: to })
    .where(sql`${folds.id} = ${FOLDS_ID} AND ${folds.refusalsUntil} = ${from}`);

/** Moves `refusals_until` over a time without refused calls, unless there is one by now or another run has moved it. */
export const skipHoursWithoutCalls = (db: D1Database, from: number, to: number) =>
  drizzle(db)
    .update(folds)
    .set({ refusalsUntil: to })
    .where(
      sql`${folds.id} = ${FOLDS_ID} AND ${folds.refusalsUntil} = ${from} AND NOT EXISTS (
        SELECT 1 FROM ${homeSites} CROSS JOIN ${refusals} WHERE ${refusals.siteId} = ${homeSites.siteId}
          AND ${refusals.requestId} >= ${firstRequestIdAt(from + 1)} AND ${refusals.requestId} < ${firstRequestIdAt(to + 1)})`,
    );

/** Notes that all nonces from before `until` (Unix seconds) are counted. The first such time is where counting refused calls begins. */
export const notePassed = (db: D1Database, until: number) =>
  drizzle(db)
    .insert(folds)
    .values({ id: FOLDS_ID, noncesUntil: until - AROUND_SECONDS, refusalsUntil: until - AROUND_SECONDS })
    .onConflictDoUpdate({
      target: folds.id,
      set: {
        noncesUntil: sql`max(coalesce(${folds.noncesUntil}, 0), excluded.nonces_until)`,
        refusalsUntil: sql`coalesce(${folds.refusalsUntil}, excluded.refusals_until)`,
      },
    });
