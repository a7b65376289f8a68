import type { ContentfulStatusCode } from "hono/utils/http-status";
import { describeIssues, type FieldIssue } from "../../fields.ts";
import type { RequestContext } from "../context.ts";

/** An admin call refused; answered as RFC 9457 problem details. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly status: ContentfulStatusCode;
  readonly title: string;
  readonly detail: string;
  readonly more: { errors?: FieldIssue[]; headers?: Record<string, string> };

  constructor(status: ContentfulStatusCode, title: string, detail: string, more: Problem["more"] = {}) {
    super(`${status} ${title}`);
    this.status = status;
    this.title = title;
    this.detail = detail;
    this.more = more;
  }
}

export const notFound = (what: string) => new Problem(404, "Not found", `There is no such ${what}.`);

/** Bad input, naming each field: `errors` holds them one by one, `detail` in one line. */
export function badInput(errors: FieldIssue[]): Problem {
  return new Problem(400, "Invalid input", describeIssues(errors), { errors });
}

export function answerProblem(c: RequestContext, { status, title, detail, more }: Problem): Response {
  const problem = { type: "about:blank", title, status, detail, ...(more.errors && { errors: more.errors }) };
  return c.body(JSON.stringify(problem), status, { ...more.headers, "content-type": "application/problem+json" });
}
