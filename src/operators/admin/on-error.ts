import { detailOf } from "../../core/describe-violations.ts";
import { type ErrorCode, type ServiceError, STATUS_OF } from "../../core/errors.ts";
import { describeIssues } from "../../core/fields.ts";
import { refusalOf, silentHome } from "../../core/http/faults.ts";
import type { RequestContext } from "../../core/http/request-context.ts";

const TITLES: Partial<Record<ErrorCode, string>> = {
  invalid_input: "Invalid input",
  unauthorized: "Unauthorized",
  forbidden: "Forbidden",
  not_found: "Not found",
  route_not_found: "Not found",
  method_not_allowed: "Method not allowed",
  conflict: "Conflict",
  body_too_large: "Body too large",
  media_type_unsupported: "Unsupported media type",
  too_many_requests: "Too many requests",
  internal: "Internal error",
  unavailable: "Temporarily unavailable",
};

/** Answers every error of the admin API with problem details, RFC 9457. */
export function answerAdminError(error: Error, c: RequestContext): Response {
  const refusal = refusalOf(error, c.var.trace);
  const { allow, retryAfter, issues, reason, homesDown, members } = refusal.context;
  const status = STATUS_OF[refusal.code];
  const title = TITLES[refusal.code] ?? "Request refused";
  const problem = {
    type: "about:blank",
    title,
    status,
    detail: textOf(refusal, title, silentHome(refusal, c.var.trace)),
    ...(issues !== undefined && { errors: issues }),
    // One call may be refused for several reasons, and a script must be able to distinguish them.
    ...((refusal.code === "conflict" || refusal.code === "forbidden") && { reason }),
    ...(homesDown !== undefined && { homes_down: homesDown }),
    ...members,
  };
  if (allow !== undefined) c.header("allow", allow);
  if (retryAfter !== undefined) c.header("retry-after", String(retryAfter));
  if (refusal.code === "unauthorized") c.header("www-authenticate", "Bearer");
  return c.body(JSON.stringify(problem), status, { "content-type": "application/problem+json" });
}

function textOf({ code, context }: ServiceError, title: string, silent: string | undefined): string {
  const { reason, issues } = context;
  const detail = detailOf(context);
  if (silent !== undefined) {
    const what = reason === "d1_not_migrated" ? "is not migrated" : "does not answer";
    const hint = `The home ${silent} or the directory ${what}: GET /admin/homes says which.`;
    return [hint, detail].filter(Boolean).join(" ");
  }
  if (issues !== undefined) return describeIssues(issues);
  if (detail !== undefined) return detail;
  return code === "unauthorized" ? "Send a token as Authorization: Bearer <token>." : `${title}.`;
}
