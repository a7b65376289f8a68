import type { Handler } from "hono";
import { describeLeftOut } from "../../operations/describe-left-out.ts";
import type { Operation } from "../../operations/operation.ts";
import { runRequest } from "../../signed/run-request.ts";
import { clientAddress } from "../client-address.ts";
import { readBody } from "../read-body.ts";
import { type App, configOf } from "../request-context.ts";
import { fail, succeed } from "./envelope.ts";

/** The HTTP side of one signed operation: reads the request, runs it, and answers. */
export function signedRoute(operation: Operation): Handler<App> {
  return async function signedRequest(c) {
    const { isolate, trace } = c.var;
    const waitUntil = (work: Promise<unknown>) => c.executionCtx.waitUntil(work);
    const tools = { ...isolate, trace, waitUntil, config: configOf(c) };
    const result = await runRequest(tools, operation, {
      body: await readBody(isolate.runtime, c.req.raw),
      signature: c.req.header("x-chat-signature"),
      idempotencyKey: c.req.header("idempotency-key"),
      client: clientAddress(c.req.raw),
    });
    if (!result.ok) return fail(c, result);
    const { sessionId, repeated, leftOut } = result.value;
    trace.sessionId = sessionId;
    if (repeated) {
      c.header("idempotency-replayed", "true");
      trace.repeated = true;
    }
    if (leftOut.length > 0) {
      trace.ignoredAgents = describeLeftOut(leftOut);
      c.header("x-ignored-agents", trace.ignoredAgents);
    }
    return succeed(c, operation.answer(sessionId));
  };
}
