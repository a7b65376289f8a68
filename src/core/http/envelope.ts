import type { ContentfulStatusCode } from "hono/utils/http-status";
import { alwaysStatus200 } from "../config.ts";
import { detailOf } from "../describe-violations.ts";
import { type ErrorContext, type SignedErrorCode, WIRE_ERRORS } from "../errors.ts";
import type { Refused } from "../result.ts";
import { noteRefusal } from "./faults.ts";
import type { RequestContext } from "./request-context.ts";

/** `{"code":1,"msg":"ok","data":…}`, contract section 4. */
export function answerSuccess(c: RequestContext, data: Record<string, unknown> | ""): Response {
  return c.json({ code: 1, msg: "ok", data });
}

/** `{"code":-1,"msg":…,"data":""}`, contract section 7. Also notes reason and violations for the log and the journal. */
export function answerRefusal(c: RequestContext, refused: Refused): Response {
  noteRefusal(c.var.trace, refused);
  return envelope(c, refused.code, refused);
}

/**
 * The envelope of a failure, with the headers `Allow`, `Retry-After` and `x-error-detail`. The detail is sent only with `tellViolations`: the
 * signature was right, or the detail holds nothing secret.
 */
export function envelope(
  c: RequestContext,
  code: SignedErrorCode,
  refused: Pick<ErrorContext, "allow" | "retryAfter" | "tellViolations" | "violations" | "detail">,
): Response {
  const { allow, retryAfter, tellViolations } = refused;
  const detail = tellViolations === true ? detailOf(refused) : undefined;
  const { status, message } = WIRE_ERRORS[code];
  if (allow !== undefined) c.header("Allow", allow);
  if (retryAfter !== undefined) c.header("Retry-After", String(retryAfter));
  if (detail !== undefined) c.header("x-error-detail", detail);
  const body = { code: -1, msg: message, data: "" };
  return c.json(body, alwaysStatus200(c.env) ? 200 : (status as ContentfulStatusCode));
}
