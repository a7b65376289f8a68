import { type SQL, sql } from "drizzle-orm";
import { type Author, audit } from "../audit-log.ts";
import { apps } from "../schema.ts";
import { statement } from "../statement.ts";
import type { AppRecord } from "./apps.ts";

/** An app's secrets as sealed, and the version they belong to. */
export type SealedSecrets = Pick<
  AppRecord,
  "appid" | "siteId" | "version" | "secret" | "previousVersion" | "previousSecret"
>;

/** Whether a sealed secret starts otherwise than `mark`; null when there is no secret. */
const differs = (secret: typeof apps.secret | typeof apps.previousSecret, mark: unknown): SQL =>
  sql`substr(${secret}, 1, length(${mark})) <> ${mark}`;

const list = statement<{ mark: string; after: string; limit: number }>(
  (v) => sql`SELECT ${apps.appid} AS "appid", ${apps.siteId} AS "siteId", ${apps.version} AS "version",
    ${apps.secret} AS "secret", ${apps.previousVersion} AS "previousVersion", ${apps.previousSecret} AS "previousSecret"
  FROM ${apps} WHERE ${apps.appid} > ${v.after}
    AND (${differs(apps.secret, v.mark)} OR ${differs(apps.previousSecret, v.mark)})
  ORDER BY ${apps.appid} LIMIT ${v.limit}`,
);

/**
 * Apps with a secret whose sealed form does not start with `mark`, by appid, from the one after `after`. Reads every app: for a rare
 * call, not worth an index.
 */
export async function listSealedOtherwise(
  db: D1Database,
  mark: string,
  after: string,
  limit: number,
): Promise<SealedSecrets[]> {
  return (await list(db, { mark, after, limit }).all<SealedSecrets>()).results;
}

const count = statement<{ mark: string }>(
  (v) => sql`SELECT coalesce(sum(${differs(apps.secret, v.mark)}), 0)
    + coalesce(sum(${differs(apps.previousSecret, v.mark)}), 0) AS "secrets" FROM ${apps}`,
);

/** How many secrets there are whose sealed form does not start with `mark`. */
export async function countSealedOtherwise(db: D1Database, mark: string): Promise<number> {
  return (await count(db, { mark }).first<number>("secrets")) ?? 0;
}

const replace = statement<SealedSecrets>(
  (v) => sql`UPDATE ${apps} SET secret = ${v.secret}, previous_secret = ${v.previousSecret}
    WHERE ${apps.appid} = ${v.appid} AND ${apps.version} = ${v.version} RETURNING appid AS "appid"`,
);

const auditReplace = audit<Author & { details: string }>((v) => ({
  siteId: sql`NULL`,
  action: "secrets.resealed",
  subject: sql`''`,
  details: sql`${v.details}`,
  from: sql``,
}));

/**
 * Puts the same secrets in place under new seals, in one transaction; an app that was rotated since it was read keeps what
 * the rotation wrote.
 *
 * @returns the appids that were changed
 */
export async function replaceSeals(db: D1Database, renewed: SealedSecrets[], by: Author): Promise<Set<string>> {
  if (renewed.length === 0) return new Set();
  const results = await db.batch<{ appid: string }>([
    ...renewed.map((app) => replace(db, app)),
    auditReplace(db, { ...by, details: JSON.stringify({ apps: renewed.length }) }),
  ]);
  return new Set(results.flatMap((result) => result.results.map(({ appid }) => appid)));
}
