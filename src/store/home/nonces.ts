import { sql } from "drizzle-orm";
import { nonces } from "../schema.ts";
import { statement } from "../statement.ts";

const select = statement<{ appid: string; ranstr: string; now: number }>(
  (v) => sql`SELECT ${nonces.outcome} AS "outcome", ${nonces.sessionId} AS "sessionId" FROM ${nonces}
    WHERE ${nonces.appid} = ${v.appid} AND ${nonces.ranstr} = ${v.ranstr} AND ${nonces.expiresAt} > ${v.now}`,
);

/** What became of the request that used a ranstr, while it is remembered. Changes nothing. */
export function findNonce(db: D1Database, appid: string, ranstr: string, now: number) {
  return select(db, { appid, ranstr, now }).first<{ outcome: string; sessionId: number | null }>();
}
