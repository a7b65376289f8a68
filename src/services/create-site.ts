import * as z from "zod/mini";
import { displayName } from "../fields.ts";
import type { Author } from "../store/audit-log.ts";
import { insertSite } from "../store/directory/sites.ts";

/** Body of POST /admin/sites. */
export const newSiteSchema = z.strictObject({ name: displayName });

/** Creates a site. Names need not be unique. */
export async function createSite(db: D1Database, input: z.infer<typeof newSiteSchema>, by: Author) {
  const { id, name } = await insertSite(db, input.name, by);
  return { id, name };
}
