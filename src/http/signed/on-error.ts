import { isSignedErrorCode } from "../../errors.ts";
import type { RequestContext } from "../context.ts";
import { refusalOf } from "../faults.ts";
import { envelope } from "./envelope.ts";

/** Answers whatever is thrown outside the operators' faces by the envelope of the signed API. */
export function onError(error: Error, c: RequestContext): Response {
  const { code, context } = refusalOf(error, c.var.trace);
  return envelope(c, isSignedErrorCode(code) ? code : "internal", context);
}
