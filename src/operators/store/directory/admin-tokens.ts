import { and, asc, eq, getTableColumns, gt, isNull, lt, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../../core/runtime.ts";
import { inOneBatch } from "../../../core/store/batch.ts";
import { withRetries } from "../../../core/store/run-batch.ts";
import { appRoutes, sites } from "../../../core/store/schema.ts";
import { type Author, auditOf, CHANGED, ONE_ROW } from "../audit.ts";
import { adminTokens } from "../operator-schema.ts";
import { auditOfGrant } from "./grants.ts";
import type { Site } from "./sites.ts";

export type TokenRow = typeof adminTokens.$inferSelect;

/** The subject of a call, from its path. */
export interface CallSubject {
  siteId?: number | undefined;
  appid?: string | undefined;
}

export interface TokenFound {
  token: TokenRow;
  /** The site that the path names. */
  site: Site | null;
  /** The site of the app that the path names. */
  siteOfApp: number | null;
}

const isUndeletedToken = (id: string) => and(eq(adminTokens.id, id), isNull(adminTokens.deletedAt));

/** A token that is not deleted, with the site and the app of the call, in one query. The token may have expired. */
export async function selectToken(
  db: D1Database,
  { id, hash }: Pick<TokenRow, "id" | "hash">,
  { siteId = 0, appid = "" }: CallSubject,
): Promise<TokenFound | undefined> {
  return drizzle(db)
    .select({ token: getTableColumns(adminTokens), site: getTableColumns(sites), siteOfApp: appRoutes.siteId })
    .from(adminTokens)
    .leftJoin(sites, eq(sites.id, siteId))
    .leftJoin(appRoutes, eq(appRoutes.appid, appid))
    .where(and(isUndeletedToken(id), eq(adminTokens.hash, hash)))
    .get();
}

/** Tokens with an id above `after`, in the order of their ids. */
export function selectTokens(db: D1Database, after: string, limit: number): Promise<TokenRow[]> {
  return drizzle(db)
    .select()
    .from(adminTokens)
    .where(and(gt(adminTokens.id, after), isNull(adminTokens.deletedAt)))
    .orderBy(asc(adminTokens.id))
    .limit(limit)
    .all();
}

/** Tokens that are valid at `now`: those of owners first, then by name. */
export function selectUsableTokens(db: D1Database, now: number, limit: number): Promise<TokenRow[]> {
  const { expiresAt, deletedAt, role, name, id } = adminTokens;
  return drizzle(db)
    .select()
    .from(adminTokens)
    .where(and(isNull(deletedAt), or(isNull(expiresAt), gt(expiresAt, now))))
    .orderBy(sql`${role} <> 'owner'`, asc(name), asc(id))
    .limit(limit)
    .all();
}

/** A token that is not deleted; it may have expired. */
export function selectTokenById(runtime: Runtime, db: D1Database, id: string): Promise<TokenRow | undefined> {
  return withRetries(runtime, () => drizzle(db).select().from(adminTokens).where(isUndeletedToken(id)).get());
}

export async function insertToken(runtime: Runtime, db: D1Database, row: TokenRow, author: Author): Promise<void> {
  const batch = () =>
    inOneBatch(db, {
      inserted: drizzle(db).insert(adminTokens).values(row).onConflictDoNothing(),
      audited: auditOf(db, author, auditOfGrant("token.created", row), ONE_ROW, CHANGED),
    });
  await withRetries(runtime, batch);
}

/** Deletes a token: its row stays for a day and is not valid. @returns false when there is none */
export async function updateTokenDeleted(
  runtime: Runtime,
  db: D1Database,
  id: string,
  author: Author,
): Promise<boolean> {
  const token = await selectTokenById(runtime, db, id);
  if (token === undefined) return false;
  const batch = () =>
    inOneBatch(db, {
      deleted: drizzle(db).update(adminTokens).set({ deletedAt: author.now }).where(isUndeletedToken(id)),
      audited: auditOf(db, author, auditOfGrant("token.deleted", token), ONE_ROW, CHANGED),
    });
  await withRetries(runtime, batch);
  return true;
}

/** Stores the hour of a token's last use. @param hour its start, Unix seconds */
export async function updateTokenUsed(db: D1Database, id: string, hour: number): Promise<void> {
  const isEarlier = or(isNull(adminTokens.lastUsedAt), lt(adminTokens.lastUsedAt, hour));
  await drizzle(db)
    .update(adminTokens)
    .set({ lastUsedAt: hour })
    .where(and(eq(adminTokens.id, id), isEarlier))
    .run();
}
