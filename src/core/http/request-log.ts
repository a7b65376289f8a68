import type { MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import { newRequestId } from "../request-id.ts";
import type { App, Isolate } from "./request-context.ts";

/** Gives every request a new id and one log record. The answer has the id as `x-request-id`; a caller's `x-request-id` is ignored. */
export function requestLog(isolate: Isolate): MiddlewareHandler<App> {
  return async function logRequest(c, next) {
    const requestId = newRequestId(isolate.runtime);
    const since = isolate.runtime.elapsed();
    c.set("isolate", isolate);
    c.set("trace", { requestId });
    c.header("x-request-id", requestId);
    await next();
    const trace = c.get("trace");
    isolate.telemetry.request(
      {
        request_id: requestId,
        method: c.req.method,
        // Routes after the one that answered may match too: `/agents/:id` after `/agents/unused`.
        route: pathOf(matchedRoutes(c).slice(0, c.req.routeIndex + 1)),
        status: c.res.status,
        appid: trace.appid,
        home: trace.home,
        drill: trace.drill,
        outcome: trace.reason !== undefined ? "refused" : trace.repeated === true ? "repeated" : "ok",
        reason: trace.reason,
        detail: trace.detail,
        fault: trace.fault,
        chat_id: trace.sessionId,
        ignored_agents: trace.ignoredAgents,
        credentials_from: trace.credentialsFrom,
        credentials_ms: trace.credentialsMs,
        kv_ms: trace.kvMs,
        d1_ms: trace.d1Ms,
        ms: Math.round(isolate.runtime.elapsed() - since),
      },
      trace.serverFault === true,
    );
  };
}

/** The pattern of the route that answered, or of the surface when none of its routes did. */
function pathOf(matched: { path: string }[]): string {
  const route = matched.findLast(({ path }) => !path.endsWith("*")) ?? matched.at(-1);
  return route?.path ?? "/*";
}
