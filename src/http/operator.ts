import type { Next } from "hono";
import { ServiceError } from "../errors.ts";
import { unixSeconds, withinTime } from "../runtime.ts";
import type { ServiceContext } from "../services/context.ts";
import { findSite, type Site } from "../services/find-site.ts";
import { siteUnknown } from "../services/refusals.ts";
import { WHOLE_LIMIT_MS } from "../store/run-batch.ts";
import { configOf, type RequestContext } from "./context.ts";
import { pathId } from "./path-id.ts";

/** What both faces for operators, the admin API and the console, need of a request. */
export interface OperatorVariables {
  /** What services are given. */
  ctx: ServiceContext;
}

type OperatorContext = RequestContext & { var: OperatorVariables };

/** A call that D1 leaves waiting is a 503 after as long as a signed one. What it began may still be done. */
export const answerInTime = (c: RequestContext, next: Next): Promise<void> =>
  withinTime(c.var.isolate.runtime, WHOLE_LIMIT_MS, next, () => {
    const late = `No answer within ${WHOLE_LIMIT_MS / 1000} s.`;
    const unknown = "What was asked for may or may not have been done: look before you repeat it.";
    throw new ServiceError("unavailable", {
      reason: "operator_time_limit",
      detail: c.req.method === "GET" ? late : `${late} ${unknown}`,
      retryAfter: 1,
    });
  });

/** @throws ConfigurationError see {@link configOf} */
export function serviceContext(c: RequestContext, actor: ServiceContext["actor"]): ServiceContext {
  const { runtime, telemetry, credentials } = c.var.isolate;
  const waitUntil = (work: Promise<unknown>) => c.executionCtx.waitUntil(work);
  return { runtime, telemetry, credentials, config: configOf(c), actor, now: unixSeconds(runtime), waitUntil };
}

/** The site that a path names. @throws ServiceError `not_found` */
export function siteOf(c: OperatorContext): Promise<Site> {
  return findSite(c.var.ctx, { siteId: pathId(c, "site_id", siteUnknown) });
}
