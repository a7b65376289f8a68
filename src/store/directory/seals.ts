import { and, asc, eq, getTableColumns, gt, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { type Author, auditedBy } from "../audit-log.ts";
import { apps, auditLog } from "../schema.ts";

const { appid, siteId, version, secret, previousVersion, previousSecret } = getTableColumns(apps);
const SEALED = { appid, siteId, version, secret, previousVersion, previousSecret };

/** An app's secrets as sealed, and the version they belong to. */
export type SealedSecrets = Pick<typeof apps.$inferSelect, keyof typeof SEALED>;

/** Whether a sealed secret starts otherwise than `mark`; null when there is no secret. */
const differs = (column: typeof secret | typeof previousSecret, mark: string) =>
  sql<number | null>`substr(${column}, 1, length(${mark})) <> ${mark}`;

/**
 * Apps with a secret whose sealed form does not start with `mark`, by appid, from the one after `after`. Reads every app: for a rare
 * call, not worth an index.
 */
export function listSealedOtherwise(
  db: D1Database,
  mark: string,
  after: string,
  limit: number,
): Promise<SealedSecrets[]> {
  return drizzle(db)
    .select(SEALED)
    .from(apps)
    .where(and(gt(appid, after), or(differs(secret, mark), differs(previousSecret, mark))))
    .orderBy(asc(appid))
    .limit(limit)
    .all();
}

/** How many secrets there are whose sealed form does not start with `mark`. */
export async function countSealedOtherwise(db: D1Database, mark: string): Promise<number> {
  const count = (column: typeof secret | typeof previousSecret) => sql`coalesce(sum(${differs(column, mark)}), 0)`;
  const secrets = sql<number>`${count(secret)} + ${count(previousSecret)}`;
  return (await drizzle(db).select({ secrets }).from(apps).get())?.secrets ?? 0;
}

/**
 * Puts the same secrets in place under new seals, in one transaction; an app that was rotated since it was read keeps what
 * the rotation wrote.
 *
 * @returns the appids that were changed
 */
export async function replaceSeals(db: D1Database, renewed: SealedSecrets[], by: Author): Promise<Set<string>> {
  if (renewed.length === 0) return new Set();
  const store = drizzle(db);
  const details = JSON.stringify({ apps: renewed.length });
  const [, ...changed] = await store.batch([
    store.insert(auditLog).values({ ...auditedBy(by), action: "secrets.resealed", subject: "", details }),
    ...renewed.map((app) =>
      store
        .update(apps)
        .set({ secret: app.secret, previousSecret: app.previousSecret })
        .where(and(eq(appid, app.appid), eq(version, app.version)))
        .returning({ appid }),
    ),
  ]);
  return new Set(changed.flat().map((app) => app.appid));
}
