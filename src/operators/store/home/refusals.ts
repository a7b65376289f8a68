import { and, asc, type Column, desc, eq, getTableColumns, gt, gte, lt, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { firstRequestIdAt, timeOfRequest } from "../../../core/request-id.ts";
import { inOneBatch } from "../../../core/store/batch.ts";
import { apps, homeSites, nonces, sessions } from "../../../core/store/schema.ts";
import { insertOrIgnore } from "../../../core/store/statement.ts";
import { siteDeletions } from "../erasure-schema.ts";
import { refusals } from "../journal-schema.ts";
import { firstSince } from "./sessions.ts";

/** A row of the journal: a refused call of a known app. Whether the call was carried out all the same is found out later. */
export type Refusal = Omit<typeof refusals.$inferSelect, "done">;

const { done, ...REFUSAL_COLUMNS } = getTableColumns(refusals);

/** The columns of a row, by their names in a message. */
const COLUMNS = Object.entries(REFUSAL_COLUMNS);

/**
 * Condition: a row of a message belongs to this home. The home must have its app: a cached record may have named a wrong home, or the site
 * may be deleted by now. When the directory knows the appid as this site's, the home must have the site, and it must not be ending.
 *
 * @param row the row as JSON
 */
export const isOfThisHome = (row: SQL): SQL => {
  const [siteId, appid] = [sql`${row} ->> '$.siteId'`, sql`${row} ->> '$.appid'`];
  return sql`(EXISTS (SELECT 1 FROM ${apps} WHERE ${apps.siteId} = ${siteId} AND ${apps.appid} = ${appid})
    OR ${row} ->> '$.isRouted' AND EXISTS (SELECT 1 FROM ${homeSites} WHERE ${homeSites.siteId} = ${siteId})
      AND NOT EXISTS (SELECT 1 FROM ${siteDeletions} WHERE ${siteDeletions.siteId} = ${siteId}))`;
};

/** Inserts rows of the journal. A row that exists does not change. A row that lacks a value or belongs to another home is left out. */
export const insertRefusals = (db: D1Database, rows: unknown[]) =>
  drizzle(db).run(sql`${insertOrIgnore(refusals, ...COLUMNS.map(([, column]) => column))}
    SELECT ${sql.join(
      COLUMNS.map(([name]) => sql`row.value ->> ${sql.raw(`'$.${name}'`)}`),
      sql`, `,
    )}
    FROM json_each(${JSON.stringify(rows)}) AS row
    WHERE ${isOfThisHome(sql`row.value`)}`);

/** The wanted rows of a site's journal. */
export interface RefusalFilter {
  appid?: string | undefined;
  reason?: string | undefined;
  /** The operation's name. */
  operation?: string | undefined;
  /** Unix seconds, both included. */
  since: number;
  until: number;
}

/**
 * How many rows a list with a filter looks at: an index for each filter would cost each refused call one more row. So a page may have fewer
 * rows than asked for, and still not be the last.
 */
export const MOST_READ = 10_000;

/**
 * A site's refused calls with an id below `before`, the newest first.
 *
 * @returns `next`: the id that the next page starts below; null after the last row
 */
export async function selectRefusals(
  db: D1Database,
  siteId: number,
  { appid, reason, operation, since, until }: RefusalFilter,
  before: string | undefined,
  limit: number,
): Promise<{ rows: Refusal[]; next: string | null }> {
  const store = drizzle(db);
  const requestIdAfter = firstRequestIdAt(until + 1);
  const inRange = and(
    eq(refusals.siteId, siteId),
    gte(refusals.requestId, firstRequestIdAt(since)),
    lt(refusals.requestId, before === undefined || before > requestIdAfter ? requestIdAfter : before),
  );
  const looked = store
    .select()
    .from(refusals)
    .where(inRange)
    .orderBy(desc(refusals.requestId))
    .limit(MOST_READ)
    .as("looked");
  const isWanted: SQL | undefined = and(
    appid === undefined ? undefined : eq(looked.appid, appid),
    reason === undefined ? undefined : eq(looked.reason, reason),
    operation === undefined ? undefined : eq(looked.operation, operation),
  );
  const page = store
    .select()
    .from(looked)
    .where(isWanted)
    .limit(limit + 1);
  // Both queries are in one batch: otherwise a row that arrives in between would move the end of what was looked at.
  const { found, end } = await inOneBatch(db, {
    found: page,
    end:
      isWanted &&
      store
        .select({ requestId: refusals.requestId })
        .from(refusals)
        .where(inRange)
        .orderBy(desc(refusals.requestId))
        .limit(1)
        .offset(MOST_READ - 1),
  });
  const rows = found.slice(0, limit);
  if (found.length > limit) return { rows, next: rows.at(-1)?.requestId ?? null };
  return { rows, next: end?.[0]?.requestId ?? null };
}

/** Refused calls of one app for one reason. Calls without a row of their own count too. */
export interface RefusalCount {
  appid: string;
  reason: string;
  calls: number;
}

/** A site with more pairs of an app and a reason gets only the most frequent ones. */
const MOST_COUNTS = 500;

/**
 * How many calls were refused for each app and reason, among a site's newest 10,000 rows of a time, the most frequent first.
 *
 * @returns `isWhole`: false when older rows of that time were not looked at
 */
export async function countRefusals(
  db: D1Database,
  siteId: number,
  { operation, since, until }: Pick<RefusalFilter, "operation" | "since" | "until">,
): Promise<{ counts: RefusalCount[]; isWhole: boolean }> {
  const looked = drizzle(db)
    .select({
      appid: refusals.appid,
      reason: refusals.reason,
      operation: refusals.operation,
      skipped: refusals.skipped,
    })
    .from(refusals)
    .where(
      and(
        eq(refusals.siteId, siteId),
        gte(refusals.requestId, firstRequestIdAt(since)),
        lt(refusals.requestId, firstRequestIdAt(until + 1)),
      ),
    )
    .orderBy(desc(refusals.requestId))
    .limit(MOST_READ);
  const fits = operation === undefined ? sql`1` : sql`operation = ${operation}`;
  const rows = await drizzle(db).all<RefusalCount & { looked: number }>(sql`SELECT appid, reason,
      sum(iif(${fits}, 1 + skipped, 0)) AS calls, count(*) AS looked
    FROM (${looked.getSQL()}) GROUP BY appid, reason ORDER BY calls DESC, appid, reason LIMIT ${MOST_COUNTS}`);
  const counts = rows.filter(({ calls }) => calls > 0).map(({ appid, reason, calls }) => ({ appid, reason, calls }));
  return { counts, isWhole: rows.reduce((sum, each) => sum + each.looked, 0) < MOST_READ };
}

/** The refused call with this id, on any site of a home. */
export function selectRefusal(db: D1Database, requestId: string): Promise<Refusal | undefined> {
  return drizzle(db)
    .select({ refusal: refusals })
    .from(homeSites)
    .crossJoin(refusals)
    .where(and(eq(refusals.siteId, homeSites.siteId), eq(refusals.requestId, requestId)))
    .get()
    .then((row) => row?.refusal);
}

/** How many seconds before and after a call are searched for other calls. A shared row is about the calls of a minute. */
const SECONDS_AROUND = 120;

/** The nearest rows on each side of a call without a row. `leftOut`: how many calls of that time have no row, as the rows say. */
export interface RefusalsAround {
  before: Refusal[];
  after: Refusal[];
  leftOut: number;
}

/** @param siteId undefined for all sites of the home */
export async function selectRefusalsAround(
  db: D1Database,
  { requestId, siteId, limit }: { requestId: string; siteId: number | undefined; limit: number },
): Promise<RefusalsAround> {
  const at = timeOfRequest(requestId);
  const isOfSite = and(
    eq(refusals.siteId, homeSites.siteId),
    siteId === undefined ? undefined : eq(homeSites.siteId, siteId),
  );
  const isLateEnough = gte(refusals.requestId, firstRequestIdAt(at - SECONDS_AROUND));
  const isEarlyEnough = lt(refusals.requestId, firstRequestIdAt(at + SECONDS_AROUND + 1));
  const rows = (range: SQL | undefined, order: SQL) =>
    drizzle(db)
      .select({ refusal: refusals })
      .from(homeSites)
      .crossJoin(refusals)
      .where(and(isOfSite, range))
      .orderBy(order)
      .limit(limit);
  const { before, after, leftOut } = await inOneBatch(db, {
    before: rows(and(isLateEnough, lt(refusals.requestId, requestId)), desc(refusals.requestId)),
    after: rows(and(gt(refusals.requestId, requestId), isEarlyEnough), asc(refusals.requestId)),
    leftOut: drizzle(db)
      .select({ calls: sql<number>`coalesce(sum(${refusals.skipped}), 0)`.as("calls") })
      .from(homeSites)
      .crossJoin(refusals)
      .where(and(isOfSite, isLateEnough, isEarlyEnough)),
  });
  return {
    before: before.map(({ refusal }) => refusal),
    after: after.map(({ refusal }) => refusal),
    leftOut: leftOut[0]?.calls ?? 0,
  };
}

/** How far a session's `created_at` may be from its call's id, in seconds: the body arrives later, and clocks differ. */
const AROUND_SECONDS = 60;

/** The site of a call that was refused, or that opened a session, on any site of a home; undefined for any other call. */
export async function selectSiteOfCall(db: D1Database, requestId: string): Promise<number | undefined> {
  const refusal = await selectRefusal(db, requestId);
  if (refusal !== undefined) return refusal.siteId;
  const opened = await drizzle(db)
    .select({ siteId: homeSites.siteId })
    .from(homeSites)
    .crossJoin(sessions)
    .where(and(eq(sessions.siteId, homeSites.siteId), opensAt(homeSites.siteId, requestId)))
    .get();
  return opened?.siteId;
}

/** Condition: the session was opened by this call. Only sessions created near the time in the id are read. */
const opensAt = (siteId: number | Column, requestId: string): SQL | undefined => {
  const at = timeOfRequest(requestId);
  return and(
    gte(sessions.id, firstSince(siteId, at - AROUND_SECONDS)),
    lt(sessions.id, firstSince(siteId, at + AROUND_SECONDS + 1)),
    eq(sessions.requestId, requestId),
  );
};

/** What is stored of a call by its id. */
export interface StoredCall {
  refusal: Refusal | undefined;
  session: { id: number; appid: string } | undefined;
  nonce:
    | { appid: string; operation: string; outcome: string; sessionId: number | null; secret: string | null }
    | undefined;
}

/**
 * Everything that a site has of a call, in one round trip: its row of the journal, the session that it opened, and its nonce.
 *
 * Sessions are looked for among those created within 60 s of the id's time. Nonces are looked for among all nonces of the site: a busy site
 * has tens of thousands.
 *
 * @param mayHaveNonce false when the call is so old that its nonce has expired: then no nonce is read
 */
export async function selectCall(
  db: D1Database,
  siteId: number,
  requestId: string,
  mayHaveNonce: boolean,
): Promise<StoredCall> {
  const store = drizzle(db);
  const {
    refusal: [refusal],
    session: [session],
    nonce: [nonce],
  } = await inOneBatch(db, {
    refusal: store
      .select()
      .from(refusals)
      .where(and(eq(refusals.siteId, siteId), eq(refusals.requestId, requestId))),
    session: store
      .select({ id: sessions.id, appid: sessions.appid })
      .from(sessions)
      .where(and(eq(sessions.siteId, siteId), opensAt(siteId, requestId))),
    nonce: store
      .select({
        appid: nonces.appid,
        // Nonces from before operations were stored have another kind of owner, so this finds only nonces with an operation.
        operation: sql<string>`${nonces.operation}`.as("operation"),
        outcome: nonces.outcome,
        sessionId: nonces.sessionId,
        secret: nonces.secret,
      })
      .from(nonces)
      .where(and(sql`${Number(mayHaveNonce)}`, eq(nonces.siteId, siteId), eq(nonces.owner, requestId))),
  });
  return { refusal, session, nonce };
}
