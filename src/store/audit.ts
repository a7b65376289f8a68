import { and, type Column, desc, eq, inArray, lt, max, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { auditLog } from "./schema.ts";

export type AuditEntry = typeof auditLog.$inferSelect;

/** The surface that a change came through. */
export type Actor = AuditEntry["actor"];

export type AuditAction = AuditEntry["action"];

/** Who makes a change, when (Unix seconds), and by which call. */
export type Author = { actor: Actor; now: number; requestId: string };

/** The columns of an audit row that say who, when and by which call. */
export const auditedBy = ({ actor, now, requestId }: Author) => ({ actor, at: now, requestId });

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
  return drizzle(db)
    .insert(auditLog)
    .select((query) =>
      query
        .select({
          id: sql`NULL`.as("id"),
          siteId: sql`${row.siteId}`.as("site_id"),
          at: sql`${author.now}`.as("at"),
          actor: sql`${author.actor}`.as("actor"),
          action: sql`${row.action}`.as("action"),
          subject: sql`${row.subject}`.as("subject"),
          details: row.details.as("details"),
          requestId: sql`${author.requestId}`.as("request_id"),
        })
        .from(from)
        .where(where),
    );
}

/** The entries of one database with an id below `before`, newest first. Of all sites when `siteId` is undefined. */
export function selectAuditEntries(
  db: D1Database,
  siteId: number | undefined,
  before: number,
  limit: number,
): Promise<AuditEntry[]> {
  return drizzle(db)
    .select()
    .from(auditLog)
    .where(and(siteId === undefined ? undefined : eq(auditLog.siteId, siteId), lt(auditLog.id, before)))
    .orderBy(desc(auditLog.id))
    .limit(limit)
    .all();
}

/** When one of these changes of a site's thing was made the last time, in Unix seconds; null for never. Reads the site's entries. */
export async function selectLastChange(
  db: D1Database,
  { siteId, subject, actions }: { siteId: number; subject: string; actions: AuditAction[] },
): Promise<number | null> {
  const isSuch = and(eq(auditLog.siteId, siteId), eq(auditLog.subject, subject), inArray(auditLog.action, actions));
  const row = await drizzle(db)
    .select({ at: max(auditLog.at) })
    .from(auditLog)
    .where(isSuch)
    .get();
  return row?.at ?? null;
}
