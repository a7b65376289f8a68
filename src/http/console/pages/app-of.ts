import { findApp } from "../../../services/find-app.ts";
import { siteOf } from "../../operator.ts";
import type { PageContext } from "../env.ts";

/** The app that a path names, its site, and the path of its page. @throws ServiceError `not_found` */
export async function appOf(c: PageContext) {
  const site = await siteOf(c);
  const app = await findApp(c.var.ctx, { site, appid: c.req.param("appid") ?? "" });
  return { site, app, path: `/console/sites/${site.id}/apps/${app.appid}` };
}
