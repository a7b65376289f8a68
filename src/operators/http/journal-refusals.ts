import type { MiddlewareHandler } from "hono";
import { describeViolations } from "../../core/describe-violations.ts";
import { clientNetwork } from "../../core/http/client-address.ts";
import type { App } from "../../core/http/request-context.ts";
import { timeOfRequest } from "../../core/request-id.ts";
import type { Violation } from "../../core/rules.ts";
import type { Journal } from "../journal/journal.ts";

/** The most characters of a detail. */
const LONGEST_DETAIL = 500;

/**
 * Notes refused calls for the journal after their answers are made: calls of a known app, and calls whose app nobody could look up. An
 * accepted call writes nothing and waits for nothing. Rows of earlier calls that are due are sent after its answer.
 */
export function journalRefusals(journal: Journal): MiddlewareHandler<App> {
  return async function journalRefusal(c, next) {
    await next();
    const { app, claimedAppid, operation, requestId, reason, detail, violations, secretVersion, drill } = c.var.trace;
    const appid = app?.appid ?? claimedAppid;
    if (appid === undefined || operation === undefined) return;
    const queue: Queue | undefined = c.env.JOURNAL;
    if (queue === undefined) return;
    if (app !== undefined) journal.find(app);
    if (reason !== undefined) {
      journal.note(app, {
        requestId,
        at: timeOfRequest(requestId),
        appid,
        operation,
        status: c.res.status,
        reason,
        detail: detail?.slice(0, LONGEST_DETAIL) ?? null,
        violations: detail === undefined ? null : wholeIn(LONGEST_DETAIL, violations),
        secret: secretVersion ?? null,
        client: clientNetwork(c.req.raw),
        drill: drill ?? null,
      });
    }
    // A call of an unknown app causes no further work.
    if (app !== undefined && journal.isDue()) c.executionCtx.waitUntil(journal.send(queue));
  };
}

/** The first violations, as many as fit whole into a text of this length. */
function wholeIn(length: number, violations: readonly Violation[] = []): readonly Violation[] {
  return describeViolations(violations).length <= length ? violations : wholeIn(length, violations.slice(0, -1));
}
