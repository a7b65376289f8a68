import { ConfigurationError } from "../config.ts";
import { UnsealError } from "../credentials/sealed-secret.ts";
import { ServiceError, WIRE_ERRORS } from "../errors.ts";
import { databaseFault, rootOf } from "../store/run-batch.ts";
import { answerProblem, Problem } from "./admin/problem.ts";
import { errorPage } from "./console/error-page.tsx";
import type { RequestContext } from "./context.ts";
import { envelope } from "./signed/envelope.ts";

/**
 * The one place where a thrown thing becomes an answer. What is not a ServiceError or a Problem is answered with fixed text; its cause
 * goes to the log and never to the caller.
 */
export function onError(error: Error, c: RequestContext): Response {
  // The console's pages have a view from its first middleware on; what failed before is answered like any call.
  const inConsole = c.var.view !== undefined;
  if (error instanceof Problem) {
    c.var.trace.reason = `problem_${error.status}`;
    return inConsole ? errorPage(c, error.status) : answerProblem(c, error);
  }
  const refusal = refusalOf(error, c);
  if (inConsole) return errorPage(c, WIRE_ERRORS[refusal.code].status as Problem["status"]);
  return isAdmin(c) ? answerProblem(c, asProblem(refusal)) : envelope(c, refusal.code, refusal.context);
}

/** What a thrown thing is in the closed set; tells the log why. */
function refusalOf(error: Error, c: RequestContext): ServiceError {
  const { trace } = c.var;
  const refusal = error instanceof ServiceError ? error : unexpected(error);
  trace.reason = refusal.context.reason;
  if (refusal.context.detail !== undefined) trace.detail = refusal.context.detail;
  trace.serverFault = WIRE_ERRORS[refusal.code].status >= 500;
  if (refusal.context.cause !== undefined) trace.fault = describeFault(refusal.context.cause);
  return refusal;
}

function unexpected(error: Error): ServiceError {
  if (error instanceof ConfigurationError)
    return new ServiceError("internal", { reason: "configuration", cause: error });
  if (error instanceof UnsealError) return new ServiceError("internal", { reason: "master_key_wrong", cause: error });
  return databaseFault(error) ?? new ServiceError("internal", { reason: "unexpected", cause: error });
}

/** A D1_TYPE_ERROR quotes the value, and a D1 that answers no JSON is quoted whole: both stay out. */
const SAFE_MESSAGE = /^D1_ERROR: (?!Failed to parse)|^no answer in|^Network connection lost/;

/**
 * A fault in words that hold no data. Config, seals and D1 name themselves, tables and columns; any other message may quote what
 * a caller sent (a parser does), so only its name and where it came from are told.
 */
function describeFault(cause: unknown): string {
  const root = rootOf(cause);
  const safe = root instanceof ConfigurationError || root instanceof UnsealError || SAFE_MESSAGE.test(root.message);
  if (safe) return `${root.name}: ${root.message}`.slice(0, 300);
  const frames = (root.stack ?? "")
    .replace(root.message, "")
    .split("\n")
    .filter((line) => /^\s+at /.test(line));
  return [root.name, ...frames.slice(0, 5).map((frame) => frame.trim())].join(" ");
}

const ADMIN_TITLES: Partial<Record<number, string>> = {
  404: "Not found",
  405: "Method not allowed",
  413: "Body too large",
  415: "Unsupported media type",
  429: "Too many requests",
  500: "Internal error",
  503: "Temporarily unavailable",
};

function asProblem({ code, context }: ServiceError): Problem {
  const { status } = WIRE_ERRORS[code];
  const headers: Record<string, string> = {};
  if (context.allow !== undefined) headers.allow = context.allow;
  if (context.retryAfter !== undefined) headers["retry-after"] = String(context.retryAfter);
  const title = ADMIN_TITLES[status] ?? "Request refused";
  return new Problem(status as Problem["status"], title, context.detail ?? `${title}.`, { headers });
}

const isAdmin = (c: RequestContext) => /^\/admin(\/|$)/.test(c.req.path);
