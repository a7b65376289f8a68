import { misses } from "../../checker/row-changes.ts";
import type { BrokenRule } from "../../checker/violate.ts";
import { MOST_AT_ONCE } from "../../operators/rules/whole-changes.ts";
import type { Row, RowChange } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { type Attempt, clockOf, isAt, isPing, isSuccess, SKEW_SECONDS, statusOf } from "./attempt.ts";
import { keyOf, type OutboxModel } from "./outbox-model.ts";
import { MOST_ATTEMPTS } from "./schedule.ts";

/** What the Worker itself records about a webhook: docs/operating/webhooks.md, "Webhooks". */

const FAILING_SECONDS = 5 * 86_400;
const SLOW_MS = 10_000;
/** Seconds after which a due delivery counts as stuck: its receiver hangs, so no delivery uses up its attempts. */
const STUCK_SECONDS = 86_400;

/** The columns about a webhook's last failure. Only the delivery has the receiver's words. */
const NO_FAILURE = { last_status: null, last_cause: null, last_failed_at: null, last_seq: null };

/** The columns of a webhook that is well or was just enabled. */
export const WELL = { failing_since: null, ...NO_FAILURE, last_error: null, failing_told_at: null };

/** Whether an attempt counts for the webhook's health. Pings and posts to an earlier URL do not count. */
const countsForHealth =
  (webhook: Row) =>
  (attempt: Attempt): boolean =>
    attempt.post !== undefined && !isPing(attempt) && isAt(attempt.post, webhook);

/** @param attempts the call's attempts at this webhook */
export function wrongHealth(
  call: Call,
  outbox: OutboxModel,
  change: RowChange,
  attempts: readonly Attempt[],
): BrokenRule {
  const before = change.before as Row;
  const { after } = change;
  if (after === null || change.before === null) return ["the Worker makes and removes no webhook by itself", ""];
  const { status = "", disabled_reason = null, disabled_at = null } = after;
  const { failing_since = null, failing_told_at = null, slow = null } = after;
  const storedHealth = Object.fromEntries(Object.keys(NO_FAILURE).map((column) => [column, after[column] ?? null]));
  // The new revision stops an earlier PATCH, which must not enable the webhook again.
  const revision = Number(before.revision) + Number(status !== before.status);
  const health = { failing_since, ...storedHealth, failing_told_at, slow };
  const wrong = misses(after, { ...before, ...health, status, disabled_reason, disabled_at, revision });
  if (wrong !== undefined) return ["the Worker changes only the health of a webhook", wrong];
  const counting = attempts.filter(countsForHealth(before));
  const failures = counting.filter((each) => each.endedAt !== undefined && !isSuccess(each));
  const isFailing = failing_since !== null;
  if (!isFailing && status === "enabled" && misses(after, WELL) !== undefined) {
    return ["a healthy webhook stores nothing about earlier failures", JSON.stringify(health)];
  }
  if (failing_since !== before.failing_since) {
    const fault = isFailing ? wrongSince(call, before, Number(failing_since), failures) : !counting.some(isSuccess);
    if (fault === true) return ["a webhook no longer counts as failing after a success", "there was no success"];
    if (typeof fault === "object") return fault;
  }
  if (slow !== before.slow && !(counting.some(isSuccess) && counting.some((each) => mayBe(Number(slow), each)))) {
    return ["a webhook is slow when its newest ended delivery took over 10 s", `${slow}, it was ${before.slow}`];
  }
  const isOfOne = counting.length > 0 || misses(storedHealth, before) === undefined;
  if (!isOfOne) return ["only attempts at a webhook's present URL change its health", JSON.stringify(storedHealth)];
  return status === before.status ? undefined : wrongDisabling(call, outbox, after, failures);
}

/** Whether an ended attempt makes its webhook slow (1) or not (0). The Worker rounds to milliseconds. */
const mayBe = (slow: number, { post, endedMs }: Attempt): boolean => {
  const duration = Number(endedMs) - Number(post?.sentAt);
  return slow === 1 ? duration > SLOW_MS - 1 : duration < SLOW_MS + 1;
};

function wrongSince(call: Call, before: Row, since: number, failures: readonly Attempt[]): BrokenRule {
  const rule = "failing_since is the first failure since the last success";
  if (before.failing_since !== null) return [rule, `it was ${before.failing_since}`];
  const isThen = failures.some(({ endedAt = 0 }) => endedAt <= since);
  return isThen && since <= clockOf(call) ? undefined : [rule, `nothing failed at ${since}`];
}

/** @param after the webhook as the Worker disabled it */
function wrongDisabling(call: Call, outbox: OutboxModel, after: Row, failures: readonly Attempt[]): BrokenRule {
  const { status, disabled_reason, failing_since } = after;
  const now = clockOf(call);
  const isGone = disabled_reason === "gone" && failures.some((each) => statusOf(each) === 410);
  const isOver = failing_since != null && Number(failing_since) <= now - FAILING_SECONDS;
  const isUsedUp = failures.some(({ number }) => number >= MOST_ATTEMPTS);
  const isHopeless = isOver && (isUsedUp || outbox.deliveriesOf(after).some((each) => isStuck(each, now)));
  const isFailing = disabled_reason === "failing" && failures.length > 0 && isHopeless;
  if (status === "disabled" && (isGone || isFailing)) return undefined;
  const rule =
    "the Worker disables a webhook only after a 410, or after 5 days of failures and a delivery that fails or waits a day";
  return [rule, `${disabled_reason}, failing since ${failing_since}, now is ${now}`];
}

/** Whether a delivery has been due for a day. Pings do not count. */
const isStuck = ({ status, next_attempt_at }: Row, now: number): boolean =>
  status === "pending" && Number(next_attempt_at) > 0 && Number(next_attempt_at) <= now - STUCK_SECONDS;

export const stuckKeysIn = ({ deliveries }: OutboxModel, now: number): Set<string> =>
  new Set([...deliveries].filter(([, row]) => isStuck(row, now)).map(([key]) => key));

/**
 * Which delivery stays pending although a transaction disables its webhook. One transaction ends only
 * {@link MOST_AT_ONCE}.
 */
export function wrongLeft(outbox: OutboxModel, changes: readonly RowChange[]): BrokenRule {
  for (const { site_id = 0, id = "" } of disabledIn(changes)) {
    const ofWebhook = changes.filter(({ table, after }) => table === "deliveries" && after?.webhook_id === id);
    const isFull = ofWebhook.filter(({ after }) => after?.status === "failed").length >= MOST_AT_ONCE;
    const delivery = outbox.deliveriesOf({ site_id, id }).find(({ status }) => status === "pending");
    if (!isFull && delivery !== undefined)
      return ["a pending delivery of a disabled webhook fails", `${JSON.stringify(delivery)} stays pending`];
  }
  return undefined;
}

/**
 * What a transaction should have recorded about a webhook, by the results that it recorded, and did not record.
 *
 * @param now the webhook after that transaction
 * @param attempts those whose results it recorded
 * @param stuckKeys the keys of the deliveries that had been due for a day before the transaction
 */
export function missedHealth(
  call: Call,
  outbox: OutboxModel,
  now: Row,
  { attempts, stuckKeys }: { attempts: readonly Attempt[]; stuckKeys: ReadonlySet<string> },
): BrokenRule {
  const counting = attempts.filter(countsForHealth(now));
  if (counting.length === 0) return undefined;
  if (counting.some((each) => statusOf(each) === 410) && now.status === "enabled") {
    return ["a 410 disables the webhook", `${now.id} is enabled`];
  }
  if (counting.some(isSuccess)) {
    if (now.failing_since !== null)
      return ["a webhook no longer counts as failing after a success", `${now.failing_since}`];
    return now.slow === null ? ["a success says whether its webhook is slow", `${now.id} says nothing`] : undefined;
  }
  if (now.status !== "enabled") return undefined;
  // After a lost answer, a second try records the results again with newer ones. One of those may be a success.
  if (now.failing_since === null && call.faults.length > 0) return undefined;
  if (now.failing_since === null) return ["a failure is noted at the webhook", `${now.id} says nothing of it`];
  const isOver = Number(now.failing_since) < clockOf(call) - FAILING_SECONDS - SKEW_SECONDS;
  if (!isOver) return undefined;
  const what = `${now.id} fails since ${now.failing_since}`;
  const isUsedUp = counting.some(({ key }) => outbox.deliveries.get(key)?.status === "failed");
  const waits = outbox
    .deliveriesOf(now)
    .some((each) => each.status === "pending" && stuckKeys.has(keyOf("deliveries", each)));
  if (!isUsedUp && !waits) return undefined;
  return ["a webhook that fails for 5 days is disabled when a delivery has no attempt left or is due for a day", what];
}

/** Checks the audit rows of a transaction of the Worker itself. */
export function wrongOwnAudit(changes: readonly RowChange[]): BrokenRule {
  const rows = changes.flatMap(({ table, after }) => (table === "audit_log" && after !== null ? [after] : []));
  const rowTexts = rows.map(({ actor, action, site_id, subject }) => `${actor} ${action} ${site_id} ${subject}`);
  const webhooks = disabledIn(changes);
  const expected = webhooks.map(({ site_id, id }) => `worker webhook.disabled ${site_id} ${id}`);
  if (rowTexts.toSorted().join() === expected.toSorted().join()) return undefined;
  return ["each webhook that the Worker disables is in the audit log", `it says ${rowTexts}, expected ${expected}`];
}

/** The rows of the webhooks that a transaction has disabled. */
export const disabledIn = (changes: readonly RowChange[]): Row[] =>
  changes.flatMap(({ table, before, after }) =>
    table === "webhooks" && before?.status === "enabled" && after?.status === "disabled" ? [after] : [],
  );
