import { and, eq, gt } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { ServiceError } from "../../errors.ts";
import { type Runtime, withinTime } from "../../runtime.ts";
import { TRY_LIMIT_MS, withRetries } from "../run-batch.ts";
import { consoleForms, consoleSessions } from "../schema.ts";

/** @param session `now` and `expiresAt` in Unix seconds */
export async function insertConsoleSession(
  runtime: Runtime,
  db: D1Database,
  { now, ...session }: { id: string; now: number; expiresAt: number },
): Promise<void> {
  const row = { ...session, createdAt: now };
  await withRetries(runtime, () => drizzle(db).insert(consoleSessions).values(row).onConflictDoNothing().run());
}

export async function isConsoleSession(runtime: Runtime, db: D1Database, id: string, now: number): Promise<boolean> {
  const live = and(eq(consoleSessions.id, id), gt(consoleSessions.expiresAt, now));
  const find = () => drizzle(db).select({ id: consoleSessions.id }).from(consoleSessions).where(live).get();
  return (await withRetries(runtime, find)) !== undefined;
}

/** Ends a session. Its row stays until it is pruned, so that a late try of the sign-in does not bring the session back. */
export async function updateSessionEnded(runtime: Runtime, db: D1Database, id: string): Promise<void> {
  const end = () => drizzle(db).update(consoleSessions).set({ expiresAt: 0 }).where(eq(consoleSessions.id, id)).run();
  await withRetries(runtime, end);
}

/**
 * Inserts the row that lets a form be carried out only once. Not retried: after a lost answer, the retry could find its own row and
 * take the form for done.
 *
 * @returns true when the row was inserted now; else the location that the first submit led to, undefined while it is not known
 */
export async function insertForm(
  runtime: Runtime,
  db: D1Database,
  form: { id: string; sessionId: string; expiresAt: number },
): Promise<true | string | undefined> {
  const store = drizzle(db);
  const same = and(eq(consoleForms.id, form.id), eq(consoleForms.sessionId, form.sessionId));
  const [inserted, [found]] = await inOneTry(runtime, () =>
    store.batch([
      store.insert(consoleForms).values(form).onConflictDoNothing(),
      store.select({ location: consoleForms.location }).from(consoleForms).where(same),
    ]),
  );
  return inserted.meta.changes === 1 ? true : (found?.location ?? undefined);
}

export async function updateForm(runtime: Runtime, db: D1Database, id: string, location: string): Promise<void> {
  const record = () => drizzle(db).update(consoleForms).set({ location }).where(eq(consoleForms.id, id)).run();
  await withRetries(runtime, record);
}

/**
 * Deletes the row of a form that changed nothing, so that the form may be sent again. Not retried: a late try would delete the row
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
