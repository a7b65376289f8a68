import type { MiddlewareHandler } from "hono";
import { type Config, homeDatabase } from "../config.ts";
import { ServiceError } from "../errors.ts";
import { unixSeconds, withinTime } from "../runtime.ts";
import { type AppDesk, appDesk } from "../services/app-desk.ts";
import type { Actor, Author } from "../store/audit-log.ts";
import { findSite, type Site } from "../store/directory/sites.ts";
import { WHOLE_LIMIT_MS } from "../store/run-batch.ts";
import { notFound } from "./admin/problem.ts";
import { pathId } from "./admin/read-input.ts";
import type { App, RequestContext } from "./context.ts";
import { configOf } from "./context.ts";

/** What both doors for operators, the admin API and the console, need of a request. */

/** A call that D1 leaves waiting is a 503 after as long as a signed one. What it began may still be done. */
export const answerInTime: MiddlewareHandler<App> = (c, next) =>
  withinTime(c.var.isolate.runtime, WHOLE_LIMIT_MS, next, () => {
    c.header("retry-after", "1");
    const late = `No answer within ${WHOLE_LIMIT_MS / 1000} s.`;
    const unknown = "What was asked for may or may not have been done: look before you repeat it.";
    throw new ServiceError("unavailable", {
      reason: "operator_time_limit",
      detail: c.req.method === "GET" ? late : `${late} ${unknown}`,
    });
  });

/** Unix seconds. */
export const nowOf = (c: RequestContext): number => unixSeconds(c.var.isolate.runtime);

export const authorOf = (c: RequestContext, actor: Actor): Author => ({ actor, now: nowOf(c) });

export function deskOf(c: RequestContext, actor: Actor): AppDesk {
  const waitUntil = (work: Promise<unknown>) => c.executionCtx.waitUntil(work);
  return appDesk(c.var.isolate, configOf(c), authorOf(c, actor), waitUntil);
}

/**
 * The site a path names, with the database of its data.
 *
 * @throws Problem 404
 */
export async function siteOf(c: RequestContext): Promise<{ config: Config; site: Site; home: D1Database }> {
  const config = configOf(c);
  const site = await findSite(config.directory, pathId(c, "site_id", "site"));
  if (site === undefined) throw notFound("site");
  return { config, site, home: homeDatabase(config, site.id) };
}
