import { misses } from "../../checker/row-changes.ts";
import { hasKeyOf } from "../../checker/seals.ts";
import type { BrokenRule } from "../../checker/violate.ts";
import { DISABLED } from "../../operators/rules/webhook-writes.ts";
import type { Row, RowChange } from "../../platform/database.ts";
import { type Attempt, clockOf, isPing, isSuccess, statusOf } from "./attempt.ts";
import { FIRST_IN_LINE } from "./leases.ts";
import { MOST_ATTEMPTS, nextBounds } from "./schedule.ts";

/**
 * Which results an ended attempt may record: docs/receiving.md, and docs/architecture.md, "The way of an event".
 *
 * @param attempt the attempt that holds the delivery's lease; undefined when another call holds it, or nobody
 * @param attempts all attempts of the call at this delivery
 * @param hasData whether the event has its data; without it, the receiver's words must not be stored
 */
export function wrongResult(
  change: RowChange,
  attempt: Attempt | undefined,
  attempts: readonly Attempt[],
  hasData: boolean,
): BrokenRule {
  const before = change.before as Row;
  const after = change.after as Row;
  if (after.status === "delivered") return wrongSuccess(before, after, attempts);
  if (!hasData && after.last_error !== null) {
    return ["no receiver's words are stored for an event that has lost its data", String(after.last_error)];
  }
  if (attempt === undefined || before.status !== "pending") {
    return ["only the holder of the delivery's lease records a failure", `it was ${before.status}`];
  }
  if (after.status === "skipped") {
    return attempt.event == null || attempt.event.data === null
      ? wrongEnd(before, after, {})
      : ["only a delivery of an erased or pruned event is skipped", "the event is there"];
  }
  const { post } = attempt;
  if (post === undefined) {
    if (!isRefused(attempt))
      return ["an attempt that was not posted fails only when its secret does not open", "it was not posted"];
    return wrongNext(before, after, attempt, attempt.leasedAt);
  }
  if (isSuccess(attempt)) return ["a success is recorded as one", `${post.name} was answered ${post.status}`];
  if (attempt.endedAt === undefined) return ["only an attempt that has ended is recorded", `${post.name} has not`];
  if (after.last_status !== statusOf(attempt))
    return ["the receiver's status is recorded", `last_status is ${after.last_status}`];
  return wrongNext(before, after, attempt, attempt.endedAt);
}

function wrongSuccess(before: Row, after: Row, attempts: readonly Attempt[]): BrokenRule {
  const isAnswered = attempts.some((each) => isSuccess(each) && statusOf(each) === after.last_status);
  if (isAnswered) return wrongEnd(before, after, { last_error: null });
  return [
    "a delivered event was answered 2xx by its receiver",
    `none of ${attempts.map(({ post }) => post?.name)} was`,
  ];
}

/** Whether a secret that an attempt needs does not open in its isolate. */
const isRefused = ({ webhooks, call }: Attempt): boolean =>
  webhooks.some(({ secret, previous_secret }) =>
    [secret, previous_secret].some((seal) => seal != null && !hasKeyOf(call.settings, seal)),
  );

/** Whether a failed delivery ends or gets a next attempt, and at which time. */
function wrongNext(before: Row, after: Row, attempt: Attempt, endedAt: number): BrokenRule {
  const { call, number } = attempt;
  if (Number(before.attempts) < number) return wrongAgain(before, after, attempt, endedAt);
  if (after.status === "failed") {
    const isLast = number >= MOST_ATTEMPTS || statusOf(attempt) === 410 || isPing(attempt);
    return isLast
      ? wrongEnd(before, after, {})
      : ["a delivery fails after 8 attempts, or a 410", `attempt ${number} failed`];
  }
  if (isPing(attempt)) return ["a ping is tried once", `it is due again at ${after.next_attempt_at}`];
  if (statusOf(attempt) === 410) return ["a 410 ends the delivery", "it is tried again"];
  const bounds = nextBounds(number, { endedAt, writtenAt: clockOf(call) });
  if (bounds === undefined) return ["a delivery has at most 8 attempts", "it is tried again"];
  const next = Number(after.next_attempt_at);
  if (next >= bounds.from && next <= bounds.to) return wrongRest(before, after);
  const description = `${next}, not ${bounds.from} to ${bounds.to}`;
  return ["the next attempt is due by the schedule", `${number} at ${endedAt}: ${description}`];
}

/** Checks a failure whose delivery was sent again during the attempt: the next attempt is the first of eight. */
function wrongAgain(before: Row, after: Row, attempt: Attempt, endedAt: number): BrokenRule {
  const rule = "a delivery that was sent again during an attempt gets eight new attempts when that attempt fails";
  const next = Number(after.next_attempt_at);
  if (after.status !== "pending" || after.attempts !== 0) return [rule, `${after.status} after ${after.attempts}`];
  if (isPing(attempt)) return next === FIRST_IN_LINE ? wrongRest(before, after) : [rule, `the ping is due at ${next}`];
  const first = nextBounds(1, { endedAt, writtenAt: clockOf(attempt.call) });
  if (next < Number(first?.from) || next > Number(first?.to)) return [rule, `the next attempt is due at ${next}`];
  return wrongRest(before, after);
}

const REST = "a result leaves its delivery ended, or due without a lease, and changes nothing else";

/** The columns that any result may change. */
const resultColumns = ({ last_status = null, last_error = null, duration_ms = null }: Row): Row => ({
  last_status,
  last_error,
  duration_ms,
  claim: null,
});

/** Checks a failure that leaves its delivery pending. */
function wrongRest(before: Row, after: Row): BrokenRule {
  const wrong = misses(after, { ...before, ...resultColumns(after), next_attempt_at: after.next_attempt_at ?? null });
  return wrong === undefined ? undefined : [REST, wrong];
}

/** Why a change is not the end of a delivery with these columns; undefined when it is. */
function wrongEnd(before: Row, after: Row, columns: Row): BrokenRule {
  const { status = "" } = after;
  const wrong = misses(after, { ...before, ...resultColumns(after), status, next_attempt_at: null, ...columns });
  return wrong === undefined ? undefined : [REST, wrong];
}

/**
 * Why a change is not the failure of a delivery whose webhook was disabled. It must keep the columns about earlier
 * attempts.
 */
export function wrongLeftover({ before, after }: RowChange, webhook: Row | undefined): string | undefined {
  if (webhook?.status !== "disabled") return "its webhook is not disabled";
  if (before?.status !== "pending") return `it was ${before?.status}`;
  const { last_error } = before;
  return misses(after, {
    ...before,
    status: "failed",
    next_attempt_at: null,
    claim: null,
    last_error: last_error ?? DISABLED,
  });
}
