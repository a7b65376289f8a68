import { and, desc, eq, gt, gte, isNull, lt, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { ServiceError } from "../../../core/errors.ts";
import { type Runtime, withinTime } from "../../../core/runtime.ts";
import { inOneBatch } from "../../../core/store/batch.ts";
import { TRY_LIMIT_MS, withRetries } from "../../../core/store/run-batch.ts";
import { type Author, auditOf, CHANGED, ONE_ROW } from "../audit.ts";
import { consoleForms, consoleSessions } from "../operator-schema.ts";

export type ConsoleSessionRow = typeof consoleSessions.$inferSelect;

const isRow = (id: string) => eq(consoleSessions.id, id);
const isLive = (now: number) => and(gt(consoleSessions.expiresAt, now), isNull(consoleSessions.endedAt));

const auditRow = ({ id, whoId, whoName }: Pick<ConsoleSessionRow, "id" | "whoId" | "whoName">) => ({
  siteId: sql`NULL`,
  // The audit log must not hold the whole id of a session.
  subject: sql`${sessionName(id)}`,
  details: sql`${JSON.stringify({ id: whoId, name: whoName })}`,
});

/** The name of a session in the audit log and in addresses: long enough to be unique. */
export const sessionName = (id: string): string => id.slice(0, 16);

/** Inserts a session, with its row in the audit log. Does nothing when the session exists, even if it has ended. */
export async function insertConsoleSession(
  runtime: Runtime,
  db: D1Database,
  row: ConsoleSessionRow,
  author: Author,
): Promise<void> {
  const audited = { ...auditRow(row), action: "operator.signed_in" as const, details: sql`'{}'` };
  const batch = () =>
    inOneBatch(db, {
      inserted: drizzle(db).insert(consoleSessions).values(row).onConflictDoNothing(),
      audited: auditOf(db, author, audited, ONE_ROW, CHANGED),
    });
  await withRetries(runtime, batch);
}

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

/** Sessions that are open at `now`, the last used first. @param whoId only those of this operator */
export function selectConsoleSessions(
  db: D1Database,
  now: number,
  whoId: string | undefined,
  limit: number,
): Promise<ConsoleSessionRow[]> {
  const isTheirs = whoId === undefined ? undefined : eq(sql`coalesce(${consoleSessions.whoId}, 'root')`, whoId);
  return drizzle(db)
    .select()
    .from(consoleSessions)
    .where(and(isLive(now), isTheirs))
    .orderBy(desc(sql`coalesce(${consoleSessions.lastUsedAt}, ${consoleSessions.createdAt})`))
    .limit(limit)
    .all();
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
  const { now } = author;
  // Only a cookie's row may be pruned early: an assertion of Access that comes again must find its session ended.
  const expiresAt = sql`CASE WHEN ${consoleSessions.whoKind} = 'person' THEN ${consoleSessions.expiresAt} ELSE 0 END`;
  const batch = () =>
    inOneBatch(db, {
      ended: drizzle(db)
        .update(consoleSessions)
        .set({ endedAt: now, expiresAt })
        .where(and(isRow(session.id), isLive(now))),
      audited: auditOf(db, author, { ...auditRow(session), action }, ONE_ROW, CHANGED),
    });
  await withRetries(runtime, batch);
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
