import { pageQuerySchema } from "../../services/page.ts";
import { listSites } from "../../services/sites.ts";
import { adminCall } from "../admin-call.ts";
import { pageSchema } from "../page.ts";
import { type CallDocumentation, ID_CURSOR, page, pageQuery } from "../words.ts";
import { createdAt, site, siteEntrySchema } from "./site.ts";

export default adminCall(
  {
    id: "listSites",
    method: "get",
    path: "/sites",
    role: "viewer",
    scope: "sites",
    audit: [],
    query: pageQuerySchema,
    response: pageSchema(siteEntrySchema),
  },
  (c, { query }) => listSites(c.var.ctx, query),
);

export const documentation = (): CallDocumentation => ({
  summary: "List the sites",
  chinese: "列出站点",
  query: pageQuery(ID_CURSOR),
  response: page("SitePage"),
  parts: [{ name: "SiteEntry", schema: siteEntrySchema, fields: { ...site().fields, created_at: createdAt() } }],
  answered: "A page of sites, by id.",
});
