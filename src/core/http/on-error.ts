import { isSignedErrorCode } from "../errors.ts";
import { envelope } from "./envelope.ts";
import { refusalOf } from "./faults.ts";
import type { RequestContext } from "./request-context.ts";

/** Answers every error outside the operators' surfaces with the envelope of the signed API. */
export function answerSignedError(error: Error, c: RequestContext): Response {
  const { code, context } = refusalOf(error, c.var.trace);
  return envelope(c, isSignedErrorCode(code) ? code : "internal", context);
}
