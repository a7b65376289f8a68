import type { Context, Handler } from "hono";
import type { Config } from "../config.ts";
import { describeLeftOut } from "../describe-violations.ts";
import type { Operation } from "../operations/operation.ts";
import type { Runtime } from "../runtime.ts";
import { nameRefusedApp } from "../signed/refused-unread.ts";
import { runRequest } from "../signed/run-request.ts";
import { clientAddress, clientNetwork } from "./client-address.ts";
import { answerRefusal, answerSuccess } from "./envelope.ts";
import { oneTimer } from "./one-timer.ts";
import { readBody } from "./read-body.ts";
import type { App, RequestContext } from "./request-context.ts";

/** Reads the settings. @throws ConfigurationError when they are wrong, after `onWrongConfig` has run */
async function configOrRefusal(c: RequestContext, onWrongConfig: () => Promise<void>): Promise<Config> {
  try {
    return c.var.isolate.configOf(c.env);
  } catch (error) {
    await onWrongConfig();
    throw error;
  }
}

/** The HTTP side of one signed operation: reads the request, runs it, and answers. */
export function signedRoute(operation: Operation): Handler<App> {
  return async function signedRequest(c) {
    const runtime = oneTimer(c.get("isolate").runtime);
    try {
      return await answerSigned(c, operation, runtime);
    } finally {
      runtime.rest();
    }
  };
}

async function answerSigned(c: Context<App>, operation: Operation, runtime: Runtime): Promise<Response> {
  const [isolate, trace] = [c.get("isolate"), c.get("trace")];
  const waitUntil = (work: Promise<unknown>) => c.executionCtx.waitUntil(work);
  const tools = { ...isolate, runtime, trace, waitUntil };
  const readOwnBody = () => readBody(runtime, c.req.raw);
  const client = clientAddress(c.req.raw);
  const config = await configOrRefusal(c, () => nameRefusedApp(tools, c.env, operation, { body: readOwnBody, client }));
  const result = await runRequest({ ...tools, config }, operation, {
    body: await readOwnBody(),
    signature: c.req.header("x-chat-signature"),
    idempotencyKey: c.req.header("idempotency-key"),
    drill: c.req.header("x-drill"),
    client,
    clientNetwork: clientNetwork(c.req.raw),
  });
  if (!result.ok) return answerRefusal(c, result);
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
  return answerSuccess(c, operation.answer(sessionId));
}
