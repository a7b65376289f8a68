import type { MiddlewareHandler } from "hono";
import { sleep } from "../runtime.ts";
import { SLOW_DRILL_MS } from "../signed/drill.ts";
import type { App } from "./request-context.ts";

/** What a gateway answers when it lost the answer of the server behind it. */
const GATEWAY_PAGE = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n";

/**
 * Withholds the answer to a call that is done, when the caller drills that. A repetition and a refusal are answered as always. It stands
 * before the log, because a caller who hangs up ends all work that comes after the answer.
 */
export const withholdAnswer: MiddlewareHandler<App> = async (c, next) => {
  await next();
  const { drill, requestId, sessionId, repeated } = c.var.trace;
  if (sessionId === undefined || repeated === true) return;
  if (drill === "slow") await sleep(c.var.isolate.runtime, SLOW_DRILL_MS);
  if (drill !== "lost-answer") return;
  // Hono would keep the headers of the answer before.
  c.res = undefined;
  c.res = new Response(GATEWAY_PAGE, {
    status: 502,
    headers: { "content-type": "text/html", "x-request-id": requestId },
  });
};
