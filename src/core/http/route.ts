import type { Handler } from "hono";
import type { Config } from "../config.ts";
import { describeLeftOut } from "../describe-violations.ts";
import type { Operation } from "../operations/operation.ts";
import { nameRefusedApp } from "../signed/refused-unread.ts";
import { runRequest } from "../signed/run-request.ts";
import { clientAddress } from "./client-address.ts";
import { fail, succeed } from "./envelope.ts";
import { readBody } from "./read-body.ts";
import type { App, RequestContext } from "./request-context.ts";

/** @throws ConfigurationError after `wrong` is done */
async function configOr(c: RequestContext, wrong: () => Promise<void>): Promise<Config> {
  try {
    return c.var.isolate.configOf(c.env);
  } catch (error) {
    await wrong();
    throw error;
  }
}

/** The HTTP side of one signed operation: reads the request, runs it, and answers. */
export function signedRoute(operation: Operation): Handler<App> {
  return async function signedRequest(c) {
    const { isolate, trace } = c.var;
    const waitUntil = (work: Promise<unknown>) => c.executionCtx.waitUntil(work);
    const body = () => readBody(isolate.runtime, c.req.raw);
    const client = clientAddress(c.req.raw);
    const config = await configOr(c, () =>
      nameRefusedApp({ ...isolate, trace, waitUntil }, c.env, operation, { body, client }),
    );
    const result = await runRequest({ ...isolate, trace, waitUntil, config }, operation, {
      body: await body(),
      signature: c.req.header("x-chat-signature"),
      idempotencyKey: c.req.header("idempotency-key"),
      client,
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
