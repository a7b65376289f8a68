import * as z from "zod/mini";
import { displayName } from "../fields.ts";
import { insertSite, type Site } from "../store/directory/sites.ts";
import { authorOf, type ServiceContext } from "./service-context.ts";

/** Body of POST /admin/sites. */
export const newSiteSchema = z.strictObject({ name: displayName });

/** Creates a site. Names need not be unique. */
export function createSite(ctx: ServiceContext, { name }: z.infer<typeof newSiteSchema>): Promise<Site> {
  return insertSite(ctx.config.directory, name, authorOf(ctx));
}
