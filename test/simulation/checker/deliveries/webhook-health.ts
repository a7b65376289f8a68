import type { Change, Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { originOf, sorted } from "../admin/audit-details.ts";
import { misses } from "../admin/row-changes.ts";
import { type Attempt, clockOf, heardStatus, isAt, isSuccess } from "./attempt.ts";

/** What the Worker itself records about a webhook: docs/operating.md, "Events". */

type Broken = [rule: string, what: string] | undefined;

const FAILING_SECONDS = 5 * 86_400;
/** The largest difference between the clocks of two isolates. */
const SKEW_SECONDS = 20;

/** @param attempts the call's attempts at this webhook */
export function wrongHealth(call: Call, change: Change, attempts: readonly Attempt[]): Broken {
  const before = change.before as Row;
  const { after } = change;
  if (after === null || change.before === null) return ["the Worker makes and removes no webhook by itself", ""];
  const { failing_since = null, status = "", disabled_reason = null } = after;
  // A new revision ends PATCHes that an operator sent before the Worker disabled the webhook: they must not enable it
  // again.
  const revision = Number(before.revision) + Number(status !== before.status);
  const wrong = misses(after, { ...before, failing_since, status, disabled_reason, revision });
  if (wrong !== undefined) return ["the Worker changes only the health of a webhook", wrong];
  const failed = attempts.filter(
    ({ post, endedAt }) => endedAt !== undefined && post !== undefined && !isSuccess(post),
  );
  if (failing_since !== before.failing_since) {
    if (failing_since === null) {
      if (attempts.some(({ post }) => post !== undefined && isSuccess(post))) return undefined;
      return ["a webhook fails no more after a success", "there was none"];
    }
    const rule = "failing_since is the first failure since the last success";
    if (before.failing_since !== null) return [rule, `it was ${before.failing_since}`];
    const isThen = failed.some(({ endedAt = 0 }) => endedAt <= Number(failing_since));
    return isThen && Number(failing_since) <= clockOf(call) ? undefined : [rule, `nothing failed at ${failing_since}`];
  }
  if (status === before.status) return undefined;
  const isGone =
    disabled_reason === "gone" && failed.some(({ post }) => post !== undefined && heardStatus(post) === 410);
  const since = before.failing_since ?? null;
  const isFailing = since !== null && Number(since) <= clockOf(call) - FAILING_SECONDS;
  const hasFailed = disabled_reason === "failing" && isFailing && failed.length > 0;
  return status === "disabled" && (isGone || hasFailed)
    ? undefined
    : [
        "the Worker disables only a webhook that answered 410 or failed for 5 days",
        `${disabled_reason}, failing since ${since}`,
      ];
}

/**
 * What a transaction had to record about a webhook, by the results that it recorded, and did not. @param now the
 * webhook after that transaction
 */
export function missedHealth(call: Call, now: Row, written: readonly Attempt[]): Broken {
  // A post to an earlier URL says nothing about the webhook's new URL.
  const posts = written.flatMap(({ post }) => (post === undefined || !isAt(post, now) ? [] : [post]));
  if (posts.length === 0) return undefined;
  if (posts.some((post) => heardStatus(post) === 410) && now.status === "enabled") {
    return ["a 410 disables the webhook", `${now.id} is enabled`];
  }
  if (posts.some(isSuccess)) {
    return now.failing_since === null ? undefined : ["a webhook fails no more after a success", `${now.failing_since}`];
  }
  // After a lost answer, a second try records the results once more, with results since then: one of them may be a
  // success.
  if (now.failing_since === null && call.faults.length > 0) return undefined;
  if (now.failing_since === null) return ["a failure is noted at the webhook", `${now.id} says nothing of it`];
  const isOver = Number(now.failing_since) < clockOf(call) - FAILING_SECONDS - SKEW_SECONDS;
  return isOver && now.status === "enabled"
    ? ["a webhook that fails for 5 days is disabled", `${now.id} fails since ${now.failing_since}`]
    : undefined;
}

/**
 * How the audit rows of a transaction of the Worker itself are wrong: there must be one for each webhook that it
 * disables.
 */
export function wrongOwnAudit(changes: readonly Change[]): string | undefined {
  const rows = changes.flatMap(({ table, after }) => (table === "audit_log" && after !== null ? [after] : []));
  const disabled = changes.flatMap(({ table, before, after }) =>
    table === "webhooks" && before?.status === "enabled" && after?.status === "disabled" ? [after] : [],
  );
  const said = rows.map(({ actor, action, site_id, subject }) => `${actor} ${action} ${site_id} ${subject}`);
  const expected = disabled.map(({ site_id, id }) => `worker webhook.disabled ${site_id} ${id}`);
  if (said.toSorted().join() !== expected.toSorted().join()) return `it says ${said}, expected ${expected}`;
  const wrong = rows.find(({ details, subject }) => {
    const { url, disabled_reason: reason } = disabled.find(({ id }) => id === subject) ?? {};
    return sorted(JSON.parse(String(details)) as object) !== sorted({ origin: originOf(url), reason });
  });
  return wrong && `it says ${wrong.details} of ${wrong.subject}`;
}
