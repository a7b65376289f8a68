import type { HomeModel } from "../../checker/home-model.ts";
import { misses } from "../../checker/row-changes.ts";
import type { BrokenRule } from "../../checker/violate.ts";
import type { Row, RowChange } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { clockOf } from "./attempt.ts";
import type { OutboxModel } from "./outbox-model.ts";
import { MOST_ATTEMPTS } from "./schedule.ts";

/** Seconds for which only the holder of a lease may make the attempt. */
export const LEASE_SECONDS = 60;
/** `next_attempt_at` of a ping: earlier than that of any other delivery. */
export const FIRST_IN_LINE = 0;

const MOST_IN_FLIGHT = 20;
export const MOST_IN_FLIGHT_FAILING = 3;

export const isLease = ({ before, after }: RowChange): boolean =>
  before !== null && after !== null && Number(after.attempts) > Number(before.attempts);

/** Checks a lease: docs/architecture.md, "The way of an event". */
export function wrongLease(home: HomeModel, call: Call, change: RowChange): BrokenRule {
  const before = change.before as Row;
  const after = change.after as Row;
  const at = Number(after.next_attempt_at) - LEASE_SECONDS;
  const now = clockOf(call);
  if (at < call.clock || at > now) return ["a lease lasts 60 s", `${at} is not now, ${now}`];
  const webhook = home.outbox.webhookOf(after);
  if (webhook?.status !== "enabled")
    return ["nothing is attempted for a disabled webhook", "the webhook is not enabled"];
  if (before.status !== "pending") return ["only a pending delivery is attempted", `it is ${before.status}`];
  if (Number(before.next_attempt_at) > at) return ["nothing is attempted before it is due", `it is ${at}`];
  // A delivery with the lease of its eighth attempt may be leased again: that attempt was lost without a result.
  if (Number(before.attempts) >= MOST_ATTEMPTS && before.claim === null)
    return ["a delivery has at most 8 attempts", "it has had eight"];
  // A ping goes first, also when the webhook's places are full.
  const isFirst = before.next_attempt_at === FIRST_IN_LINE;
  if (!isFirst && placesLeft(home.outbox, webhook, at) <= 0) {
    return ["at most 20 attempts are in flight to one webhook, 3 while it fails", `as many are, at ${at}`];
  }
  const claim = after.claim ?? null;
  const attempts = Number(before.attempts) + 1;
  if (claim === null || claim === before.claim) return ["each attempt has a lease of its own", String(claim)];
  const lease = { attempts, claim, next_attempt_at: at + LEASE_SECONDS, last_attempt_at: at, duration_ms: null };
  const wrong = misses(after, { ...before, ...lease });
  return wrong === undefined ? undefined : ["a lease counts the attempt and changes nothing else", wrong];
}

/** How many more attempts to a webhook may be in flight. Pings take no places. */
export function placesLeft(outbox: OutboxModel, webhook: Row, now: number): number {
  const most = webhook.failing_since === null ? MOST_IN_FLIGHT : MOST_IN_FLIGHT_FAILING;
  const inFlight = outbox.deliveriesOf(webhook).filter((each) => isInFlight(each, now));
  return most - inFlight.filter((each) => !isOfPing(outbox, each)).length;
}

export const isOfPing = (outbox: OutboxModel, delivery: Row): boolean => outbox.eventOf(delivery)?.type === "ping";

export const isInFlight = ({ status, claim, next_attempt_at }: Row, now: number): boolean =>
  status === "pending" && claim !== null && Number(next_attempt_at) > now;
