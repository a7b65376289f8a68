import { and, asc, eq, exists, gt, isNull, lt, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../../core/runtime.ts";
import { inOneBatch } from "../../../core/store/batch.ts";
import { withRetries } from "../../../core/store/run-batch.ts";
import { type Author, auditOf, CHANGED, ONE_ROW } from "../audit.ts";
import { consoleSessions, people } from "../operator-schema.ts";
import { endSessionsOf } from "./console-sessions.ts";
import { auditOfGrant } from "./grants.ts";

export type PersonRow = typeof people.$inferSelect;

const isUnended = (id: string) => and(eq(people.id, id), isNull(people.deletedAt));

/** People who may come in at `now`. */
export const mayComeIn = (now: number) =>
  and(isNull(people.deletedAt), or(isNull(people.expiresAt), gt(people.expiresAt, now)));

/** The id that the audit log and the console's sessions have for a person. */
export const nameOfPerson = ({ id, email }: Pick<PersonRow, "id" | "email">): string => email ?? id;

/** People with an id above `after`, in the order of their ids, expired ones too. */
export function selectPeople(db: D1Database, after: string, limit: number): Promise<PersonRow[]> {
  return drizzle(db)
    .select()
    .from(people)
    .where(and(gt(people.id, after), isNull(people.deletedAt)))
    .orderBy(asc(people.id))
    .limit(limit)
    .all();
}

/** People who may come in at `now`: owners first, then by name. */
export function selectUsablePeople(db: D1Database, now: number, limit: number): Promise<PersonRow[]> {
  const { role, email, name, id } = people;
  return drizzle(db)
    .select()
    .from(people)
    .where(mayComeIn(now))
    .orderBy(sql`${role} <> 'owner'`, asc(sql`coalesce(${name}, ${email})`), asc(id))
    .limit(limit)
    .all();
}

/** A person whose access was not ended; it may have expired. @param hash of their token, when it must be this one */
export function selectPersonById(
  runtime: Runtime,
  db: D1Database,
  id: string,
  hash?: string,
): Promise<PersonRow | undefined> {
  const hasToken = hash === undefined ? undefined : eq(people.hash, hash);
  return withRetries(runtime, () =>
    drizzle(db)
      .select()
      .from(people)
      .where(and(isUnended(id), hasToken))
      .get(),
  );
}

/** Inserts a person. @returns the id of the row that the person has now: another one when the e-mail address had a row before */
export async function insertPerson(runtime: Runtime, db: D1Database, row: PersonRow, author: Author): Promise<string> {
  const store = drizzle(db);
  const batch = () =>
    inOneBatch(db, {
      inserted: store.insert(people).values(row).onConflictDoNothing(),
      audited: auditOf(db, author, auditOfGrant("person.added", row), ONE_ROW, CHANGED),
      earlier:
        row.email === null
          ? undefined
          : store
              .select({ id: people.id })
              .from(people)
              .where(and(eq(people.email, row.email), isNull(people.deletedAt))),
    });
  const { earlier } = await withRetries(runtime, batch);
  return earlier?.[0]?.id ?? row.id;
}

/**
 * Ends a person's access, and their open sessions. Each statement asks whether the row is still there, so a late try ends nothing of
 * somebody who was let in again.
 *
 * @returns false when there is no such person
 */
export async function updatePersonEnded(
  runtime: Runtime,
  db: D1Database,
  id: string,
  author: Author,
): Promise<boolean> {
  const person = await selectPersonById(runtime, db, id);
  if (person === undefined) return false;
  const store = drizzle(db);
  const isStillIn = exists(store.select({ one: sql`1` }).from(people).where(isUnended(id)));
  const batch = () =>
    inOneBatch(db, {
      sessions: endSessionsOf(db, author, and(eq(consoleSessions.whoId, nameOfPerson(person)), isStillIn)),
      ended: store.update(people).set({ deletedAt: author.now }).where(isUnended(id)),
      audited: auditOf(db, author, auditOfGrant("person.ended", person), ONE_ROW, CHANGED),
    });
  await withRetries(runtime, batch);
  return true;
}

/** Stores the hour of a person's last visit. @param hour its start, Unix seconds */
export async function updatePersonUsed(db: D1Database, id: string, hour: number): Promise<void> {
  const isEarlier = or(isNull(people.lastUsedAt), lt(people.lastUsedAt, hour));
  await drizzle(db)
    .update(people)
    .set({ lastUsedAt: hour })
    .where(and(eq(people.id, id), isEarlier))
    .run();
}
