import { and, type Column, desc, eq, lt, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { auditLog } from "./schema.ts";

export type AuditEntry = typeof auditLog.$inferSelect;

/** Through which face a change came. */
export type Actor = AuditEntry["actor"];

export type AuditAction = AuditEntry["action"];

/** Who changes something, and when in Unix seconds. */
export type Author = { actor: Actor; now: number };

/** The columns of an audit row that say who and when. */
export const auditedBy = ({ actor, now }: Author) => ({ actor, at: now });

/** For {@link auditOf}: one row that is made up, where nothing stored is needed. */
export const ONE_ROW = sql`(SELECT 1)`;

/** For {@link auditOf}, right after the change in its batch: the statement before changed something. */
export const CHANGED = sql`changes() > 0`;

/**
 * Writes an audit row for each row of `from` that meets `where`. Belongs in the batch of the change, so that both are stored or
 * neither.
 *
 * @param row made of columns of `from`; `details` is JSON, never with a secret in it
 */
export function auditOf(
  db: D1Database,
  by: Author,
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
          at: sql`${by.now}`.as("at"),
          actor: sql`${by.actor}`.as("actor"),
          action: sql`${row.action}`.as("action"),
          subject: sql`${row.subject}`.as("subject"),
          details: row.details.as("details"),
        })
        .from(from)
        .where(where),
    );
}

/** Newest first, from the one before `before`; of one site or of everything. */
export function listAuditEntries(
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
