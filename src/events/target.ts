import type { PlaceCandidate } from "./budget.ts";
import type { DelayedNotice } from "./notify-queue.ts";
import type { AskedRow } from "./store/deliveries.ts";
import { FIRST_IN_LINE } from "./store/deliveries.ts";

/** The longest delay of a message that the queue accepts. */
export const LONGEST_DELAY_SECONDS = 43_200;

/** What an operator sends again is due over so many seconds. Its attempts tell the queue of none that come after them. */
const SENT_AGAIN_SECONDS = 10;

/** How far the clocks of two isolates may differ. A message that comes too early for its retry is sent once more. */
const CLOCK_SECONDS = 2;

/** A webhook that is being delivered to. */
export interface Target extends PlaceCandidate {
  home: string;
  id: string;
  /** How many attempts have ended whose results are not recorded. */
  unrecorded: number;
  /** Whether the queue may need a notice of the next attempt: true after an attempt that failed or was not the first. */
  retries: boolean;
  /** The earliest next attempt after a failure that was recorded here, in Unix seconds. */
  retryAt: number | null;
  /** Whether more is due than this invocation can begin. */
  hasMore: boolean;
  /** Whether another invocation was asked to help. */
  isHelped: boolean;
  /** The time of the next attempt that the queue was notified of before this invocation left the webhook, in Unix seconds. */
  notifiedOf: number | null;
}

export const newTarget = (home: string, siteId: number, id: string): Target => ({
  home,
  siteId,
  id,
  inFlight: 0,
  unrecorded: 0,
  isSuspect: undefined,
  isNew: false,
  hasPing: false,
  retries: false,
  retryAt: null,
  hasMore: false,
  isHelped: false,
  notifiedOf: null,
});

export const namesOf = (targets: Iterable<Target>): string =>
  JSON.stringify([...targets].map(({ siteId, id }) => ({ siteId, id })));

export const earlierOf = (a: number | null, b: number | null): number | null =>
  a === null || (b !== null && b < a) ? b : a;

export const isOf =
  ({ siteId, id }: Target) =>
  (row: Pick<AskedRow, "siteId" | "webhookId">): boolean =>
    row.siteId === siteId && row.webhookId === id;

/** Whether nothing was read of a webhook. */
export const isUnknown = ({ isSuspect }: Target): boolean => isSuspect === undefined;

/** Takes over what a row says of a webhook. */
export function learn(target: Target, row: Pick<AskedRow, "isSuspect" | "isNew" | "nextDue"> | undefined): void {
  // A row that was read before a result is recorded does not know of it.
  if (target.unrecorded === 0) {
    target.isSuspect = row?.isSuspect === 1;
    target.isNew = row?.isNew === 1;
  }
  target.hasPing = row?.nextDue === FIRST_IN_LINE;
}

export const noticeOf = ({ home, siteId, id }: Target, delaySeconds: number): DelayedNotice => ({
  home,
  site: siteId,
  webhook: id,
  delaySeconds,
});

/**
 * The queue is notified of the next attempt of a webhook that is left, except when it was before, or when other invocations have the
 * most in flight: those go on with the webhook themselves. They may know of no failure, so the queue is also notified of the retry
 * after a failure here.
 *
 * @param isStopped whether the budget is used up or the database failed
 * @returns the notices for the queue
 */
export function noticesOfLeaving(
  target: Target,
  nextDue: number | null,
  isStopped: boolean,
  now: number,
): DelayedNotice[] {
  if (nextDue === null) return [];
  const wait = nextDue - now;
  if (wait <= 0) {
    const rest = isStopped ? [noticeOf(target, 0)] : [];
    return [...rest, ...noticeOnce(target, target.retryAt, now)];
  }
  if (nextDue === target.notifiedOf || !(target.retries || wait <= CLOCK_SECONDS)) return [];
  const noticeOfRetry =
    wait <= SENT_AGAIN_SECONDS && target.retryAt !== nextDue ? noticeOnce(target, target.retryAt, now) : [];
  return [noticeOf(target, Math.min(wait, LONGEST_DELAY_SECONDS)), ...noticeOfRetry];
}

/**
 * A receiver may hold an attempt for 15 s, so a webhook with attempts in flight must not wait for their end with its next one.
 *
 * @returns the notice of that next attempt, unless the queue was notified of it or an earlier one
 */
export function noticeBeside(target: Target, nextDue: number | null, now: number): DelayedNotice[] {
  return target.inFlight === 0 ? [] : noticeOnce(target, nextDue, now);
}

/** @returns the notice of a coming attempt, unless the queue was notified of it or an earlier one */
function noticeOnce(target: Target, nextDue: number | null, now: number): DelayedNotice[] {
  if (nextDue === null || nextDue <= now) return [];
  if (target.notifiedOf !== null && target.notifiedOf > now && target.notifiedOf <= nextDue) return [];
  target.notifiedOf = nextDue;
  return [noticeOf(target, Math.min(nextDue - now, LONGEST_DELAY_SECONDS))];
}
