import { and, desc, eq, exists, getTableColumns, gt, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../../core/runtime.ts";
import { inOneBatch } from "../../../core/store/batch.ts";
import { withRetries } from "../../../core/store/run-batch.ts";
import type { Author } from "../audit.ts";
import { consoleSessions, people } from "../operator-schema.ts";
import { type ConsoleSessionRow, insertConsoleSession, isLive } from "./console-sessions.ts";
import { mayComeIn, type PersonRow } from "./people.ts";

/** This file reads a session together with the person whose it is: what a person may do comes from their row of this moment. */

/** A session that has not expired, which may have ended, and the person with a token whose it is, if they may come in at `now`. */
export function selectSessionAndPerson(
  runtime: Runtime,
  db: D1Database,
  id: string,
  now: number,
): Promise<{ session: ConsoleSessionRow; person: PersonRow | null } | undefined> {
  const isTheirs = and(eq(people.id, consoleSessions.whoId), mayComeIn(now));
  return withRetries(runtime, () =>
    drizzle(db)
      .select({ session: getTableColumns(consoleSessions), person: getTableColumns(people) })
      .from(consoleSessions)
      .leftJoin(people, isTheirs)
      .where(and(eq(consoleSessions.id, id), gt(consoleSessions.expiresAt, now)))
      .get(),
  );
}

/** A session that has not expired, which may have ended, and the person with this e-mail address, if they may come in at `now`. */
export async function selectSessionAndEmail(
  runtime: Runtime,
  db: D1Database,
  { id, email }: { id: string; email: string },
  now: number,
): Promise<{ session: ConsoleSessionRow | undefined; person: PersonRow | undefined }> {
  const store = drizzle(db);
  const { sessions, persons } = await withRetries(runtime, () =>
    inOneBatch(db, {
      sessions: store
        .select()
        .from(consoleSessions)
        .where(and(eq(consoleSessions.id, id), gt(consoleSessions.expiresAt, now))),
      persons: store
        .select()
        .from(people)
        .where(and(eq(people.email, email), mayComeIn(now))),
    }),
  );
  return { session: sessions[0], person: persons[0] };
}

/**
 * Sessions that have neither expired nor ended at `now`, the last used first, each with whether a row of people lets its person in.
 *
 * @param whoId only those of this operator
 */
export async function selectConsoleSessions(
  db: D1Database,
  now: number,
  whoId: string | undefined,
  limit: number,
): Promise<(ConsoleSessionRow & { hasPerson: boolean })[]> {
  const { whoId: id, lastUsedAt, createdAt } = consoleSessions;
  const rows = await drizzle(db)
    .select({ session: getTableColumns(consoleSessions), person: people.id })
    .from(consoleSessions)
    .leftJoin(people, and(or(eq(people.id, id), eq(people.email, id)), mayComeIn(now)))
    .where(and(isLive(now), whoId === undefined ? undefined : eq(sql`coalesce(${id}, 'root')`, whoId)))
    .orderBy(desc(sql`coalesce(${lastUsedAt}, ${createdAt})`))
    .limit(limit)
    .all();
  return rows.map(({ session, person }) => ({ ...session, hasPerson: person !== null }));
}

/** Inserts a session of a person, unless they may come in no longer. As `insertConsoleSession` otherwise. */
export function insertPersonSession(
  runtime: Runtime,
  db: D1Database,
  row: ConsoleSessionRow,
  { id }: Pick<PersonRow, "id">,
  author: Author,
): Promise<void> {
  const isIn = and(eq(people.id, id), mayComeIn(author.now));
  return insertConsoleSession(
    runtime,
    db,
    row,
    author,
    exists(drizzle(db).select({ one: sql`1` }).from(people).where(isIn)),
  );
}
