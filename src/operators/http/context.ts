import type { Next } from "hono";

import { readConfig } from "../../config.ts";
import { ServiceError } from "../../core/errors.ts";
import { clientNetwork } from "../../core/http/client-address.ts";
import type { RequestContext } from "../../core/http/request-context.ts";
import { unixSeconds, withinTime } from "../../core/runtime.ts";
import { WHOLE_LIMIT_MS } from "../../core/store/run-batch.ts";
import type { Identified } from "../services/identify.ts";
import type { Identity } from "../services/identity.ts";
import type { OperatorMemory } from "../services/operator-memory.ts";
import { siteUnknown } from "../services/refusals.ts";
import type { ServiceContext } from "../services/service-context.ts";
import { findSite, type Site } from "../services/sites.ts";
import { pathId } from "./path-id.ts";

/** Variables that both surfaces of operators, the admin API and the console, set on a request. */
export interface OperatorVariables {
  ctx: ServiceContext;
  /** What the directory said of the call's site and app when it was asked for the token. */
  foundByDirectory?: Identified["foundByDirectory"];
  /** The site that the path names, once the operator is let in. */
  site?: Site;
}

/** A request to a surface of operators. */
export type OperatorContext = RequestContext & {
  var: OperatorVariables;
  set: (name: "site", site: Site) => void;
};

/**
 * Answers 503 when a call takes longer than a signed call may. The call may still make its changes after that. Only a drill that posts by
 * then goes on, because each of its posts has a limit of its own.
 */
export async function answerInTime(c: RequestContext & { var: Partial<OperatorVariables> }, next: Next): Promise<void> {
  let call: Promise<void>;
  const start = () => {
    call = next();
    return call;
  };
  await withinTime(c.var.isolate.runtime, WHOLE_LIMIT_MS, start, () => {
    if (c.var.ctx?.isPosting === true) return call;
    const lateText = `No answer within ${WHOLE_LIMIT_MS / 1000} s.`;
    const unknownText = "What was asked for may or may not have been done: look before you repeat it.";
    throw new ServiceError("unavailable", {
      reason: "operator_time_limit",
      detail: c.req.method === "GET" ? lateText : `${lateText} ${unknownText}`,
      retryAfter: 1,
    });
  });
}

/** @throws ConfigurationError as {@link readConfig} does */
export function serviceContext(
  c: RequestContext,
  actor: ServiceContext["actor"],
  memory: OperatorMemory,
): ServiceContext {
  const { runtime, telemetry, credentials, stalls } = c.var.isolate;
  const waitUntil = (work: Promise<unknown>) => c.executionCtx.waitUntil(work);
  const answerBy = runtime.elapsed() + WHOLE_LIMIT_MS;
  return {
    runtime,
    telemetry,
    credentials,
    config: stalls.guardDatabases(readConfig(c.env, telemetry)),
    actor,
    identity: undefined,
    address: clientNetwork(c.req.raw),
    memory,
    requestId: c.var.trace.requestId,
    now: unixSeconds(runtime),
    answerBy,
    waitUntil,
  };
}

/** Notes the home of a call, if such a home exists: the log and the text of a fault name it. */
export function noteHome(c: OperatorContext, home: string): void {
  if (c.var.ctx.config.homes.has(home)) c.var.trace.home = home;
}

/** Whether a request can change nothing. */
export const isRead = ({ method }: Request): boolean => method === "GET" || method === "HEAD";

/** The operator of a call that is not for `anyone`. */
export function identityOf(c: OperatorContext): Identity {
  const { identity } = c.var.ctx;
  if (identity === undefined) throw new Error("nobody was identified");
  return identity;
}

/** The site that the path names. Its home is noted: {@link noteHome}. @throws ServiceError `not_found` */
export async function siteOf(c: OperatorContext): Promise<Site> {
  const siteId = pathId(c, "site_id", siteUnknown);
  const { ctx, foundByDirectory } = c.var;
  const site = foundByDirectory === undefined ? await findSite(ctx, { siteId }) : foundByDirectory.site;
  if (site === null) throw siteUnknown();
  c.var.trace.home = site.home;
  return site;
}
