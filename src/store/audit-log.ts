import { type SQL, sql } from "drizzle-orm";
import { auditLog } from "./schema.ts";
import { type Bindable, insertInto, type Placeholders, statement } from "./statement.ts";

/** Which door a change came through. */
export type Actor = "admin-api" | "console";

/** Who changes something, and when in Unix seconds. */
export type Author = { actor: Actor; now: number };

export type AuditAction =
  | "site.created"
  | "app.issued"
  | "app.brought_along"
  | "app.rotated"
  | "app.revoked"
  | "agent.added"
  | "agent.renamed"
  | "agent.enabled"
  | "agent.disabled"
  | "secrets.resealed";

export type AuditEntry = {
  id: number;
  siteId: number | null;
  at: number;
  actor: Actor;
  action: AuditAction;
  subject: string;
  /** JSON. */
  details: string;
};

/**
 * A statement that writes audit rows beside a change, in the change's own batch.
 *
 * @param write what was changed, and `from`: a FROM … WHERE that is empty when nothing was. `changes() > 0` in it asks about the
 *   statement before in the batch
 */
export function audit<Values extends Author & Record<string, Bindable>>(
  write: (value: Placeholders<Values>) => {
    siteId: SQL;
    action: SQL | AuditAction;
    subject: SQL;
    details: SQL;
    from: SQL;
  },
) {
  return statement<Values>((v) => {
    const { siteId, action, subject, details, from } = write(v);
    const said = typeof action === "string" ? sql.raw(`'${action}'`) : action;
    return sql`${insertInto(
      auditLog,
      auditLog.siteId,
      auditLog.at,
      auditLog.actor,
      auditLog.action,
      auditLog.subject,
      auditLog.details,
    )}
    SELECT ${siteId}, ${v.now}, ${v.actor}, ${said}, ${subject}, ${details} ${from}`;
  });
}

const entries = (where: (v: Placeholders<{ siteId: number }>) => SQL) =>
  statement<{ siteId: number; before: number; limit: number }>(
    (v) => sql`SELECT ${auditLog.id} AS "id", ${auditLog.siteId} AS "siteId", ${auditLog.at} AS "at",
      ${auditLog.actor} AS "actor", ${auditLog.action} AS "action", ${auditLog.subject} AS "subject",
      ${auditLog.details} AS "details"
    FROM ${auditLog} WHERE ${where(v)} ${auditLog.id} < ${v.before} ORDER BY ${auditLog.id} DESC LIMIT ${v.limit}`,
  );
const allEntries = entries(() => sql``);
const entriesOfSite = entries((v) => sql`${auditLog.siteId} = ${v.siteId} AND`);

/** Newest first, from the one before `before`; of one site or of everything. */
export async function listAuditEntries(
  db: D1Database,
  siteId: number | undefined,
  before: number,
  limit: number,
): Promise<AuditEntry[]> {
  const list = siteId === undefined ? allEntries : entriesOfSite;
  return (await list(db, { siteId: siteId ?? 0, before, limit }).all<AuditEntry>()).results;
}
