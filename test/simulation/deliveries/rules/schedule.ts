/** The times of attempts: docs/receiving.md, "When an attempt fails". */

/** Seconds between an attempt and the next one. */
const BACKOFF_SECONDS = [5, 300, 1_800, 7_200, 18_000, 36_000, 43_200];
export const MOST_ATTEMPTS = BACKOFF_SECONDS.length + 1;
const JITTER = 0.1;

/**
 * The earliest and the latest time at which the next attempt may be due.
 *
 * @param number    which attempt failed
 * @param endedAt   when it failed, in Unix seconds
 * @param writtenAt the latest time at which its failure was recorded
 * @returns undefined after the last attempt
 */
export function nextBounds(
  number: number,
  { endedAt, writtenAt }: { endedAt: number; writtenAt: number },
): { from: number; to: number } | undefined {
  const backoff = BACKOFF_SECONDS[number - 1];
  if (backoff === undefined) return undefined;
  return { from: endedAt + Math.floor(backoff * (1 - JITTER)), to: writtenAt + Math.ceil(backoff * (1 + JITTER)) };
}
