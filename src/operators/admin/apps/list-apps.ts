import { APPID, listApps } from "../../services/apps.ts";
import { pageQuerySchema } from "../../services/page.ts";
import { adminCall } from "../admin-call.ts";
import { pageSchema } from "../page.ts";
import { type CallDocumentation, page, pageQuery } from "../words.ts";
import { app, appSchema } from "./app.ts";

export default adminCall(
  {
    id: "listApps",
    method: "get",
    path: "/sites/:site_id/apps",
    role: "viewer",
    scope: "site",
    audit: [],
    query: pageQuerySchema,
    response: pageSchema(appSchema),
  },
  (c, { site, query }) => listApps(c.var.ctx, { site, ...query }),
);

export const documentation = (): CallDocumentation => ({
  summary: "List a site's apps",
  chinese: "列出站点的应用",
  query: pageQuery(APPID.source),
  response: page("AppPage"),
  parts: [app()],
  answered: "A page of apps, by appid; never with a secret.",
});
