import { type SQL, sql } from "drizzle-orm";
import type { Runtime } from "../../runtime.ts";
import { type Author, audit } from "../audit-log.ts";
import { withRetries } from "../run-batch.ts";
import { apps } from "../schema.ts";
import { insertInto, statement } from "../statement.ts";

/** An app as stored, secrets sealed. Times are Unix seconds. */
export type AppRecord = {
  appid: string;
  siteId: number;
  version: string;
  secret: string;
  previousVersion: string | null;
  previousSecret: string | null;
  previousExpiresAt: number | null;
  revokedAt: number | null;
};

/** An app as operators see it. */
export type AppSummary = Pick<AppRecord, "appid" | "siteId" | "version" | "previousExpiresAt" | "revokedAt"> & {
  name: string;
  createdAt: number;
};

const selectApp = statement<{ appid: string }>(
  (v) => sql`SELECT ${apps.appid} AS "appid", ${apps.siteId} AS "siteId", ${apps.version} AS "version",
    ${apps.secret} AS "secret", ${apps.previousVersion} AS "previousVersion", ${apps.previousSecret} AS "previousSecret",
    ${apps.previousExpiresAt} AS "previousExpiresAt", ${apps.revokedAt} AS "revokedAt"
  FROM ${apps} WHERE ${apps.appid} = ${v.appid}`,
);

/** @param answerBy see {@link withRetries} */
export function findApp(runtime: Runtime, db: D1Database, appid: string, answerBy?: number): Promise<AppRecord | null> {
  return withRetries(runtime, () => selectApp(db, { appid }).first<AppRecord>(), answerBy);
}

type NewApp = {
  appid: string;
  siteId: number;
  name: string;
  version: string;
  secret: string;
  /** JSON. */
  brought: string;
};

const insert = statement<NewApp & { now: number }>(
  (v) => sql`${insertInto(apps, apps.appid, apps.siteId, apps.name, apps.version, apps.secret, apps.createdAt)}
    VALUES (${v.appid}, ${v.siteId}, ${v.name}, ${v.version}, ${v.secret}, ${v.now}) ON CONFLICT DO NOTHING`,
);

const auditInsert = audit<NewApp & Author>((v) => ({
  siteId: sql`${v.siteId}`,
  action: sql`CASE ${v.brought} WHEN '[]' THEN 'app.issued' ELSE 'app.brought_along' END`,
  subject: sql`${v.appid}`,
  details: sql`json_object('name', ${v.name}, 'brought', json(${v.brought}))`,
  from: sql`WHERE changes() > 0`,
}));

/**
 * False when the appid is taken.
 *
 * @param app `secret` sealed; `brought` is what the operator chose instead of having it issued
 */
export async function insertApp(
  db: D1Database,
  app: Omit<NewApp, "brought"> & { brought: ("appid" | "secret")[] },
  by: Author,
): Promise<boolean> {
  const values = { ...app, brought: JSON.stringify(app.brought) };
  const [inserted] = await db.batch([insert(db, { ...values, now: by.now }), auditInsert(db, { ...values, ...by })]);
  return inserted?.meta.changes === 1;
}

type Rotation = {
  appid: string;
  version: string;
  secret: string;
  /** Of the secret that was in place when the rotation began. */
  previousVersion: string;
  previousSecret: string;
  previousExpiresAt: number;
};

const replace = statement<Rotation>(
  (v) => sql`UPDATE ${apps} SET version = ${v.version}, secret = ${v.secret}, previous_version = ${v.previousVersion},
      previous_secret = ${v.previousSecret}, previous_expires_at = ${v.previousExpiresAt}
    WHERE ${apps.appid} = ${v.appid} AND ${apps.version} = ${v.previousVersion} AND ${apps.revokedAt} IS NULL`,
);

const auditReplace = audit<Author & { appid: string }>((v) => ({
  siteId: sql`${apps.siteId}`,
  action: "app.rotated",
  subject: sql`${apps.appid}`,
  details: sql`json_object('version', ${apps.version}, 'previous_expires_at', ${apps.previousExpiresAt})`,
  from: changedApp(v.appid),
}));

/** Puts a rotated record in place if nobody rotated or revoked since `previousVersion` was read; false when somebody did. */
export async function replaceSecret(runtime: Runtime, db: D1Database, change: Rotation, by: Author): Promise<boolean> {
  const batch = () => [replace(db, change), auditReplace(db, { ...by, appid: change.appid })];
  const [replaced] = await withRetries(runtime, () => db.batch(batch()));
  return replaced?.meta.changes === 1;
}

const revoke = statement<{ appid: string; now: number }>(
  (v) => sql`UPDATE ${apps} SET revoked_at = ${v.now} WHERE ${apps.appid} = ${v.appid} AND ${apps.revokedAt} IS NULL`,
);

const auditRevoke = audit<Author & { appid: string }>((v) => ({
  siteId: sql`${apps.siteId}`,
  action: "app.revoked",
  subject: sql`${apps.appid}`,
  details: sql`json_object('name', ${apps.name})`,
  from: changedApp(v.appid),
}));

/** Revokes for good; an earlier revocation keeps its time. False when there is no such app. */
export async function markRevoked(db: D1Database, appid: string, by: Author): Promise<boolean> {
  const values = { appid, now: by.now };
  const results = await db.batch([revoke(db, values), auditRevoke(db, { ...by, appid }), selectApp(db, values)]);
  return results.at(-1)?.results.length === 1;
}

const SUMMARY = sql`${apps.appid} AS "appid", ${apps.siteId} AS "siteId", ${apps.name} AS "name",
  ${apps.version} AS "version", ${apps.previousExpiresAt} AS "previousExpiresAt", ${apps.revokedAt} AS "revokedAt",
  ${apps.createdAt} AS "createdAt"`;

const selectSummary = statement<{ siteId: number; appid: string }>(
  (v) => sql`SELECT ${SUMMARY} FROM ${apps} WHERE ${apps.appid} = ${v.appid} AND ${apps.siteId} = ${v.siteId}`,
);

/** Undefined when the site has no such app. */
export async function findAppOfSite(db: D1Database, siteId: number, appid: string): Promise<AppSummary | undefined> {
  return (await selectSummary(db, { siteId, appid }).first<AppSummary>()) ?? undefined;
}

const list = statement<{ siteId: number; after: string; limit: number }>(
  (v) => sql`SELECT ${SUMMARY} FROM ${apps} WHERE ${apps.siteId} = ${v.siteId} AND ${apps.appid} > ${v.after}
    ORDER BY ${apps.appid} LIMIT ${v.limit}`,
);

/** A site's apps by appid, from the one after `after`; without secrets. */
export async function listApps(db: D1Database, siteId: number, after: string, limit: number): Promise<AppSummary[]> {
  return (await list(db, { siteId, after, limit }).all<AppSummary>()).results;
}

/** The app just changed by the statement before, if it changed. */
function changedApp(appid: unknown): SQL {
  return sql`FROM ${apps} WHERE ${apps.appid} = ${appid} AND changes() > 0`;
}
