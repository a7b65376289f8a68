/** Calls that came to one outcome. */
export interface Counted {
  outcome: string;
  count: number;
}

/** A reason for which clearly more calls are refused than before. */
export interface RisenReason {
  reason: string;
  /** Refused calls of the last 24 hours. */
  count: number;
  /** Refused calls a day, in the week before. */
  daily: number;
}

/** Fewer refusals than these in 24 hours are no rise, whatever was before. */
export const LEAST_RISEN = 10;

/** @returns the sum of each outcome */
export function sumByOutcome(calls: Counted[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { outcome, count } of calls) sums.set(outcome, (sums.get(outcome) ?? 0) + count);
  return sums;
}

/**
 * The reasons for which at least ten calls were refused in 24 hours, and at least twice as many as on a mean day of the week before. The
 * most frequent comes first.
 *
 * @param lastDay    refused calls of the last 24 hours
 * @param weekBefore refused calls of seven days before them
 */
export function risenReasons(lastDay: Counted[], weekBefore: Counted[]): RisenReason[] {
  const before = sumByOutcome(weekBefore);
  return [...sumByOutcome(lastDay)]
    .map(([reason, count]) => ({ reason, count, daily: (before.get(reason) ?? 0) / 7 }))
    .filter(({ count, daily }) => count >= LEAST_RISEN && count >= 2 * daily)
    .sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1));
}
