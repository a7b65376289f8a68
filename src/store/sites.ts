import { asc, eq, gt } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { sites } from "./schema.ts";

export async function insertSite(db: D1Database, name: string, now: number) {
  const [site] = await drizzle(db).insert(sites).values({ name, createdAt: now }).returning();
  if (site === undefined) throw new Error("the inserted site did not come back");
  return site;
}

export async function findSite(db: D1Database, id: number) {
  const [site] = await drizzle(db).select().from(sites).where(eq(sites.id, id));
  return site;
}

/** Sites by id, from the one after `after`. */
export function listSites(db: D1Database, after: number, limit: number) {
  return drizzle(db).select().from(sites).where(gt(sites.id, after)).orderBy(asc(sites.id)).limit(limit);
}
