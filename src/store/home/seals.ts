import { and, asc, eq, getTableColumns, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { type Author, auditedBy } from "../audit-log.ts";
import { apps, auditLog } from "../schema.ts";
import type { AppKey } from "./apps.ts";

const { appid, siteId, version, secret, previousVersion, previousSecret } = getTableColumns(apps);
const SEALED = { appid, siteId, version, secret, previousVersion, previousSecret };

/** An app's sealed secrets with their versions. */
export type SealedSecrets = Pick<typeof apps.$inferSelect, keyof typeof SEALED>;

/** Whether a sealed secret does not start with `mark`; null when there is no secret. */
const differs = (column: typeof secret | typeof previousSecret, mark: string) =>
  sql<number | null>`substr(${column}, 1, length(${mark})) <> ${mark}`;

/**
 * The apps above `after` that have a secret whose seal does not start with `mark`, by site and appid. Reads every app: the call is too rare
 * to pay for an index.
 */
export function listSealedOtherwise(
  db: D1Database,
  mark: string,
  after: AppKey,
  limit: number,
): Promise<SealedSecrets[]> {
  return drizzle(db)
    .select(SEALED)
    .from(apps)
    .where(
      and(
        sql`(${siteId}, ${appid}) > (${after.siteId}, ${after.appid})`,
        or(differs(secret, mark), differs(previousSecret, mark)),
      ),
    )
    .orderBy(asc(siteId), asc(appid))
    .limit(limit)
    .all();
}

/** Counts the secrets whose seal does not start with `mark`. */
export async function countSealedOtherwise(db: D1Database, mark: string): Promise<number> {
  const count = (column: typeof secret | typeof previousSecret) => sql`coalesce(sum(${differs(column, mark)}), 0)`;
  const secrets = sql<number>`${count(secret)} + ${count(previousSecret)}`;
  return (await drizzle(db).select({ secrets }).from(apps).get())?.secrets ?? 0;
}

/**
 * Stores new seals of the same secrets, in one transaction. An app that was rotated since it was read is left as it is.
 *
 * @returns the versions of the changed apps, which are unique
 */
export async function replaceSeals(db: D1Database, renewed: SealedSecrets[], author: Author): Promise<Set<string>> {
  if (renewed.length === 0) return new Set();
  const store = drizzle(db);
  const details = JSON.stringify({ apps: renewed.length });
  const [, ...changed] = await store.batch([
    store.insert(auditLog).values({ ...auditedBy(author), action: "secrets.resealed", subject: "", details }),
    ...renewed.map((app) =>
      store
        .update(apps)
        .set({ secret: app.secret, previousSecret: app.previousSecret })
        .where(and(eq(siteId, app.siteId), eq(appid, app.appid), eq(version, app.version)))
        .returning({ version }),
    ),
  ]);
  return new Set(changed.flat().map((app) => app.version));
}
