import { and, type Column, eq, getTableColumns, gt, gte, isNull, lt, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { ServiceError } from "../../../core/errors.ts";
import { type Runtime, withinTime } from "../../../core/runtime.ts";
import { inOneBatch } from "../../../core/store/batch.ts";
import { TRY_LIMIT_MS, withRetries } from "../../../core/store/run-batch.ts";
import { type Author, auditOf, CHANGED, ONE_ROW } from "../audit.ts";
import { consoleForms, consoleSessions } from "../operator-schema.ts";

export type ConsoleSessionRow = typeof consoleSessions.$inferSelect;

const isRow = (id: string) => eq(consoleSessions.id, id);
/** Sessions that have neither expired nor ended. */
export const isLive = (now: number) => and(gt(consoleSessions.expiresAt, now), isNull(consoleSessions.endedAt));

/** The row of the audit log about a session, or about the sessions of a statement. */
const auditRow = ({ id, whoId, whoName }: Record<"id" | "whoId" | "whoName", string | null | Column>) => ({
  siteId: sql`NULL`,
  // The audit log must not hold the whole id of a session.
  subject: sql`substr(${id}, 1, ${sql.raw(String(NAME_LENGTH))})`,
  details: sql`json_object('id', ${whoId}, 'name', ${whoName})`,
});

const NAME_LENGTH = 16;

/** The name of a session in the audit log and in addresses: long enough to be unique. */
export const sessionName = (id: string): string => id.slice(0, NAME_LENGTH);

/**
 * Inserts a session, with its row in the audit log. Does nothing when the session exists, even if it has ended.
 *
 * @param isAllowed a condition that the insert itself checks: what was read before may be over when a late try runs
 */
export async function insertConsoleSession(
  runtime: Runtime,
  db: D1Database,
  row: ConsoleSessionRow,
  author: Author,
  isAllowed: SQL = sql`true`,
): Promise<void> {
  const audited = { ...auditRow(row), action: "operator.signed_in" as const, details: sql`'{}'` };
  const batch = () =>
    inOneBatch(db, {
      inserted: drizzle(db)
        .insert(consoleSessions)
        .select((query) => query.select(asColumns(row)).from(ONE_ROW).where(isAllowed))
        .onConflictDoNothing(),
      audited: auditOf(db, author, audited, ONE_ROW, CHANGED),
    });
  await withRetries(runtime, batch);
}

type SessionColumns = { [Name in keyof ConsoleSessionRow]: SQL.Aliased };

const asColumns = (row: ConsoleSessionRow) =>
  Object.fromEntries(
    Object.entries(getTableColumns(consoleSessions)).map(([name, column]) => [
      name,
      sql`${row[name as keyof ConsoleSessionRow]}`.as(column.name),
    ]),
  ) as SessionColumns;

/** A session as stored, if it has not expired; it may have ended. */
export function selectConsoleSession(
  runtime: Runtime,
  db: D1Database,
  id: string,
  now: number,
): Promise<ConsoleSessionRow | undefined> {
  const find = () =>
    drizzle(db)
      .select()
      .from(consoleSessions)
      .where(and(isRow(id), gt(consoleSessions.expiresAt, now)))
      .get();
  return withRetries(runtime, find);
}

/** The session of a {@link sessionName}, also when it has ended or expired. */
export function selectSessionOfName(
  runtime: Runtime,
  db: D1Database,
  name: string,
): Promise<ConsoleSessionRow | undefined> {
  // These are the ids that begin with the name. No hex digit comes after `f`, so the key finds them by a range.
  const isSessionOfName = and(gte(consoleSessions.id, name), lt(consoleSessions.id, `${name}g`));
  return withRetries(runtime, () => drizzle(db).select().from(consoleSessions).where(isSessionOfName).get());
}

/**
 * Ends a session, with its row in the audit log. The session's own row stays: otherwise a late try of the sign-in, or the same assertion,
 * could bring it back.
 */
export async function updateSessionEnded(
  runtime: Runtime,
  db: D1Database,
  session: ConsoleSessionRow,
  action: "operator.signed_out" | "operator.session_ended",
  author: Author,
): Promise<void> {
  const batch = () =>
    inOneBatch(db, {
      ended: endSessions(db, isRow(session.id), author.now),
      audited: auditOf(db, author, { ...auditRow(session), action }, ONE_ROW, CHANGED),
    });
  await withRetries(runtime, batch);
}

/** Ends the open sessions that meet `where`. */
function endSessions(db: D1Database, where: SQL | undefined, now: number) {
  // Only the root's row may be pruned early: an assertion of Access that comes again must find its session ended.
  const expiresAt = sql`CASE WHEN ${consoleSessions.whoKind} = 'person' THEN ${consoleSessions.expiresAt} ELSE 0 END`;
  return drizzle(db)
    .update(consoleSessions)
    .set({ endedAt: now, expiresAt })
    .where(and(where, isLive(now)));
}

/** The statements that end the open sessions of people that meet `where`, each with its row in the audit log. */
export function endSessionsOf(db: D1Database, author: Author, where: SQL | undefined) {
  const isTheirs = and(eq(consoleSessions.whoKind, "person"), where);
  const row = { ...auditRow(consoleSessions), action: "operator.session_ended" as const };
  return {
    audited: auditOf(db, author, row, consoleSessions, and(isTheirs, isLive(author.now))),
    ended: endSessions(db, isTheirs, author.now),
  };
}

export async function updateSessionUsed(db: D1Database, id: string, now: number): Promise<void> {
  await drizzle(db).update(consoleSessions).set({ lastUsedAt: now }).where(isRow(id)).run();
}

/**
 * Inserts the row that lets a form be carried out only once. It is tried once: after a lost answer, a retry could find its own row and take
 * the form for done.
 *
 * @returns true when the row was inserted now; otherwise the location that the first submit led to, undefined while it is not known
 */
export async function insertForm(
  runtime: Runtime,
  db: D1Database,
  form: { id: string; sessionId: string; expiresAt: number },
): Promise<true | string | undefined> {
  const store = drizzle(db);
  const isSameForm = and(eq(consoleForms.id, form.id), eq(consoleForms.sessionId, form.sessionId));
  const {
    inserted,
    found: [storedForm],
  } = await inOneTry(runtime, () =>
    inOneBatch(db, {
      inserted: store.insert(consoleForms).values(form).onConflictDoNothing(),
      found: store.select({ location: consoleForms.location }).from(consoleForms).where(isSameForm),
    }),
  );
  return inserted.meta.changes === 1 ? true : (storedForm?.location ?? undefined);
}

export async function updateForm(runtime: Runtime, db: D1Database, id: string, location: string): Promise<void> {
  const record = () => drizzle(db).update(consoleForms).set({ location }).where(eq(consoleForms.id, id)).run();
  await withRetries(runtime, record);
}

/**
 * Deletes the row of a form that changed nothing, so that the form may be sent again. It is tried once: a late try would delete the row
 * of a second submit.
 */
export async function deleteForm(runtime: Runtime, db: D1Database, id: string): Promise<void> {
  await inOneTry(runtime, () => drizzle(db).delete(consoleForms).where(eq(consoleForms.id, id)).run());
}

function inOneTry<T>(runtime: Runtime, call: () => Promise<T>): Promise<T> {
  return withinTime(runtime, TRY_LIMIT_MS, call, () => {
    throw new ServiceError("unavailable", { reason: "d1_unavailable", retryAfter: 1 });
  });
}
