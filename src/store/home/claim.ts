import { type SQL, sql } from "drizzle-orm";
import { apps, idempotencyKeys, nonces } from "../schema.ts";
import { insertInto, type Placeholders, statement, takeExcluded } from "../statement.ts";

/**
 * The claim on a ranstr: the first statement of every batch, its gate and its decision.
 *
 * Gate: the app is there, of that very site, not revoked, and the secret that verified is still good, whatever a cache believed.
 * Decision: computed once, by whoever claims, and kept in the nonce row. Every later statement asks for "the nonce that this very
 * try made says accepted". So a replay (another owner) changes nothing, and the Worker's own second try (same owner, another
 * attempt) only reads what the first decided: it cannot bring back what was erased in between.
 */

export type Operation = "create_session" | "add_agents";

/** Who is asking, and under which claim. Every batch is bound to one. */
export type Claim = {
  appid: string;
  siteId: number;
  /** The version of the secret that verified the signature. */
  secretVersion: string;
  ranstr: string;
  /** A fresh random id per request, never the caller's: it tells the Worker's own retry from a replay. */
  owner: string;
  /** Which try of the request this is, from 1. No two tries of one owner have the same. */
  attempt: number;
  /** Unix seconds. */
  now: number;
  nonceExpiresAt: number;
  /** The caller's Idempotency-Key, or null without one. */
  key: string | null;
  /** SHA-256 of what the request means, in hex; compared only when there is a key. */
  meaning: string;
  keyExpiresAt: number;
};

/** A claim before it is known which try of the request makes it. */
export type Request<Values extends Claim = Claim> = Omit<Values, "attempt">;

/** What any operation may come to, and what it adds of its own. */
type Own<Outcome extends string> = "accepted" | "repeated" | "key_reused" | Outcome;

/** What the batch's last statement says of the claim. */
export type Verdict<Outcome extends string> =
  | { claim: "held"; outcome: Own<Outcome>; sessionId: number; agents: number[] }
  | { claim: "replayed" }
  | { claim: "credentials_stale" };

/** The secret that verified is the current one, or the one before it while the overlap lasts. */
const appIsGood = (v: Placeholders<Claim>): SQL => sql`${apps.appid} = ${v.appid} AND ${apps.siteId} = ${v.siteId}
  AND ${apps.revokedAt} IS NULL
  AND (${apps.version} = ${v.secretVersion}
    OR (${apps.previousVersion} = ${v.secretVersion} AND ${apps.previousExpiresAt} > ${v.now}))`;

/**
 * Claims the ranstr and decides. An expired nonce of the same name is taken over; a live one is left as it is.
 *
 * @param refusals  SQL `WHEN … THEN 'outcome'` arms, tried in order after the idempotency key
 * @param sessionId the session an accepted request is about
 */
export function claim<Values extends Claim>(
  operation: Operation,
  write: (value: Placeholders<Values>) => {
    refusals: SQL;
    sessionId: SQL;
  },
) {
  return statement<Values>((v) => {
    const { refusals, sessionId } = write(v);
    return sql`WITH decision AS MATERIALIZED (
      SELECT ${idempotencyKeys.sessionId} AS first_session_id, CASE
        WHEN ${idempotencyKeys.meaning} = ${v.meaning} THEN 'repeated'
        WHEN ${idempotencyKeys.meaning} IS NOT NULL THEN 'key_reused'
        ${refusals}
        ELSE 'accepted' END AS outcome
      FROM ${apps} LEFT JOIN ${idempotencyKeys}
        ON ${idempotencyKeys.appid} = ${v.appid} AND ${idempotencyKeys.operation} = ${sql.raw(`'${operation}'`)}
        AND ${idempotencyKeys.key} = ${v.key} AND ${idempotencyKeys.expiresAt} > ${v.now}
      WHERE ${appIsGood(v)})
    ${insertInto(
      nonces,
      nonces.appid,
      nonces.ranstr,
      nonces.owner,
      nonces.attempt,
      nonces.expiresAt,
      nonces.outcome,
      nonces.sessionId,
    )}
    SELECT ${v.appid}, ${v.ranstr}, ${v.owner}, ${v.attempt}, ${v.nonceExpiresAt}, outcome, CASE outcome
      WHEN 'accepted' THEN ${sessionId}
      WHEN 'repeated' THEN first_session_id END
    FROM decision WHERE true
    ON CONFLICT DO UPDATE SET
      ${takeExcluded(nonces.owner, nonces.attempt, nonces.expiresAt, nonces.outcome, nonces.sessionId)}
      WHERE ${nonces.expiresAt} <= ${v.now}`;
  });
}

/** This request made the claim and was accepted. Needs `nonces` in its FROM. */
const mine = (v: Placeholders<Claim>): SQL => sql`${nonces.appid} = ${v.appid} AND ${nonces.ranstr} = ${v.ranstr}
  AND ${nonces.owner} = ${v.owner} AND ${nonces.outcome} = 'accepted'`;

/** The condition that every later statement which writes carries: it was this very try. */
export const accepted = (v: Placeholders<Claim>): SQL => sql`${mine(v)} AND ${nonces.attempt} = ${v.attempt}`;

/** It was an earlier try, whose answer was lost. */
export const acceptedBefore = (v: Placeholders<Claim>): SQL => sql`${mine(v)} AND ${nonces.attempt} <> ${v.attempt}`;

/** Remembers the answer under the caller's Idempotency-Key; part of a batch only when there is one. */
export const rememberKey = (operation: Operation) =>
  statement<Claim>(
    (v) => sql`${insertInto(
      idempotencyKeys,
      idempotencyKeys.appid,
      idempotencyKeys.operation,
      idempotencyKeys.key,
      idempotencyKeys.meaning,
      idempotencyKeys.sessionId,
      idempotencyKeys.expiresAt,
    )}
    SELECT ${v.appid}, ${sql.raw(`'${operation}'`)}, ${v.key}, ${v.meaning}, ${nonces.sessionId}, ${v.keyExpiresAt}
    FROM ${nonces} WHERE ${accepted(v)}
    ON CONFLICT DO UPDATE
      SET ${takeExcluded(idempotencyKeys.meaning, idempotencyKeys.sessionId, idempotencyKeys.expiresAt)}
      WHERE ${idempotencyKeys.expiresAt} <= ${v.now}`,
  );

/** The row {@link verdict} reads. */
type VerdictRow = {
  app_is_good: number;
  mine: number | null;
  outcome: string | null;
  session_id: number | null;
  agents: string | null;
};

/**
 * The batch's last statement: whose the claim is and what was decided.
 *
 * @param agents the agent ids that a refusal names, as a JSON array in SQL; evaluated only for that refusal
 */
export function selectVerdict<Values extends Claim>(
  write: (value: Placeholders<Values>) => {
    outcome: string;
    agents: SQL;
  },
) {
  return statement<Values>((v) => {
    const named = write(v);
    return sql`SELECT EXISTS (SELECT 1 FROM ${apps} WHERE ${appIsGood(v)}) AS app_is_good,
      ${nonces.owner} = ${v.owner} AS mine, ${nonces.outcome} AS outcome, ${nonces.sessionId} AS session_id,
      CASE ${nonces.outcome} WHEN ${sql.raw(`'${named.outcome}'`)} THEN (${named.agents}) END AS agents
    FROM (SELECT 1) LEFT JOIN ${nonces} ON ${nonces.appid} = ${v.appid} AND ${nonces.ranstr} = ${v.ranstr}`;
  });
}

/** Folds the row of a batch's last statement into a verdict. A claim held is believed first: it was decided while the app was good. */
export function verdict<Outcome extends string>(rows: unknown[][]): Verdict<Outcome> {
  const row = rows.at(-1)?.[0] as VerdictRow;
  if (row.mine === 1) {
    return {
      claim: "held",
      outcome: row.outcome as Outcome,
      sessionId: row.session_id ?? 0,
      agents: JSON.parse(row.agents ?? "[]") as number[],
    };
  }
  return row.app_is_good === 1 ? { claim: "replayed" } : { claim: "credentials_stale" };
}
