import { type AppDesk, appDesk } from "../credentials/app-desk.ts";
import { homeDatabase, type Settings, settingsOf } from "../env.ts";
import type { Actor, Author } from "../store/audit-log.ts";
import { findSite, type Site } from "../store/sites.ts";
import type { RequestContext } from "./context.ts";
import { notFound } from "./problem.ts";
import { pathId } from "./read-input.ts";

/** What both doors for operators, the admin API and the console, need of a request. */

/** Unix seconds. */
export const nowOf = (c: RequestContext): number => Math.floor(c.var.isolate.now() / 1000);

export const authorOf = (c: RequestContext, actor: Actor): Author => ({ actor, now: nowOf(c) });

export function deskOf(c: RequestContext, actor: Actor): AppDesk {
  const waitUntil = (work: Promise<unknown>) => c.executionCtx.waitUntil(work);
  return appDesk(c.var.isolate.credentials, settingsOf(c.env), authorOf(c, actor), waitUntil);
}

/**
 * The site a path names, with the database of its data.
 *
 * @throws Problem 404
 */
export async function siteOf(c: RequestContext): Promise<{ settings: Settings; site: Site; home: D1Database }> {
  const settings = settingsOf(c.env);
  const site = await findSite(settings.directory, pathId(c, "site_id", "site"));
  if (site === undefined) throw notFound("site");
  return { settings, site, home: homeDatabase(settings, site.id) };
}
