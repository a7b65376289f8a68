import type { ContentfulStatusCode } from "hono/utils/http-status";
import { type ServiceError, WIRE_ERRORS } from "../../errors.ts";
import type { RequestContext } from "../context.ts";

/** `{"code":1,"msg":"ok","data":…}`, contract section 4. */
export function succeed(c: RequestContext, data: Record<string, unknown> | ""): Response {
  return c.json({ code: 1, msg: "ok", data });
}

/**
 * `{"code":-1,"msg":…,"data":""}`, contract section 7, with the headers that help: `Allow`, `Retry-After`, and `x-error-detail`
 * once the signature was valid or where it depends on no secret.
 */
export function fail(c: RequestContext, refusal: ServiceError, alwaysStatus200: boolean): Response {
  const { status, message } = WIRE_ERRORS[refusal.code];
  const { allow, retryAfter, detail, open } = refusal.context;
  if (allow !== undefined) c.header("Allow", allow);
  if (retryAfter !== undefined) c.header("Retry-After", String(retryAfter));
  if (detail !== undefined && (open === true || c.var.trace.signatureValid === true))
    c.header("x-error-detail", detail);
  return c.json({ code: -1, msg: message, data: "" }, alwaysStatus200 ? 200 : (status as ContentfulStatusCode));
}
