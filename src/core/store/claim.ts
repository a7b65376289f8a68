import { type Column, getTableColumns, getTableName, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { apps, homeSites, idempotencyKeys, nonces, sessions } from "./schema.ts";
import { type Bindable, insertInto, type Placeholders, type Statement, statement, takeExcluded } from "./statement.ts";

/**
 * The claim on a ranstr, the first statement of every batch. It has a gate and a decision.
 * The gate reads the home and no cache. The site must be here and open, the app must belong to it and not be revoked, the secret that
 * verified must still be valid, and the caller's record must be right about whether the site has events.
 * The decision is made once, by the try that makes the claim, and is stored in the nonce row. Every later statement requires that
 * this same try made the row, and that its outcome is `accepted`. So a replay (another owner) changes nothing. A second try of the
 * Worker (same owner, another attempt) only reads the decision: it cannot bring back what was deleted in between.
 */

/** The values that the claim of a request binds. */
export type Claim = {
  appid: string;
  siteId: number;
  /** The version of the secret that verified the signature. */
  secretVersion: string;
  /** The network of the client, or null when it is not known. */
  clientNetwork: string | null;
  /** 1 when the site has events according to the record that verified, otherwise 0. With 0 a batch has no statements for events. */
  events: number;
  ranstr: string;
  /** The id of this request. It distinguishes the Worker's own retry from a replay. */
  owner: string;
  /** The number of the try, from 1. No two tries of one owner have the same number. */
  attempt: number;
  /** Unix seconds. */
  now: number;
  nonceExpiresAt: number;
  /** The caller's Idempotency-Key, or null without one. */
  key: string | null;
  /** See core/signed/fingerprint.ts. Compared only when there is a key. */
  fingerprint: string;
  keyExpiresAt: number;
  /** The id of the event that an accepted request leaves. */
  eventId: string;
};

/** A claim without the number of its try. */
export type ClaimRequest<Values extends Claim = Claim> = Omit<Values, "attempt">;

/** The rules of an operation's decision, in SQL. */
export interface Decision<Values> {
  /** The operation's name in the tables of nonces and of idempotency keys. */
  name: string;
  /** Checked in order, after the idempotency key. The name of the first rule whose condition holds is the outcome. */
  refusals: Record<
    string,
    { when: (value: Placeholders<Values>) => SQL; named?: (value: Placeholders<Values>) => SQL }
  >;
  /** The id of the session that an accepted request creates or changes. */
  sessionId: (value: Placeholders<Values>) => SQL;
  /** Whether the accepted request that used the ranstr may be this same request. It may use that request's row of `nonces`. */
  mayBeItself: (value: Placeholders<Values>) => SQL;
}

/** FROM for {@link appIsGood}. */
const SITE_AND_APP = sql`${homeSites} JOIN ${apps} ON ${apps.siteId} = ${homeSites.siteId}`;

/** The gate without the site's status. The secret that verified must be the current one, or the previous one during an overlap. */
const appIsGood = (
  v: Placeholders<Claim>,
): SQL => sql`${homeSites.siteId} = ${v.siteId} AND ${homeSites.events} = ${v.events}
  AND ${apps.appid} = ${v.appid}
  AND ${apps.revokedAt} IS NULL
  AND (${apps.version} = ${v.secretVersion}
    OR (${apps.previousVersion} = ${v.secretVersion} AND ${apps.previousExpiresAt} > ${v.now}))`;

/** A constant of the code as an SQL string. Never use it for a caller's value. */
export const literal = (text: string): SQL => sql.raw(`'${text.replaceAll("'", "''")}'`);

/** The outcome as a column, with the first session of a repeated request. Needs `idempotency_keys` in FROM. */
function decisionOf<Values extends Claim>(decision: Decision<Values>, v: Placeholders<Values>): SQL {
  const arms = Object.entries(decision.refusals).map(([outcome, { when }]) => {
    return sql`WHEN ${when(v)} THEN ${literal(outcome)}`;
  });
  return sql`${idempotencyKeys.sessionId} AS first_session_id, CASE
      WHEN ${idempotencyKeys.fingerprint} = ${v.fingerprint} THEN 'repeated'
      WHEN ${idempotencyKeys.fingerprint} IS NOT NULL THEN 'key_reused'
      ${sql.join(arms, sql.raw(" "))}
      ELSE 'accepted' END AS outcome`;
}

/** Joins the row of the caller's idempotency key. Without a key there is no such row. */
const joinKey = (
  { name }: Pick<Decision<never>, "name">,
  v: Placeholders<Claim>,
): SQL => sql`LEFT JOIN ${idempotencyKeys}
  ON ${idempotencyKeys.siteId} = ${v.siteId} AND ${idempotencyKeys.appid} = ${v.appid} AND ${idempotencyKeys.operation} = ${literal(name)}
  AND ${idempotencyKeys.key} = ${v.key} AND ${idempotencyKeys.expiresAt} > ${v.now}`;

/** The agents that the outcome's detail names, as JSON. Evaluated only for outcomes that name agents. */
function namedBy<Values extends Claim>(decision: Decision<Values>, outcome: SQL, v: Placeholders<Values>): SQL {
  const arms = Object.entries(decision.refusals).flatMap(([name, { named }]) => {
    return named === undefined ? [] : [sql`WHEN ${literal(name)} THEN (${named(v)})`];
  });
  return arms.length === 0 ? sql`NULL` : sql`CASE ${outcome} ${sql.join(arms, sql.raw(" "))} END`;
}

/** Claims the ranstr and decides. An expired nonce of the same ranstr is replaced; a valid one stays. */
export function claim<Values extends Claim & Record<string, Bindable>>(decision: Decision<Values>): Statement<Values> {
  const { owner, attempt, expiresAt, outcome, sessionId, operation, secret, client } = nonces;
  const written = [owner, attempt, expiresAt, outcome, sessionId, operation, secret, client];
  return statement<Values>(
    (v) => sql`WITH decision AS MATERIALIZED (
      SELECT ${decisionOf(decision, v)} FROM ${SITE_AND_APP} ${joinKey(decision, v)}
      WHERE ${appIsGood(v)} AND ${homeSites.status} = 'open')
    ${insertInto(nonces, nonces.siteId, nonces.appid, nonces.ranstr, ...written)}
    SELECT ${v.siteId}, ${v.appid}, ${v.ranstr}, ${v.owner}, ${v.attempt}, ${v.nonceExpiresAt}, outcome, CASE outcome
      WHEN 'accepted' THEN ${decision.sessionId(v)}
      WHEN 'repeated' THEN first_session_id END, ${literal(decision.name)}, ${v.secretVersion}, ${v.clientNetwork}
    FROM decision WHERE true
    ON CONFLICT DO UPDATE SET
      ${takeExcluded(...written)}
      WHERE ${nonces.expiresAt} <= ${v.now}`,
  );
}

/** Condition for the row of `nonces` of this ranstr. */
const sameNonce = (v: Placeholders<Pick<Claim, "siteId" | "appid" | "ranstr">>): SQL =>
  sql`${nonces.siteId} = ${v.siteId} AND ${nonces.appid} = ${v.appid} AND ${nonces.ranstr} = ${v.ranstr}`;

/** Condition: this request made the claim and was accepted. Needs `nonces` in FROM. */
const isMine = (v: Placeholders<Claim>): SQL => sql`${sameNonce(v)} AND ${nonces.owner} = ${v.owner}
  AND ${nonces.outcome} = 'accepted'`;

/** Condition: this very try made the claim and was accepted. */
const isAccepted = (v: Placeholders<Claim>): SQL => sql`${isMine(v)} AND ${nonces.attempt} = ${v.attempt}`;

/** Condition: an earlier try of this request was accepted, and its answer was lost. */
export const wasAcceptedBefore = (v: Placeholders<Claim>): SQL =>
  sql`EXISTS (SELECT 1 FROM ${nonces} WHERE ${isMine(v)} AND ${nonces.attempt} <> ${v.attempt})`;

/** The highest id of a site's sessions; 0 when it has none. */
export const newestSessionId = (siteId: Column | SQL): SQL =>
  sql`coalesce((SELECT max(${sessions.id}) FROM ${sessions} WHERE ${sessions.siteId} = ${siteId}), 0)`;

/**
 * The id of a site's next session. It is computed inside the transaction and stored in the nonce row, so that a second try finds the
 * same id. A counter would cost a written row.
 */
export const nextSessionId = (v: Placeholders<Pick<Claim, "siteId">>): SQL =>
  sql`(SELECT max(${homeSites.chatIdFloor}, ${newestSessionId(homeSites.siteId)}) + 1
    FROM ${homeSites} WHERE ${homeSites.siteId} = ${v.siteId})`;

const GATED = Symbol("gated");

/** A write that does nothing unless this very try made the claim and was accepted. Only the two functions below can make one. */
export interface GatedWrite {
  readonly [GATED]: SQL;
}

type ColumnValues<Table extends SQLiteTable> = { [Name in keyof Table["_"]["columns"]]?: SQL | Column };

/** The columns that have values, and the values in the same order. */
function columnsOf<Table extends SQLiteTable>(table: Table, values: ColumnValues<Table>): [Column[], SQL[]] {
  const columns: Record<string, Column> = getTableColumns(table);
  const pairs = Object.entries(values).map(([name, value]): [Column, SQL] => {
    const column = columns[name];
    if (column === undefined) throw new TypeError(`${getTableName(table)} has no column ${name}`);
    return [column, sql`${value}`];
  });
  return [pairs.map(([column]) => column), pairs.map(([, value]) => value)];
}

/**
 * Inserts rows when the request is accepted. `nonces.sessionId` is the request's session.
 *
 * @param values    of each row; a missing column gets its default
 * @param join      further tables for the rows; without it there is one row
 * @param where     which of these rows
 * @param conflict  what to do when the row exists; by default nothing
 * @param returning a column of the inserted rows that the statement returns
 */
export function insertAccepted<Table extends SQLiteTable>(
  v: Placeholders<Claim>,
  table: Table,
  values: ColumnValues<Table>,
  { join, where, conflict, returning }: { join?: SQL; where?: SQL; conflict?: SQL; returning?: Column } = {},
): GatedWrite {
  const [columns, selected] = columnsOf(table, values);
  return {
    [GATED]: sql`${insertInto(table, ...columns)} SELECT ${sql.join(selected, sql.raw(", "))}
      FROM ${nonces} ${join ?? sql``} WHERE ${isAccepted(v)} ${where === undefined ? sql`` : sql`AND (${where})`}
      ON CONFLICT ${conflict ?? sql`DO NOTHING`}
      ${returning === undefined ? sql`` : sql`RETURNING ${sql.identifier(returning.name)}`}`,
  };
}

/** Updates rows when the request is accepted. A second try updates nothing. */
export function updateAccepted<Table extends SQLiteTable>(
  v: Placeholders<Claim>,
  table: Table,
  values: ColumnValues<Table>,
  where: SQL,
): GatedWrite {
  const [columns, changed] = columnsOf(table, values);
  const assignments = columns.map((column, i) => sql`${sql.identifier(column.name)} = ${changed[i]}`);
  return {
    [GATED]: sql`UPDATE ${table} SET ${sql.join(assignments, sql.raw(", "))}
      WHERE (${where}) AND EXISTS (SELECT 1 FROM ${nonces} WHERE ${isAccepted(v)})`,
  };
}

export const gatedStatement = <Values extends Claim & Record<string, Bindable>, Returned = unknown>(
  write: (value: Placeholders<Values>) => GatedWrite,
): Statement<Values, Returned> => statement<Values, Returned>((v) => write(v)[GATED]);

/** Compiles a read. It is wrapped into a SELECT, so it cannot write. */
export const gatedReading = <Values extends Record<string, Bindable>, Read>(
  read: (value: Placeholders<Values>) => SQL,
): Statement<Values, Read> => statement<Values, Read>((v) => sql`SELECT * FROM (${read(v)})`);

/** Stores the answer under the caller's Idempotency-Key. Part of the batch only when there is a key. */
export const rememberKey = ({ name }: Pick<Decision<never>, "name">): Statement<Claim> =>
  gatedStatement<Claim>((v) =>
    insertAccepted(
      v,
      idempotencyKeys,
      {
        siteId: v.siteId,
        appid: v.appid,
        operation: literal(name),
        key: v.key,
        fingerprint: v.fingerprint,
        sessionId: nonces.sessionId,
        expiresAt: v.keyExpiresAt,
      },
      {
        conflict: sql`DO UPDATE
          SET ${takeExcluded(idempotencyKeys.fingerprint, idempotencyKeys.sessionId, idempotencyKeys.expiresAt)}
          WHERE ${idempotencyKeys.expiresAt} <= ${v.now}`,
      },
    ),
  );

/** The row that {@link selectOutcome} reads, the last of a batch. */
export type OutcomeRow = {
  /** The site's status when the caller's record is in force; otherwise null. */
  gate: "open" | "closed" | null;
  /** 1 when this request holds the claim, 0 when another request does, null when there is no claim. */
  mine: number | null;
  outcome: string | null;
  session_id: number | null;
  /** JSON; see `named` of {@link Decision}. */
  named: string | null;
};

/** The last statement of a batch. It reads who holds the claim, and what was decided. */
export function selectOutcome<Values extends Claim & Record<string, Bindable>>(
  decision: Decision<Values>,
): Statement<Values, OutcomeRow> {
  return statement<Values, OutcomeRow>(
    (v) => sql`SELECT (SELECT ${homeSites.status} FROM ${SITE_AND_APP} WHERE ${appIsGood(v)}) AS gate,
      ${nonces.owner} = ${v.owner} AS mine, ${nonces.outcome} AS outcome, ${nonces.sessionId} AS session_id,
      ${namedBy(decision, sql`${nonces.outcome}`, v)} AS named
    FROM (SELECT 1) LEFT JOIN ${nonces} ON ${sameNonce(v)}`,
  );
}

/** The row that {@link previewOutcome} reads. */
export type PreviewRow = Pick<OutcomeRow, "outcome" | "session_id" | "named"> & {
  /** The outcome of the request that used the ranstr; null when none did, or its nonce has expired. */
  used_outcome: string | null;
  used_session_id: number | null;
  may_be_itself: number | null;
};

/** The decision of {@link claim} as a SELECT, without the gate, and the earlier request with the same ranstr. Writes nothing. */
export function previewOutcome<Values extends Claim & Record<string, Bindable>>(
  decision: Decision<Values>,
): Statement<Values, PreviewRow> {
  return statement<Values, PreviewRow>(
    (v) => sql`WITH decision AS MATERIALIZED (SELECT ${decisionOf(decision, v)} FROM (SELECT 1) ${joinKey(decision, v)})
    SELECT decision.outcome AS outcome, CASE decision.outcome WHEN 'repeated' THEN first_session_id END AS session_id,
      ${namedBy(decision, sql.raw("decision.outcome"), v)} AS named,
      ${nonces.outcome} AS used_outcome, ${nonces.sessionId} AS used_session_id,
      CASE WHEN ${nonces.sessionId} IS NOT NULL THEN ${decision.mayBeItself(v)} END AS may_be_itself
    FROM decision LEFT JOIN ${nonces} ON ${sameNonce(v)} AND ${nonces.expiresAt} > ${v.now}`,
  );
}

/** Reads the outcome of the request that used a ranstr, until its nonce expires. */
export const selectUse = statement<Pick<Claim, "siteId" | "appid" | "ranstr" | "now">>(
  (v) => sql`SELECT ${nonces.outcome} AS outcome, ${nonces.sessionId} AS session_id FROM ${nonces}
    WHERE ${sameNonce(v)} AND ${nonces.expiresAt} > ${v.now}`,
);
