import type { Change, Row } from "../../platform/database.ts";
import { misses } from "../admin/row-changes.ts";
import { isPostable } from "../admin/webhook-answers.ts";
import { DISABLED } from "../admin/webhook-writes.ts";
import { hasKeyOf } from "../seals.ts";
import { type Attempt, clockOf, heardStatus, isPing, isSuccess } from "./attempt.ts";
import { FIRST_IN_LINE } from "./leases.ts";
import { MOST_ATTEMPTS, nextBounds } from "./schedule.ts";

type Broken = [rule: string, what: string] | undefined;

const MOST_ERROR_CHARACTERS = 250;
/** The reasons for which nothing was posted: docs/operating.md, "Seeing what fails". */
const REFUSAL = /^the (URL .+|secret does not open: MASTER_KEY)$/;

/**
 * Which results an ended attempt may record: docs/receiving.md and docs/architecture.md, "Events".
 *
 * @param own      the attempt that holds the delivery's lease; undefined when another call holds it, or nobody
 * @param attempts all attempts of the call at this delivery
 * @param hasData  whether the event has its data: what the receiver said is kept only beside it
 */
export function wrongResult(
  change: Change,
  own: Attempt | undefined,
  attempts: readonly Attempt[],
  hasData: boolean,
): Broken {
  const before = change.before as Row;
  const after = change.after as Row;
  if (after.status === "delivered") return wrongSuccess(before, after, attempts) ?? wrongDuration(after, attempts);
  if (!hasData && after.last_error !== null) {
    return ["a receiver's words go with the person: none are kept after that", String(after.last_error)];
  }
  if (own === undefined || before.status !== "pending") {
    return ["only the holder of the delivery's lease records a failure", `it was ${before.status}`];
  }
  const timed = wrongDuration(after, [own]);
  if (timed !== undefined) return timed;
  if (after.status === "skipped") {
    return own.event == null || own.event.data === null
      ? ended(before, after, {})
      : ["only a delivery of an erased or pruned event is skipped", "the event is there"];
  }
  const { post } = own;
  if (post === undefined) return wrongRefusal(before, after, own, hasData);
  if (isSuccess(post)) return ["a success is recorded as one", `${post.name} was answered ${post.status}`];
  if (own.endedAt === undefined) return ["only an attempt that has ended is recorded", `${post.name} has not`];
  return wrongFailure(before, after, own, own.endedAt, hasData);
}

/** Milliseconds by which a recorded duration may be longer than the post: the wait for the answer's body, and signing. */
const DURATION_SLACK_MS = 16_000;

/** @param attempts those that the result may be of */
function wrongDuration({ duration_ms }: Row, attempts: readonly Attempt[]): Broken {
  const took = attempts.flatMap(({ tookMs }) => tookMs ?? []);
  // Nothing was posted: the event was erased, or its URL or its secret is wrong.
  if (attempts.every(({ post }) => post === undefined) && duration_ms === null) return undefined;
  const isOne = took.some((ms) => Number(duration_ms) >= ms - 1 && Number(duration_ms) <= ms + DURATION_SLACK_MS);
  if (typeof duration_ms === "number" && Number.isInteger(duration_ms) && isOne) return undefined;
  return ["duration_ms is how long the last attempt took", `it is ${duration_ms}, not ${took.join(" or ")}`];
}

function wrongSuccess(before: Row, after: Row, attempts: readonly Attempt[]): Broken {
  const rule = "a delivered event was answered 2xx by its receiver";
  const heard = attempts.find(({ post }) => post !== undefined && isSuccess(post) && post.status === after.last_status);
  if (heard === undefined) return [rule, `none of ${attempts.map(({ post }) => post?.name)} was`];
  return ended(before, after, { last_error: null });
}

/** A failure without a post: the URL must not be posted to, or the secret does not open. */
function wrongRefusal(before: Row, after: Row, own: Attempt, hasData: boolean): Broken {
  if (!isRefused(own)) return ["an attempt fails by its receiver, its URL or its secret", "it was not posted"];
  if ((hasData && !REFUSAL.test(String(after.last_error))) || after.last_status !== null) {
    return ["a failure has its reason", String(after.last_error)];
  }
  return wrongEnd(before, after, own, { endedAt: own.leasedAt, status: null, retryAfter: undefined });
}

/** Whether an attempt's URL must not be posted to, or a secret that it needs does not open in its isolate. */
const isRefused = ({ post, webhooks, call }: Attempt): boolean =>
  post === undefined &&
  webhooks.some(
    ({ url, secret, previous_secret }) =>
      !isPostable(String(url)) ||
      [secret, previous_secret].some((seal) => seal != null && !hasKeyOf(call.settings, seal)),
  );

function wrongFailure(before: Row, after: Row, own: Attempt, endedAt: number, hasData: boolean): Broken {
  const status = (own.post && heardStatus(own.post)) ?? null;
  const retryAfter = status === null ? undefined : own.post?.retryAfter;
  const error = String(after.last_error ?? "");
  if (after.last_status !== status) return ["the receiver's status is recorded", `last_status is ${after.last_status}`];
  const isUnfit =
    error === "" || error.length > MOST_ERROR_CHARACTERS || /\p{Cc}/u.test(error) || !tells(error, status);
  if (hasData && isUnfit) {
    return ["a failure has its reason", `last_error is ${JSON.stringify(error)}`];
  }
  return wrongEnd(before, after, own, { endedAt, status, retryAfter });
}

interface Told {
  endedAt: number;
  status: number | null;
  retryAfter: string | undefined;
}

/** Whether the delivery ends or gets a next attempt, and at which time. */
function wrongEnd(before: Row, after: Row, own: Attempt, { endedAt, status, retryAfter }: Told): Broken {
  const { call, number } = own;
  if (Number(before.attempts) < number) return wrongAgain(before, after, { own, endedAt, retryAfter });
  if (after.status === "failed") {
    const isLast = number >= MOST_ATTEMPTS || status === 410 || isPing(own);
    return isLast
      ? ended(before, after, {})
      : ["a delivery fails after 8 attempts, or a 410", `attempt ${number} failed`];
  }
  if (isPing(own)) return ["a ping is tried once", `it is due again at ${after.next_attempt_at}`];
  if (status === 410) return ["a 410 ends the delivery", "it is tried again"];
  const bounds = nextBounds(number, { endedAt, writtenAt: clockOf(call) }, retryAfter);
  if (bounds === undefined) return ["a delivery has at most 8 attempts", "it is tried again"];
  const next = Number(after.next_attempt_at);
  if (next < bounds.from || next > bounds.to) {
    const said = `Retry-After ${retryAfter}: ${next}, not ${bounds.from} to ${bounds.to}`;
    return [
      "the next attempt is due by the schedule, or as Retry-After asks",
      `attempt ${number} at ${endedAt}, ${said}`,
    ];
  }
  return wrongRest(before, after);
}

/**
 * The failure of an attempt whose delivery was sent again while it was in flight: the next attempt is the first of
 * eight.
 */
function wrongAgain(
  before: Row,
  after: Row,
  { own, endedAt, retryAfter }: { own: Attempt; endedAt: number; retryAfter: string | undefined },
): Broken {
  const { call } = own;
  const rule = "what was sent again while an attempt was in flight is tried anew when that attempt fails";
  if (after.status !== "pending") return [rule, `it is ${after.status}`];
  if (after.attempts !== 0) return [rule, `it has had ${after.attempts} attempts`];
  const next = Number(after.next_attempt_at);
  if (isPing(own)) return next === FIRST_IN_LINE ? wrongRest(before, after) : [rule, `the ping is due at ${next}`];
  const moment = { endedAt, writtenAt: clockOf(call) };
  const [first, asked] = [nextBounds(1, moment, null), nextBounds(1, moment, retryAfter)];
  if (next < Number(first?.from) || next > Number(asked?.to)) return [rule, `the next attempt is due at ${next}`];
  return wrongRest(before, after);
}

/** A failure that leaves its delivery pending changes no further columns. */
function wrongRest(before: Row, after: Row): Broken {
  const { next_attempt_at = 0, last_status = null, last_error = null, duration_ms = null } = after;
  const wrong = misses(after, { ...before, claim: null, next_attempt_at, last_status, last_error, duration_ms });
  return wrong === undefined ? undefined : ["a failure changes nothing else of its delivery", wrong];
}

/** Whether an error's words fit a status. */
const tells = (error: string, status: number | null): boolean =>
  status === null
    ? /^no (answer in 15 s|connection)$/.test(error)
    : error === "redirects are not followed"
      ? status >= 300 && status < 400
      : error.startsWith(`HTTP ${status}`);

/** Why a change is not the end of a delivery with these columns; undefined when it is. */
function ended(before: Row, after: Row, columns: Row): Broken {
  const { status = "", last_status = null, last_error = null, duration_ms = null } = after;
  const row = {
    ...before,
    status,
    last_status,
    last_error,
    duration_ms,
    next_attempt_at: null,
    claim: null,
    ...columns,
  };
  const wrong = misses(after, row);
  return wrong === undefined ? undefined : ["a delivery that has ended is neither due nor leased", wrong];
}

/**
 * Why a change is not the failure of a delivery whose webhook was disabled. It must keep what is known of the attempts
 * before.
 */
export function wrongLeftover({ before, after }: Change, webhook: Row | undefined): string | undefined {
  if (webhook?.status !== "disabled") return "its webhook is not disabled";
  if (before?.status !== "pending") return `it was ${before?.status}`;
  return misses(after, leftover(before));
}

/** The row of a delivery whose webhook was disabled: its last error stays. */
export const leftover = (before: Row): Row => ({
  ...before,
  status: "failed",
  next_attempt_at: null,
  claim: null,
  last_error: before.last_error ?? DISABLED,
});
