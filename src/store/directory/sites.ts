import { sql } from "drizzle-orm";
import { type Author, audit } from "../audit-log.ts";
import { sites } from "../schema.ts";
import { insertInto, statement } from "../statement.ts";

export type Site = { id: number; name: string; createdAt: number };

const SITE = sql`${sites.id} AS "id", ${sites.name} AS "name", ${sites.createdAt} AS "createdAt"`;

const insert = statement<{ name: string; now: number }>(
  (v) => sql`${insertInto(sites, sites.name, sites.createdAt)} VALUES (${v.name}, ${v.now})
    RETURNING id, name, created_at AS "createdAt"`,
);

const auditInsert = audit<Author & { name: string }>((v) => ({
  siteId: sql`last_insert_rowid()`,
  action: "site.created",
  subject: sql`CAST(last_insert_rowid() AS TEXT)`,
  details: sql`json_object('name', ${v.name})`,
  from: sql``,
}));

export async function insertSite(db: D1Database, name: string, by: Author): Promise<Site> {
  const [inserted] = await db.batch<Site>([insert(db, { name, now: by.now }), auditInsert(db, { ...by, name })]);
  const site = inserted?.results[0];
  if (site === undefined) throw new Error("the inserted site did not come back");
  return site;
}

const select = statement<{ id: number }>((v) => sql`SELECT ${SITE} FROM ${sites} WHERE ${sites.id} = ${v.id}`);

export async function findSite(db: D1Database, id: number): Promise<Site | undefined> {
  return (await select(db, { id }).first<Site>()) ?? undefined;
}

const list = statement<{ after: number; limit: number }>(
  (v) => sql`SELECT ${SITE} FROM ${sites} WHERE ${sites.id} > ${v.after} ORDER BY ${sites.id} LIMIT ${v.limit}`,
);

/** Sites by id, from the one after `after`. */
export async function listSites(db: D1Database, after: number, limit: number): Promise<Site[]> {
  return (await list(db, { after, limit }).all<Site>()).results;
}
