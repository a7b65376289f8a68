import type { PlaceCandidate } from "./budget.ts";
import type { DelayedNotice } from "./notify-queue.ts";
import type { AskedRow } from "./store/deliveries.ts";
import { FIRST_IN_LINE } from "./store/deliveries.ts";

/** The longest delay of a message that the queue accepts. */
export const LONGEST_DELAY_SECONDS = 43_200;

/** Deliveries that an operator sends again are due over this many seconds. Their attempts do not notify the queue of later ones. */
const SENT_AGAIN_SECONDS = 10;

/** The most seconds by which the clocks of two isolates differ. A message that comes too early for its retry is sent once more. */
const CLOCK_SECONDS = 2;

/** A webhook that is being delivered to. */
export interface Target extends PlaceCandidate {
  home: string;
  id: string;
  /** How many attempts have ended without a recorded result. */
  unrecorded: number;
  /** Whether the queue may need a notice of the next attempt: true after an attempt that failed or was not the first. */
  retries: boolean;
  /** The earliest next attempt after a failure that was recorded here, in Unix seconds. */
  retryAt: number | null;
  /** Whether more is due than this invocation can begin. */
  hasMore: boolean;
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

/** Whether the row of a webhook was not read yet. */
export const isUnknown = ({ isSuspect }: Target): boolean => isSuspect === undefined;

/** Takes over the values of a webhook's row. */
export function learn(target: Target, row: Pick<AskedRow, "isSuspect" | "isNew" | "nextDue"> | undefined): void {
  // A row that was read before a result was recorded does not show that result.
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
 * The notices for a webhook that this invocation stops serving. The queue is notified of its next attempt, unless that was done before,
 * or other invocations have the most attempts in flight: they go on with the webhook. They may not know of a failure here, so the queue
 * is also notified of the retry after it.
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
 * The notice of the next attempt while others are in flight: a receiver may hold an attempt for 15 s, and the next one must not wait.
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
