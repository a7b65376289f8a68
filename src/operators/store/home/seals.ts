import { and, asc, eq, isNull, notInArray, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { inOneBatch } from "../../../core/store/batch.ts";
import { webhooks } from "../../../core/store/event-schema.ts";
import { apps } from "../../../core/store/schema.ts";
import { type Author, auditOf, ONE_ROW } from "../audit.ts";
import { OWNERS, type OwnerKey, type Owners } from "./secret-owners.ts";

/** The sealed secrets of an app or a webhook, with their versions. */
export type SealedSecrets = OwnerKey &
  Pick<typeof apps.$inferSelect, "version" | "secret" | "previousVersion" | "previousSecret">;

/** Whether a sealed secret starts differently from `mark`; null when there is no secret. */
const sealDiffers = (column: SQLiteColumn, mark: string) =>
  sql<number | null>`substr(${column}, 1, length(${mark})) <> ${mark}`;

/**
 * The apps or webhooks above `after` with a secret that is sealed with another key than that of `mark`, by site and name. Reads the whole
 * table: the call is too rare for an index.
 */
export function selectSealedOtherwise(
  db: D1Database,
  owners: Owners,
  mark: string,
  after: OwnerKey,
  limit: number,
): Promise<SealedSecrets[]> {
  const { table, name } = OWNERS[owners];
  const { siteId, version, secret, previousVersion, previousSecret } = table;
  return drizzle(db)
    .select({ siteId, name, version, secret, previousVersion, previousSecret })
    .from(table)
    .where(
      and(
        sql`(${siteId}, ${name}) > (${after.siteId}, ${after.name})`,
        or(sealDiffers(secret, mark), sealDiffers(previousSecret, mark)),
      ),
    )
    .orderBy(asc(siteId), asc(name))
    .limit(limit)
    .all();
}

/** The number of statements of {@link replaceSeals}. */
export const REPLACING_QUERIES = 3;

/** Counts the secrets that are sealed with another key than that of `mark`. */
export async function countSealedOtherwise(db: D1Database, mark: string): Promise<number> {
  const store = drizzle(db);
  const count = (column: SQLiteColumn) => sql`coalesce(sum(${sealDiffers(column, mark)}), 0)`;
  const webhookSecrets = store
    .select({ n: sql`${count(webhooks.secret)} + ${count(webhooks.previousSecret)}` })
    .from(webhooks);
  const secrets = sql<number>`${count(apps.secret)} + ${count(apps.previousSecret)} + ${webhookSecrets}`;
  return (await store.select({ secrets }).from(apps).get())?.secrets ?? 0;
}

/** Whether an app that is not revoked has a secret that is sealed with none of the keys of `marks`. All marks have the same length. */
export async function hasOtherSeal(db: D1Database, marks: readonly string[]): Promise<boolean> {
  const mark = sql`substr(${apps.secret}, 1, length(${marks[0]}))`;
  const isOtherwiseSealed = and(isNull(apps.revokedAt), notInArray(mark, [...marks]));
  return (
    (await drizzle(db).select({ appid: apps.appid }).from(apps).where(isOtherwiseSealed).limit(1).get()) !== undefined
  );
}

/**
 * Replaces seals of the same secrets, in one transaction. A secret that was rotated or sealed again since it was read does not change:
 * otherwise a late try could bring back the seal of a retired master key.
 *
 * @returns the versions of the changed rows; versions are unique
 */
export async function replaceSeals(
  db: D1Database,
  renewed: Record<Owners, (SealedSecrets & { before: Pick<SealedSecrets, "secret" | "previousSecret"> })[]>,
  author: Author,
): Promise<Set<string>> {
  if (renewed.apps.length + renewed.webhooks.length === 0) return new Set();
  const store = drizzle(db);
  const row = {
    siteId: sql`NULL`,
    action: "secrets.resealed" as const,
    subject: sql`''`,
    details: sql`${JSON.stringify({ apps: renewed.apps.length, webhooks: renewed.webhooks.length })}`,
  };
  // One statement for all rows, because Workers Free allows 50 queries per invocation.
  const replaceStatement = (owners: Owners) => {
    const { table, name } = OWNERS[owners];
    const rows = renewed[owners].map((owner) => [
      owner.siteId,
      owner.name,
      owner.version,
      owner.secret,
      owner.previousSecret,
      owner.before.secret,
      owner.before.previousSecret,
    ]);
    const renewedPart = (at: number) => sql<string>`renewed.value ->> ${sql.raw(`${at}`)}`;
    const isSealedSo = and(eq(table.secret, renewedPart(5)), sql`${table.previousSecret} IS ${renewedPart(6)}`);
    const unchanged = and(eq(table.version, renewedPart(2)), isSealedSo);
    return store
      .update(table)
      .set({ secret: renewedPart(3), previousSecret: renewedPart(4) })
      .from(sql`json_each(${JSON.stringify(rows)}) AS renewed`)
      .where(and(eq(table.siteId, renewedPart(0)), eq(name, renewedPart(1)), unchanged))
      .returning({ version: table.version });
  };
  const { changed } = await inOneBatch(db, {
    audited: auditOf(db, author, row, ONE_ROW, undefined),
    changed: [replaceStatement("apps"), replaceStatement("webhooks")],
  });
  return new Set(changed.flat().map(({ version }) => version));
}
