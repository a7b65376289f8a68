import { sql } from "drizzle-orm";
import { ServiceError } from "../../errors.ts";
import { type Runtime, withinTime } from "../../runtime.ts";
import { TRY_LIMIT_MS, withRetries } from "../run-batch.ts";
import { consoleForms, consoleSessions } from "../schema.ts";
import { insertInto, statement } from "../statement.ts";

const insert = statement<{ id: string; now: number; expiresAt: number }>(
  (v) => sql`${insertInto(consoleSessions, consoleSessions.id, consoleSessions.createdAt, consoleSessions.expiresAt)}
    VALUES (${v.id}, ${v.now}, ${v.expiresAt}) ON CONFLICT DO NOTHING`,
);

export async function insertConsoleSession(
  runtime: Runtime,
  db: D1Database,
  session: { id: string; now: number; expiresAt: number },
): Promise<void> {
  await withRetries(runtime, () => insert(db, session).run());
}

const select = statement<{ id: string; now: number }>(
  (v) =>
    sql`SELECT 1 FROM ${consoleSessions} WHERE ${consoleSessions.id} = ${v.id} AND ${consoleSessions.expiresAt} > ${v.now}`,
);

export async function isConsoleSession(runtime: Runtime, db: D1Database, id: string, now: number): Promise<boolean> {
  return (await withRetries(runtime, () => select(db, { id, now }).first())) !== null;
}

const remove = statement<{ id: string }>(
  (v) => sql`DELETE FROM ${consoleSessions} WHERE ${consoleSessions.id} = ${v.id}`,
);

export async function deleteConsoleSession(runtime: Runtime, db: D1Database, id: string): Promise<void> {
  await withRetries(runtime, () => remove(db, { id }).run());
}

type FormKey = { id: string; sessionId: string };

const claim = statement<FormKey & { expiresAt: number }>(
  (v) => sql`${insertInto(consoleForms, consoleForms.id, consoleForms.sessionId, consoleForms.expiresAt)}
    VALUES (${v.id}, ${v.sessionId}, ${v.expiresAt}) ON CONFLICT DO NOTHING`,
);

const selectLocation = statement<FormKey>(
  (v) => sql`SELECT ${consoleForms.location} AS "location" FROM ${consoleForms}
    WHERE ${consoleForms.id} = ${v.id} AND ${consoleForms.sessionId} = ${v.sessionId}`,
);

/**
 * Claims a form, so that what it asks for is done once. Never tried twice: a try whose answer was lost may have claimed it.
 *
 * @returns true when it is claimed now; else where the first one led, or undefined when that is not known (yet)
 */
export async function claimForm(
  runtime: Runtime,
  db: D1Database,
  form: FormKey & { expiresAt: number },
): Promise<true | string | undefined> {
  const [claimed, found] = await inOneTry(runtime, () =>
    db.batch<{ location: string | null }>([claim(db, form), selectLocation(db, form)]),
  );
  return claimed?.meta.changes === 1 ? true : (found?.results[0]?.location ?? undefined);
}

const settle = statement<{ id: string; location: string }>(
  (v) => sql`UPDATE ${consoleForms} SET location = ${v.location} WHERE ${consoleForms.id} = ${v.id}`,
);

export async function settleForm(runtime: Runtime, db: D1Database, id: string, location: string): Promise<void> {
  await withRetries(runtime, () => settle(db, { id, location }).run());
}

const release = statement<{ id: string }>((v) => sql`DELETE FROM ${consoleForms} WHERE ${consoleForms.id} = ${v.id}`);

/**
 * Gives a claimed form back: it changed nothing and may be sent again. Never tried twice: a try that comes late would take the
 * claim of whoever sent it again.
 */
export async function releaseForm(runtime: Runtime, db: D1Database, id: string): Promise<void> {
  await inOneTry(runtime, () => release(db, { id }).run());
}

function inOneTry<T>(runtime: Runtime, call: () => Promise<T>): Promise<T> {
  return withinTime(runtime, TRY_LIMIT_MS, call, () => {
    throw new ServiceError("unavailable", { reason: "d1_unavailable", retryAfter: 1 });
  });
}
