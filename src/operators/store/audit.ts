import { and, type Column, desc, eq, gte, inArray, lt, lte, max, notExists, or, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { inOneBatch } from "../../core/store/batch.ts";
import { statement } from "../../core/store/statement.ts";
import { auditLog } from "./operator-schema.ts";

export type AuditEntry = typeof auditLog.$inferSelect;

/** The surface through which a change came. */
export type Actor = AuditEntry["actor"];

export type AuditAction = AuditEntry["action"];

/** An operator as the audit log names them. */
export interface Who {
  kind: NonNullable<AuditEntry["whoKind"]>;
  /** `root`, the id of the token or of the person with a token, or the e-mail address of the person. */
  id: string;
  name: string;
}

/** Who makes a change, when (Unix seconds), by which call, and from which network. */
export type Author = { actor: Actor; now: number; requestId: string | null; who: Who | null; address: string | null };

/** The Worker itself. @param now Unix seconds */
export const byWorker = (now: number): Author => ({ actor: "worker", now, requestId: null, who: null, address: null });

/** The columns of an audit row that say who, when, by which call and from where. */
const auditedBy = ({ actor, now, requestId, who, address }: Author) => ({
  actor,
  at: now,
  requestId,
  whoKind: who?.kind ?? null,
  whoId: who?.id ?? null,
  whoName: who?.name ?? null,
  address,
});

/** A `from` for {@link auditOf} that gives one row and reads no table. */
export const ONE_ROW = sql`(SELECT 1)`;

/** A `where` for {@link auditOf}: the previous statement of the batch changed a row. The audit must come right after the change. */
export const CHANGED = sql`changes() > 0`;

/**
 * An INSERT of one audit row for each row of `from` that meets `where`. Put it into the batch of the change, so that both are
 * stored or neither.
 *
 * @param row values or columns of `from`; `details` is JSON and must not hold a secret
 */
export function auditOf(
  db: D1Database,
  author: Author,
  row: { siteId: SQL | Column; action: AuditAction; subject: SQL | Column; details: SQL },
  from: SQLiteTable | SQL,
  where: SQL | undefined,
) {
  const authorColumns = auditedBy(author);
  return drizzle(db)
    .insert(auditLog)
    .select((query) =>
      query
        .select({
          id: sql`NULL`.as("id"),
          siteId: sql`${row.siteId}`.as("site_id"),
          at: sql`${authorColumns.at}`.as("at"),
          actor: sql`${authorColumns.actor}`.as("actor"),
          action: sql`${row.action}`.as("action"),
          subject: sql`${row.subject}`.as("subject"),
          details: row.details.as("details"),
          requestId: sql`${authorColumns.requestId}`.as("request_id"),
          whoKind: sql`${authorColumns.whoKind}`.as("who_kind"),
          whoId: sql`${authorColumns.whoId}`.as("who_id"),
          whoName: sql`${authorColumns.whoName}`.as("who_name"),
          address: sql`${authorColumns.address}`.as("address"),
        })
        .from(from)
        .where(where),
    );
}

/** Inserts one row that belongs to no other change. It is tried once, because a second try could insert a second row. */
export async function insertAudit(
  db: D1Database,
  author: Author,
  row: { siteId: number | null; action: AuditAction; subject: string; details: object },
): Promise<void> {
  const values = { ...auditedBy(author), ...row, details: JSON.stringify(row.details) };
  await drizzle(db).insert(auditLog).values(values).run();
}

/** How many of the newest rows are searched for an earlier one of the same kind. */
const ROWS_SEARCHED = 1_000;

/**
 * Inserts a row in one statement, unless the newest rows have one of this action and subject since `since` (Unix seconds). It is tried
 * once, because the row of a first try would refuse the second.
 *
 * @param by whose earlier row counts: that of this operator and network, or anybody's
 * @returns whether the row was inserted
 */
export async function insertAuditOnce(
  db: D1Database,
  author: Author,
  { siteId, action, subject }: { siteId: number | null; action: AuditAction; subject: string },
  since: number,
  by: "operator" | "anybody",
): Promise<boolean> {
  const isOfSite = siteId === null ? undefined : eq(auditLog.siteId, siteId);
  const { at, whoId, address } = auditLog;
  const newest = drizzle(db)
    .select({ at, action: auditLog.action, subject: auditLog.subject, whoId, address })
    .from(auditLog)
    .where(isOfSite)
    .orderBy(desc(auditLog.id))
    .limit(ROWS_SEARCHED)
    .as("newest");
  const isSameOperator = and(
    sql`${newest.whoId} IS ${author.who?.id ?? null}`,
    sql`${newest.address} IS ${author.address}`,
  );
  const isSame = and(
    eq(newest.action, action),
    eq(newest.subject, subject),
    gte(newest.at, since),
    by === "operator" ? isSameOperator : undefined,
  );
  const earlier = drizzle(db).select({ one: sql`1` }).from(newest).where(isSame);
  const row = { siteId: sql`${siteId}`, action, subject: sql`${subject}`, details: sql`'{}'` };
  const { meta } = await auditOf(db, author, row, ONE_ROW, notExists(earlier)).run();
  return meta.changes === 1;
}

/** The wanted entries. An undefined field does not filter. */
export interface AuditFilter {
  siteId?: number | undefined;
  /** The id or the whole name of who did it; {@link WORKER} for the Worker itself. */
  who?: string | undefined;
  /** One action, or any of several. */
  action?: AuditAction | readonly AuditAction[] | undefined;
  /** The subject, or one of several agents that were added by one call. */
  subject?: string | undefined;
  /** Unix seconds, both included. */
  since?: number | undefined;
  until?: number | undefined;
}

/** The name of the Worker in the log. Its rows have no `who`. */
export const WORKER = "worker";

/** The entry at which reading stopped. */
export type ReadTo = Pick<AuditEntry, "id" | "at">;

/** The most seconds by which the order of times may differ from that of ids: a cron's rows have the time for which the cron was due. */
const DISORDER_SECONDS = 86_400;

/** How many rows the search for `until` reads at most, in a log with ids below 2^30: two for each halving. */
export const MOST_SEARCHED = 64;

/** The id above which no entry is of `until` or earlier, by a binary search. Where the middle id is missing, it reads the next entry. */
const lastUntil = statement<{ until: number }, { id: number }>(
  ({ until }) => sql`WITH RECURSIVE search(low, size) AS (
      SELECT 0, (SELECT max(id) FROM ${auditLog})
      UNION ALL
      SELECT low + (size + 1) / 2 * (SELECT at <= ${until} + ${sql.raw(String(DISORDER_SECONDS))} FROM ${auditLog}
        WHERE id >= low + (size + 1) / 2 ORDER BY id LIMIT 1), size / 2
      FROM search WHERE size > 0)
    SELECT max(low) AS id FROM search`,
);

/**
 * The entries of one database that fit, with an id below `before`, newest first. Looks at the newest `mostRead` rows only: otherwise a
 * filter that fits few entries would read the whole log. These rows are also counted, which reads them a second time.
 *
 * @param before undefined on the first page of a home: it begins at `until`, which {@link MOST_SEARCHED} rows find
 * @returns also the oldest entry that was looked at, when older ones may fit
 */
export async function selectAuditEntries(
  db: D1Database,
  { siteId, who, action, subject, since, until }: AuditFilter,
  before: number | undefined,
  limit: number,
  mostRead: number,
): Promise<{ entries: AuditEntry[]; readTo?: ReadTo | undefined }> {
  const store = drizzle(db);
  const isFiltered = [who, action, subject, since, until].some((each) => each !== undefined);
  const isSearched = before === undefined && until !== undefined;
  const lastEntry = isSearched ? (await inOneBatch(db, { found: lastUntil(db, { until }) })).found[0] : undefined;
  const isOlder = lastEntry ? lte(auditLog.id, lastEntry.id) : lt(auditLog.id, before ?? Number.MAX_SAFE_INTEGER);
  const older = and(siteId === undefined ? undefined : eq(auditLog.siteId, siteId), isOlder);
  const newest = store
    .select()
    .from(auditLog)
    .where(older)
    .orderBy(desc(auditLog.id))
    .limit(isFiltered ? mostRead : limit)
    .as("newest");
  const isWorker = who === WORKER ? eq(newest.actor, WORKER) : undefined;
  const isAmong = sql`EXISTS (SELECT 1 FROM json_each(${newest.details} -> 'ids') WHERE CAST(value AS TEXT) = ${subject})`;
  const isAdded = and(eq(newest.action, "agent.added"), eq(newest.subject, ""), isAmong);
  const fits = and(
    who === undefined ? undefined : or(eq(newest.whoId, who), eq(newest.whoName, who), isWorker),
    action && inArray(newest.action, [action].flat()),
    subject === undefined ? undefined : or(eq(newest.subject, subject), isAdded),
    since === undefined ? undefined : gte(newest.at, since),
    until === undefined ? undefined : lte(newest.at, until),
  );
  const { entries, oldest } = await inOneBatch(db, {
    entries: store.select().from(newest).where(fits).orderBy(desc(newest.id)).limit(limit),
    oldest: isFiltered
      ? store
          .select({ id: auditLog.id, at: auditLog.at })
          .from(auditLog)
          .where(older)
          .orderBy(desc(auditLog.id))
          .limit(1)
          .offset(mostRead - 1)
      : undefined,
  });
  const readUntil = oldest?.[0];
  return { entries, readTo: readUntil && readUntil.at < (since ?? 0) - DISORDER_SECONDS ? undefined : readUntil };
}

/** When one of these changes was last made to a subject of a site, in Unix seconds; null for never. Reads the site's entries. */
export async function selectLastChange(
  db: D1Database,
  { siteId, subject, actions }: { siteId: number; subject: string; actions: AuditAction[] },
): Promise<number | null> {
  const isSameSubject = and(
    eq(auditLog.siteId, siteId),
    eq(auditLog.subject, subject),
    inArray(auditLog.action, actions),
  );
  const row = await drizzle(db)
    .select({ at: max(auditLog.at) })
    .from(auditLog)
    .where(isSameSubject)
    .get();
  return row?.at ?? null;
}
