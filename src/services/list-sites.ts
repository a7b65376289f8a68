import { listSites } from "../store/directory/sites.ts";
import { page } from "./page.ts";

/** A page of all sites, as operators see them, by id. */
export async function listAllSites(db: D1Database, after: number, limit: number) {
  const rows = await listSites(db, after, limit + 1);
  return page(
    rows,
    limit,
    (site) => site.id,
    ({ id, name, createdAt }) => ({ id, name, created_at: createdAt }),
  );
}
