import { asc, eq, gt, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { type Author, auditedBy } from "../audit-log.ts";
import { auditLog, sites } from "../schema.ts";

export type Site = typeof sites.$inferSelect;

export async function insertSite(db: D1Database, name: string, author: Author): Promise<Site> {
  const store = drizzle(db);
  const [[site]] = await store.batch([
    store.insert(sites).values({ name, createdAt: author.now }).returning(),
    store.insert(auditLog).values({
      ...auditedBy(author),
      siteId: sql`last_insert_rowid()`,
      action: "site.created",
      subject: sql`CAST(last_insert_rowid() AS TEXT)`,
      details: JSON.stringify({ name }),
    }),
  ]);
  if (site === undefined) throw new Error("the inserted site did not come back");
  return site;
}

export function findSite(db: D1Database, id: number): Promise<Site | undefined> {
  return drizzle(db).select().from(sites).where(eq(sites.id, id)).get();
}

/** Sites with an id above `after`, in the order of their ids. */
export function listSites(db: D1Database, after: number, limit: number): Promise<Site[]> {
  return drizzle(db).select().from(sites).where(gt(sites.id, after)).orderBy(asc(sites.id)).limit(limit).all();
}
